//! Columns by name: the one with the time, and those with the cost.

use super::time::Unit;
use crate::text;

/// Names that usually head the arrival time, most telling first, in lower case without separators.
const USUAL: [&str; 17] = [
    "timestamp",
    "datetime",
    "time",
    "ts",
    "arrivaltime",
    "arrivedat",
    "arrival",
    "starttime",
    "startedat",
    "createdat",
    "requestedat",
    "eventtime",
    "receivedat",
    "epoch",
    "unixtime",
    "date",
    "t",
];

/// Finds the column with the arrival time: the `wanted` one, or the one with the most usual name.
pub(crate) fn time_column<'a>(names: &[&'a str], wanted: Option<&str>) -> Result<&'a str, String> {
    if let Some(wanted) = wanted {
        return find(names, wanted).map(|index| names[index]);
    }
    let usual = |name: &str| plain(split_unit(name).0);
    let found =
        USUAL.iter().find_map(|want| names.iter().find(|name| plain(name) == *want || usual(name) == *want));
    found.copied().ok_or_else(|| {
        format!("no column has a usual name for a time; {}; choose one with --time", list(names))
    })
}

/// The index of the column `name`.
pub(crate) fn find(names: &[&str], name: &str) -> Result<usize, String> {
    let mut all = names.iter().enumerate().filter(|(_, have)| **have == name).map(|(index, _)| index);
    match (all.next(), all.next()) {
        (Some(index), None) => Ok(index),
        (Some(_), Some(_)) => Err(format!("two columns are named {name:?}")),
        (None, _) => Err(format!("no column is named {name:?}; {}", list(names))),
    }
}

/// What numbers in the column count, where its name says so: `ts_ms`, `startedMs`, `epoch_seconds`.
pub(crate) fn unit_of(name: &str) -> Option<Unit> {
    split_unit(name).1
}

/// A name without its unit, and the unit. It must stand apart, or `items` would be in milliseconds.
fn split_unit(name: &str) -> (&str, Option<Unit>) {
    let Some(cut) = last_word(name) else { return (name, None) };
    match Unit::from_suffix(&name[cut..]) {
        Some(unit) => (&name[..cut], Some(unit)),
        None => (name, None),
    }
}

/// Where the last word begins: after a separator, or at a capital after a small letter.
fn last_word(name: &str) -> Option<usize> {
    let bytes = name.as_bytes();
    (1..bytes.len()).rev().find(|&at| {
        let (before, here) = (bytes[at - 1], bytes[at]);
        matches!(before, b'_' | b'-' | b'.' | b' ')
            || (before.is_ascii_lowercase() && here.is_ascii_uppercase())
    })
}

fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The columns there are, for a message: cut where there are many, and harmless on a terminal where they are no text.
fn list(names: &[&str]) -> String {
    const SHOWN: usize = 20;
    let more = if names.len() > SHOWN { ", ..." } else { "" };
    let names: Vec<String> = names.iter().take(SHOWN).map(|name| name.escape_debug().to_string()).collect();
    format!("the columns are {}{more}", text::cut(&names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_usual_name_wins() {
        let detect = |names: &[&'static str]| time_column(names, None).ok();
        assert_eq!(detect(&["a", "TIMESTAMP", "b"]), Some("TIMESTAMP"));
        assert_eq!(detect(&["date", "time", "@timestamp"]), Some("@timestamp"));
        assert_eq!(detect(&["id", "Created At"]), Some("Created At"));
        assert_eq!(detect(&["id", "ts_ms"]), Some("ts_ms"));
        assert_eq!(detect(&["id", "startTimeMs"]), Some("startTimeMs"));
        assert_eq!(detect(&["id", "request_time", "items"]), None);
    }

    #[test]
    fn a_missing_or_doubled_name_is_told() {
        assert!(
            time_column(&["a", "b"], None)
                .unwrap_err()
                .contains("the columns are a, b; choose one with --time")
        );
        assert!(time_column(&["a", "b"], Some("c")).unwrap_err().contains("no column is named \"c\""));
        assert!(find(&["a", "b", "a"], "a").unwrap_err().contains("two columns"));
        assert_eq!(find(&["a", "b", "a"], "b"), Ok(1));
        assert!(find(&["x"; 50], "y").unwrap_err().ends_with(", ..."));
    }

    #[test]
    fn a_unit_stands_apart_in_the_name() {
        let units = [
            ("ts_ms", Some(Unit::Millis)),
            ("epoch_seconds", Some(Unit::Seconds)),
            ("timeNs", Some(Unit::Nanos)),
        ];
        for (name, unit) in
            units.into_iter().chain([("items", None), ("ts", None), ("columns", None), ("ms", None)])
        {
            assert_eq!(unit_of(name), unit, "{name}");
        }
    }
}
