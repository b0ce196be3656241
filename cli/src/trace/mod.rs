//! A trace of arrivals: read from a file of any size in constant memory, in order, in time since the first arrival.

mod builtin;
mod columns;
mod combined;
mod cost;
mod csv;
mod jsonl;
mod latency;
mod lines;
mod open;
mod progress;
mod time;

use std::time::Duration;

use tollgate::Nanos;

use crate::failure::Failure;
use crate::text;

pub(crate) use self::builtin::TOKENS as BUILTIN_COLUMN;
pub(crate) use self::cost::CostRule;
pub(crate) use self::latency::Latency;
use self::lines::Lines;
pub(crate) use self::open::{Format, Wanted};
pub(crate) use self::progress::Progress;
use self::time::Stamp;
pub(crate) use self::time::Unit;

/// The longest trace: a limiter counts at least this long from its origin.
const LONGEST_SPAN: Duration = Duration::from_secs(50 * 365 * 86_400);

/// One request of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// The time since the first arrival.
    pub(crate) at: Nanos,
    pub(crate) cost: u64,
    /// Whose request it is, where that was asked for.
    pub(crate) key: Option<String>,
    /// How long it took, where that was asked for.
    pub(crate) latency: Option<Nanos>,
}

/// What one line says: a time on the trace's own axis, a cost, and a key and a latency where they are wanted.
#[derive(Clone, Debug)]
struct Record {
    line: u64,
    stamp: Stamp,
    cost: u64,
    key: Option<String>,
    latency: Option<Nanos>,
}

/// Something wrong with the input, and where.
#[derive(Debug)]
struct Problem {
    line: u64,
    what: String,
    /// Nothing can be read after it, not even with `--skip-bad`.
    ends: bool,
}

impl Problem {
    /// One bad line.
    fn at(line: u64, what: impl Into<String>) -> Self {
        Self { line, what: what.into(), ends: false }
    }

    /// The input cannot be read beyond this line.
    fn end(line: u64, what: impl Into<String>) -> Self {
        Self { line, what: what.into(), ends: true }
    }
}

/// A format: how one record is read from the lines.
trait Records {
    /// The next record, or `None` at the end of the input.
    fn next(&mut self, lines: &mut Lines) -> Result<Option<Record>, Problem>;
}

/// Where records come from.
enum Source {
    Input { lines: Lines, records: Box<dyn Records> },
    Builtin(builtin::Builtin),
}

impl Source {
    fn next(&mut self) -> Result<Option<Record>, Problem> {
        match self {
            Self::Input { lines, records } => records.next(lines),
            Self::Builtin(builtin) => builtin.next(),
        }
    }

    /// The number of the line that was read last.
    fn line(&self) -> u64 {
        match self {
            Self::Input { lines, .. } => lines.number(),
            Self::Builtin(builtin) => builtin.line(),
        }
    }
}

/// The first and the last arrival so far.
#[derive(Clone, Copy)]
struct Seen {
    first: Stamp,
    last: Stamp,
    last_line: u64,
}

/// Arrivals in order, with a count of the lines that were left out.
pub(crate) struct Trace {
    name: String,
    source: Source,
    skip_bad: bool,
    skipped: u64,
    first_skipped: Option<String>,
    seen: Option<Seen>,
}

impl Trace {
    fn new(name: String, source: Source, skip_bad: bool) -> Self {
        Self { name, source, skip_bad, skipped: 0, first_skipped: None, seen: None }
    }

    /// What the trace is called in messages and titles.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The lines left out so far.
    pub(crate) fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Why the first line that was left out was.
    pub(crate) fn first_skipped(&self) -> Option<&str> {
        self.first_skipped.as_deref()
    }

    /// The bytes of input read so far.
    pub(crate) fn bytes(&self) -> u64 {
        match &self.source {
            Source::Input { lines, .. } => lines.bytes(),
            Source::Builtin(_) => 0,
        }
    }

    /// From the first arrival to the last one so far.
    pub(crate) fn span(&self) -> Duration {
        self.seen.map_or(Duration::ZERO, |seen| after(seen.first, seen.last).as_duration())
    }

    /// The next arrival; `None` at the end of a trace that had at least one.
    pub(crate) fn next(&mut self) -> Result<Option<Arrival>, Failure> {
        loop {
            let read =
                self.source.next().and_then(|record| record.map(|record| self.place(record)).transpose());
            match read {
                Ok(Some(arrival)) => return Ok(Some(arrival)),
                Ok(None) if self.seen.is_none() => return Err(self.empty()),
                Ok(None) => return Ok(None),
                Err(problem) => self.leave_out(&problem)?,
            }
        }
    }

    /// Puts a record on the axis that begins with the first arrival.
    fn place(&mut self, record: Record) -> Result<Arrival, Problem> {
        let Record { line, stamp, cost, key, latency } = record;
        let seen = self.seen.unwrap_or(Seen { first: stamp, last: stamp, last_line: line });
        if stamp.nanos < seen.last.nanos {
            let what = format!(
                "time {stamp} is before {} of line {}; expected arrivals in the order of time (--skip-bad leaves out those that are not)",
                seen.last, seen.last_line
            );
            return Err(Problem::at(line, what));
        }
        if (stamp.nanos - seen.first.nanos) as u128 > LONGEST_SPAN.as_nanos() {
            let what = format!(
                "time {stamp} is over 50 years after the first, {}; expected a shorter trace",
                seen.first
            );
            return Err(Problem::at(line, what));
        }
        self.seen = Some(Seen { last: stamp, last_line: line, ..seen });
        Ok(Arrival { at: after(seen.first, stamp), cost, key, latency })
    }

    /// Counts a bad line where that was asked for; otherwise it is the end.
    fn leave_out(&mut self, problem: &Problem) -> Result<(), Failure> {
        let message = format!("{}:{}: {}", self.name, problem.line, problem.what);
        if problem.ends || !self.skip_bad {
            return Err(Failure::Input(message));
        }
        self.skipped += 1;
        self.first_skipped.get_or_insert(message);
        Ok(())
    }

    fn empty(&self) -> Failure {
        let place = format!("{}:{}", self.name, self.source.line() + 1);
        Failure::Input(match &self.first_skipped {
            None => format!("{place}: the input ends here without a request"),
            Some(first) => format!(
                "{place}: the input ends here without a usable request; {} bad lines, the first: {first}",
                text::grouped(self.skipped)
            ),
        })
    }
}

/// The time from `first` to `stamp`, which `place` found to be in order and within `LONGEST_SPAN`.
fn after(first: Stamp, stamp: Stamp) -> Nanos {
    Nanos::new(u64::try_from(stamp.nanos - first.nanos).unwrap_or(u64::MAX))
}

/// The text of a column; bytes that are no text show as such in the message that refuses them.
fn shown(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes.trim_ascii())
}

/// A time, or the message that says what the column held instead.
fn stamp(stamps: &mut time::Stamps, name: &str, value: &str) -> Result<Stamp, String> {
    stamps.read(value).ok_or_else(|| format!("{name} is {}; {}", text::quoted(value), time::EXPECTED))
}
