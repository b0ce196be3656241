//! What can be asked of the program, as clap reads it.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand};
use tollgate::{Quota, QuotaError};

use crate::trace::{CostRule, Format, Unit};

/// Tries token-bucket limits on real traffic before they are put in front of it
#[derive(Debug, Parser)]
#[command(name = "tollgate", version, arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct Program {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Replay a trace of arrivals through one or several limits, in the trace's own time
    Replay(ReplayArgs),
}

const REPLAY_NOTES: &str = "\
Examples:
  tollgate replay
      a built-in bursty trace, so that there is something to see at once
  tollgate replay requests.csv --limit '100/s burst 200'
      every row costs 1; the time column is found by its name
  tollgate replay llm.csv --cost ContextTokens+GeneratedTokens \\
        --limit '300000/min burst 450000' --limit '500k/min' --plot llm.svg
      two limits side by side, and a picture
  zcat access.log.gz | tollgate replay - --cost bytes --limit '10000000/s burst x2' --json -
      an access log from standard input, bytes as cost, JSON for a machine

Limits are TOKENS/PERIOD [burst CAPACITY | burst xFACTOR] [empty]: 100/s, 5 per 1.5s, 500k/min burst 750k.

How arrivals are counted:
  requests    = admitted + refused + never
  refused     not enough tokens at that moment; the wait says when there would have been
  never       the cost is above the capacity: no wait would help
  zero cost   arrivals that cost 0 ask nothing of a limit: set aside, not among the requests
  violations  admissions after which some interval held more than capacity + rate x length,
              recomputed from the admissions alone in exact integers; 0 unless tollgate has a bug

Exit codes: 0 done; 1 a result could not be written, or the bound was broken; 2 wrong usage or unusable input.";

#[derive(Debug, Args)]
#[command(after_help = REPLAY_NOTES)]
pub(crate) struct ReplayArgs {
    /// The trace: CSV with a header line, JSON lines, or an access log; `-` is standard input; without it a
    /// built-in trace is replayed
    #[arg(requires = "limit")]
    pub(crate) file: Option<PathBuf>,

    /// A limit to replay through, such as '300k/min burst 450k'; repeat it to set several side by side
    #[arg(long, value_name = "QUOTA")]
    pub(crate) limit: Vec<Limit>,

    /// What a request costs: a number, a column, or a sum of them (A+B) [default: 1; built-in trace: tokens]
    #[arg(long, value_name = "COST")]
    pub(crate) cost: Option<CostRule>,

    /// The column with the arrival time [default: found by usual names such as timestamp, time, ts, created_at]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) time: Option<String>,

    /// What a number in the time column counts since its epoch; `auto` goes by the column's name (`ts_ms`), then
    /// by the size of the first number (seconds below 10^11, milliseconds below 10^14)
    #[arg(long, value_name = "UNIT", default_value = "auto")]
    pub(crate) time_unit: TimeUnit,

    /// How the trace is written; `auto` looks at its first line
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,

    /// Leave out lines that are malformed or out of order, count them, and go on
    #[arg(long)]
    pub(crate) skip_bad: bool,

    /// Write the results as JSON, an array with one object a limit; `-` is standard output, in place of the table
    #[arg(long, value_name = "DEST")]
    pub(crate) json: Option<Destination>,

    /// Draw offered and admitted cost per second, the level of the bucket and the bound as an SVG picture
    #[arg(long, value_name = "OUT.SVG", value_parser = picture_file)]
    pub(crate) plot: Option<PathBuf>,
}

/// A limit and the text it was asked for with, which names it in the results.
#[derive(Clone, Debug)]
pub(crate) struct Limit {
    pub(crate) text: String,
    pub(crate) quota: Quota,
}

impl FromStr for Limit {
    type Err = QuotaError;

    fn from_str(text: &str) -> Result<Self, QuotaError> {
        Ok(Self { text: text.trim().to_owned(), quota: text.parse()? })
    }
}

/// `--time-unit`: `auto`, or what a number counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeUnit(pub(crate) Option<Unit>);

impl FromStr for TimeUnit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self(None)),
            _ => Unit::from_suffix(text)
                .map(|unit| Self(Some(unit)))
                .ok_or_else(|| "expected auto, s, ms, us or ns".into()),
        }
    }
}

/// Where a result goes: standard output (`-`) or a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    Stdout,
    File(PathBuf),
}

impl Destination {
    /// Writes the whole of `text`.
    pub(crate) fn write(&self, text: &str) -> io::Result<()> {
        match self {
            Self::Stdout => write_stdout(text),
            Self::File(path) => std::fs::write(path, text),
        }
    }
}

impl FromStr for Destination {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(if text == "-" { Self::Stdout } else { Self::File(text.into()) })
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdout => f.write_str("standard output"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

/// Unlike `print!`, gives a closed pipe back as an error and does not panic.
fn write_stdout(text: &str) -> io::Result<()> {
    use io::Write;
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

fn picture_file(text: &str) -> Result<PathBuf, String> {
    match text {
        "" | "-" => Err("expected the name of a file".into()),
        _ => Ok(text.into()),
    }
}
