//! What can be asked of `tollgate plan`.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, value_parser};
use jiff::SignedDuration;
use tollgate::Quota;

use super::{ReadingArgs, picture_file};
use crate::output::Destination;
use crate::plan::{Rate, Share};
use crate::trace::Unit;

/// The longest latency or wait that is taken.
const LONGEST: Duration = Duration::from_secs(86_400);

const NOTES: &str = "\
Examples:
  tollgate plan
      for a built-in bursty trace, so that there is something to see at once
  tollgate plan llm.csv --cost ContextTokens+GeneratedTokens --admit 99.9% --plot llm.svg
      rate and capacity for a trace, and a picture of the alternatives
  tollgate plan llm.csv --cost ContextTokens+GeneratedTokens --rate 500k/min \\
        --latency 3s --accept-wait 5s
      the least capacity for a rate, the limit on work in flight and the depth of a queue
  tollgate plan access.log --capacity 200 --json -
      the least rate for a capacity, as JSON for a machine
  tollgate plan --latency 2s --concurrency 16 --accept-wait 5s --cost 1500 --largest 8000
      without a trace

With a trace:
  target      at least --admit of the requests are admitted at once
  rate        --rate; or the mean with --headroom; or the knee of the curve of least capacities;
              with --capacity alone the least rate that reaches the target
  capacity    --capacity; or the least that reaches the target at the rate, to the token
  in flight   with --latency or --latency-column: the mean by Little's law, and as the limit the
              most at once
  queue       with --accept-wait: as many requests as pass within it, and the least capacity that
              does if requests wait so long
  Rate, capacities and limit in flight are tried on the whole trace by the limiters themselves, and
  so is the next smaller one, which falls short. With a target below 100 % a much smaller capacity
  may reach it again, by never admitting what is large.

Without a trace, with --concurrency and --latency:
  rate        concurrency / latency x cost
  capacity    concurrency x cost, and at least twice the largest request
  in flight   concurrency
  queue       rate / cost x accepted wait

Spans are such as 250ms, 1.5s or 2min. A trace is kept in memory, 16 bytes a request.

Exit codes: 0 done; 1 a result could not be written; 2 wrong usage or unusable input.";

#[derive(Debug, Args)]
#[command(after_help = NOTES)]
pub(crate) struct PlanArgs {
    /// The trace: CSV with a header line, JSON lines, or an access log; `-` is standard input; without it, and without
    /// --concurrency, it is a built-in trace
    #[arg(conflicts_with = "concurrency")]
    pub(crate) file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,

    /// The part of the requests that is to be admitted at once
    #[arg(long, value_name = "PERCENT", default_value = "99%", value_parser = Share::proper,
          conflicts_with = "concurrency")]
    pub(crate) admit: Share,

    /// Plan for this rate, such as 300k/min
    #[arg(long, value_name = "RATE", conflicts_with_all = ["headroom", "concurrency", "per"])]
    pub(crate) rate: Option<Rate>,

    /// Plan for this capacity, in tokens
    #[arg(long, value_name = "TOKENS", value_parser = value_parser!(u64).range(1..1 << 61))]
    pub(crate) capacity: Option<u64>,

    /// Take the mean rate and so much more, in place of the knee
    #[arg(long, value_name = "PERCENT", value_parser = Share::headroom, conflicts_with_all = ["capacity", "concurrency"])]
    pub(crate) headroom: Option<Share>,

    /// The period in which rates are counted, such as s, min or h [default: what suits the mean rate]
    #[arg(long, value_name = "PERIOD", conflicts_with = "concurrency")]
    pub(crate) per: Option<Per>,

    /// How long a request takes
    #[arg(long, value_name = "SPAN", value_parser = positive_span, conflicts_with = "latency_column")]
    pub(crate) latency: Option<Duration>,

    /// The column with how long each request took
    #[arg(long, value_name = "COLUMN", requires = "file")]
    pub(crate) latency_column: Option<String>,

    /// What a number in the latency column counts: s, ms, us or ns [default: by the column's name, as latency_ms]
    #[arg(long, value_name = "UNIT", value_parser = unit, requires = "latency_column")]
    pub(crate) latency_unit: Option<Unit>,

    /// How many requests may run at once, to plan without a trace
    #[arg(long, value_name = "COUNT", value_parser = value_parser!(u32).range(1..1 << 31), requires = "latency")]
    pub(crate) concurrency: Option<u32>,

    /// How long a caller may wait in a queue
    #[arg(long, value_name = "SPAN", value_parser = positive_span)]
    pub(crate) accept_wait: Option<Duration>,

    /// The cost of the largest request [default: that of the trace, or without a trace the mean cost]
    #[arg(long, value_name = "TOKENS", value_parser = value_parser!(u64).range(1..))]
    pub(crate) largest: Option<u64>,

    /// How many threads try alternatives; the results do not depend on it [default: as many as cores]
    #[arg(long, value_name = "COUNT", value_parser = value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,

    /// Write the results as one JSON object; `-` is standard output, in place of the tables
    #[arg(long, value_name = "DEST")]
    pub(crate) json: Option<Destination>,

    /// Draw the least capacity for each rate, and what is admitted around the recommendation, as an SVG picture
    #[arg(long, value_name = "OUT.SVG", value_parser = picture_file, conflicts_with = "concurrency")]
    pub(crate) plot: Option<PathBuf>,
}

/// `--per`: a period as in a limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Per(pub(crate) Duration);

impl FromStr for Per {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let quota = format!("1 per {text}").parse::<Quota>();
        let period = quota.map(|quota| Self(quota.period()));
        period.map_err(|_| "expected a period of at least 1ns as in a limit, such as s, min, h or 10s".into())
    }
}

fn positive_span(text: &str) -> Result<Duration, String> {
    let span = text.parse::<SignedDuration>().ok().and_then(|span| Duration::try_from(span).ok());
    span.filter(|span| !span.is_zero() && *span <= LONGEST)
        .ok_or_else(|| "expected a span above 0 and up to 24h, such as 250ms, 1.5s or 2min".into())
}

fn unit(text: &str) -> Result<Unit, String> {
    Unit::from_suffix(text).ok_or_else(|| "expected s, ms, us or ns".into())
}
