//! How long a request took: a number in a column, in a unit that is stated or stands in the column's name.

use tollgate::Nanos;

use super::columns;
use super::time::{self, Unit};
use crate::text;

/// A column of latencies.
#[derive(Clone, Debug)]
pub(crate) struct Latency {
    column: String,
    unit: Unit,
}

impl Latency {
    /// The latencies in `column`, in `unit` or in the unit of its name: `latency_ms`. There is no other guess, for a wrong
    /// one would be a thousandfold error.
    pub(crate) fn new(column: &str, unit: Option<Unit>) -> Result<Self, String> {
        let unit = unit.or_else(|| columns::unit_of(column)).ok_or_else(|| {
            format!(
                "--latency-column {}: its name does not end in a unit as latency_ms does; choose one with --latency-unit \
                 (s, ms, us or ns)",
                text::quoted(column)
            )
        })?;
        Ok(Self { column: column.to_owned(), unit })
    }

    pub(super) fn column(&self) -> &str {
        &self.column
    }

    /// Its index among the columns, and itself.
    pub(super) fn among(&self, names: &[&str]) -> Result<(usize, Self), String> {
        Ok((columns::find(names, &self.column)?, self.clone()))
    }

    /// The latency that the text of the column says.
    pub(super) fn read(&self, value: &str) -> Result<Nanos, String> {
        time::length(value, self.unit).map(Nanos::new).ok_or_else(|| {
            format!(
                "{} is {}; expected a latency as a number from 0 to 584 years",
                self.column,
                text::quoted(value)
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_is_stated_or_in_the_name() {
        let read = |column: &str, unit, value: &str| {
            Latency::new(column, unit).and_then(|latency| latency.read(value)).map(Nanos::as_u64)
        };
        assert_eq!(read("took_ms", None, "1.5"), Ok(1_500_000));
        assert_eq!(read("took_ms", Some(Unit::Seconds), "1.5"), Ok(1_500_000_000));
        assert!(read("took", None, "1").unwrap_err().contains("--latency-unit"));
        for wrong in ["", "-1", "1e3", "soon", "18446744073709551616"] {
            assert!(
                read("ns", Some(Unit::Nanos), wrong).unwrap_err().contains("expected a latency"),
                "{wrong}"
            );
        }
        assert_eq!(read("ns", Some(Unit::Nanos), "18446744073709551615"), Ok(u64::MAX));
    }
}
