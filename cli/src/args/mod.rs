//! What can be asked of the program, as clap reads it.

mod plan;

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum, value_parser};
use tollgate::{Quota, QuotaError};

pub(crate) use self::plan::PlanArgs;
use crate::compare;
use crate::output::Destination;
use crate::place::Place;
use crate::trace::{CostRule, Format, Unit, Wanted};

/// Tries token-bucket limits on real traffic before they are put in front of it, plans them, and compares limiters
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
    /// Measure limiters side by side on this machine: speed, latency, and how exactly they keep the bound
    Compare(CompareArgs),
    /// Recommend rate, capacity, limit in flight and queue depth, from a trace or from a few figures
    Plan(PlanArgs),
    /// One flood of `compare --keyed`, in a process of its own
    #[command(hide = true)]
    Flood(FloodArgs),
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
  tollgate replay llm.csv --cost ContextTokens+GeneratedTokens --limit '300000/min' \\
        --algorithm bucket,fixed,sliding-counter,sliding-log --plot forms.svg
      the same limit as a bucket and in the three forms of windows, compared
  tollgate replay access.log --key client --limit '10/s burst 50'
      a limit for each client address, the clients it refuses most, and the memory it takes
  tollgate replay requests.csv --limit '100/s burst 200' --redis
      the same bucket in memory and in Redis, on a server that is started for it
  tollgate replay requests.csv --limit '100/s burst 200' --redis --mode leased --instances 2 --speed 10
      the same, leased to two processes, in a tenth of the time that the trace took

Limits are TOKENS/PERIOD [burst CAPACITY | burst xFACTOR] [empty]: 100/s, 5 per 1.5s, 500k/min burst 750k.

How arrivals are counted:
  requests    = admitted + refused + never
  refused     not enough tokens at that moment; the wait says when there would have been
  never       the cost is above the capacity: no wait would help
  zero cost   arrivals that cost 0 ask nothing of a limit: set aside, not among the requests
  violations  admissions after which some interval held more than capacity + rate x length,
              recomputed from the admissions alone in exact integers; 0 unless tollgate has a bug

With --algorithm (each limit in each form; windows are PERIOD long, the first begins with the
first arrival, and allow TOKENS, whatever the burst):
  most in a period  the most that was admitted in any interval as long as the period; only the
              log keeps it to TOKENS, fixed windows let twice that pass
  violations  of what the form promises: a bucket as above; fixed windows TOKENS in each; the
              counter the bound of a bucket of capacity TOKENS; the log TOKENS in any interval

With --key (counts are of all keys together, violations of each key by itself):
  keys        different keys among the requests; then the most that the limiter knew at a time, for it
              forgets keys whose buckets are full, and those whose buckets are not full at the end
  memory      what the limiter took when it knew most keys: about 110 bytes for each, and its text

With --redis (each limit in memory and in the store, side by side; in a program built with --features redis):
  decided otherwise  arrivals that the bucket in memory, asked at the same microsecond, answered otherwise: with
              --mode told none for a rate that is kept exactly, as nearly all are (100/s, 500k/min); in the
              server's own time answers take a while, and leases hold tokens for others
  never       with --mode leased above what one lease holds, an eighth of the capacity over all instances
  violations  with --mode direct and leased 1 if in all more was admitted than capacity + rate x time, by the
              server's clock

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

    /// Limit each value of this column by itself, in a bucket of its own; the column of an access log with the
    /// client address is `client`
    #[arg(long, value_name = "COLUMN", requires = "file", conflicts_with = "plot")]
    pub(crate) key: Option<String>,

    /// How a limit decides [default: bucket]; repeat it or separate several by commas to compare them
    #[arg(long, value_name = "FORM", value_enum, num_args = 1.., value_delimiter = ',', conflicts_with = "key")]
    pub(crate) algorithm: Vec<Algorithm>,

    /// Ask a bucket in Redis or Valkey as well, and tell where it decided otherwise; without a URL a server is
    /// started, and ended with the command
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = "",
          conflicts_with_all = ["key", "algorithm", "plot"])]
    pub(crate) redis: Option<Place>,

    /// How the bucket in Redis is asked
    #[arg(long, value_enum, default_value_t, requires = "redis")]
    pub(crate) mode: Mode,

    /// So many times as fast as it was, the trace passes in the server's time, and the limit with it; for --mode
    /// direct and leased
    #[arg(long, value_name = "TIMES", default_value_t = 60, requires = "redis",
          value_parser = value_parser!(u32).range(1..=1_000_000))]
    pub(crate) speed: u32,

    /// Instances that hold leases, for --mode leased; arrivals go to each in turn
    #[arg(long, value_name = "COUNT", default_value_t = 4, requires = "redis",
          value_parser = value_parser!(u32).range(1..=1_024))]
    pub(crate) instances: u32,

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,

    /// Write the results as JSON, an array with one object a limit; `-` is standard output, in place of the table
    #[arg(long, value_name = "DEST")]
    pub(crate) json: Option<Destination>,

    /// Draw offered and admitted cost per second, the level of the bucket and the bound as an SVG picture; with
    /// --algorithm, what was admitted within the last period in place of level and bound
    #[arg(long, value_name = "OUT.SVG", value_parser = picture_file)]
    pub(crate) plot: Option<PathBuf>,
}

/// How a trace is to be read: the same for every command that takes one.
#[derive(Debug, Args)]
pub(crate) struct ReadingArgs {
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
}

impl ReadingArgs {
    /// What is wanted of the trace in `file`, or of the built-in one: no key and no latency as yet.
    pub(crate) fn wanted(&self, file: Option<&Path>) -> Wanted {
        let default = || match file {
            Some(_) => CostRule::constant(1),
            None => CostRule::column(crate::trace::BUILTIN_COLUMN),
        };
        Wanted {
            format: self.format,
            time: self.time.clone(),
            unit: self.time_unit.0,
            cost: self.cost.clone().unwrap_or_else(default),
            key: None,
            latency: None,
            skip_bad: self.skip_bad,
        }
    }
}

const COMPARE_NOTES: &str = "\
Examples:
  tollgate compare --quick
      everything, within a minute
  tollgate compare --scenario boundary --seconds 5 --html report.html
      how close each limiter comes to its bound, with pictures
  tollgate compare --scenario admit --limiter tollgate/shard,mutex/std --threads 1,2 --json -
      two limiters, JSON for a machine
  tollgate compare --keyed --quick
      limits by key: governor's keyed limiter, locked hash tables, Table and Keyed
  tollgate compare --redis redis://127.0.0.1/ --seconds 2
      what a decision costs on that server, and what it admits

Scenarios:
  admit     10^9 tokens a second from a stock of 4*10^9: every call is admitted
  boundary  at least twice the rate is offered: about a third of the calls is admitted
  deny      a token an hour, none left: every call is refused
  weighted  as admit, with costs from 1 to 16
  burst     twice the capacity at once on a full limiter: the first half is admitted

Scenarios with --keyed:
  hot       one key, every call is admitted
  uniform   100,000 keys, each as often as any other, every call is admitted
  zipf      the same, the n-th key an n-th as often as the first
  flood     10 M keys (1 M with --quick) that come once and whose buckets take an hour to fill; Keyed has room for
            a tenth of them, and Table as many words, rounded up to a power of two

With --redis (scenarios admit, boundary and deny; limiters tollgate/bucket, redis/direct, redis/leased; in a
program built with --features redis):
  callers      each asks again as soon as it has its answer, on one connection, from one core
  x bucket     how many times as long a decision takes as one of a bucket in this process; its p50 ... max, and those
               of leases, are of means over 1024 calls
  of B + r*t   what was admitted, by the limiter's own clock from before the first call to after the last: for
               those in the store the server's

Figures:
  ns/op        wall time over the decisions of all threads; Mops is its inverse
  x floor      against a loop of clock reading, load and compare-exchange (deny: load and compare)
  p50 ... max  each call timed by itself; a reading of the clock and a fence are included
  near, far    how fast a cache line crosses between two cores, found by a probe before and after each
               window; on virtual machines it changes while a run goes on
  admitted     tokens, against B + r*t: by the limiter's own clock, from its first call to its last. At the
               boundary over one long bout, elsewhere summed over windows that each begin with a fresh limiter
  promised     the least to be admitted at the boundary: B + r*t less twice the tokens that shards may hold

Figures of a flood:
  memory       what the process grew by, after a tenth of the flood and at its end; each flood has one of its own
  bytes a key  of that, for each key known at the end
  victim       a key drained before the flood and asked again all through it: it must stay refused

Exit codes: 0 done; 1 a limiter admitted more than B + r*t, or a result could not be written; 2 wrong usage.";

#[derive(Debug, Args)]
#[command(after_help = COMPARE_NOTES)]
pub(crate) struct CompareArgs {
    /// Limiters with a bucket for each key
    #[arg(long, conflicts_with = "html")]
    pub(crate) keyed: bool,

    /// A bucket in Redis or Valkey beside one in this process; without a URL a server is started, and ended with the
    /// command
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = "",
          conflicts_with_all = ["keyed", "html"])]
    pub(crate) redis: Option<Place>,

    /// Everything within a minute; with --keyed, a flood of 1 M keys in place of 10 M
    #[arg(long)]
    pub(crate) quick: bool,

    /// How the limiters are loaded [default: all; hot, uniform, zipf and flood are those of --keyed]
    #[arg(long, value_name = "NAME", num_args = 1.., value_delimiter = ',',
          value_parser = PossibleValuesParser::new(compare::scenarios()))]
    pub(crate) scenario: Vec<String>,

    /// Which limiters [default: all]
    #[arg(long, value_name = "NAME", num_args = 1.., value_delimiter = ',',
          value_parser = PossibleValuesParser::new(compare::limiters()))]
    pub(crate) limiter: Vec<String>,

    /// Seconds for each limiter in each scenario, over all numbers of threads [default: 3; with --quick what fits]; a
    /// flood takes as long as it takes
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) seconds: Option<Duration>,

    /// Numbers of threads [default: 1, 2, as many as cores, and four times that]; with --redis, of calls under way
    /// [default: 1, 8, 64]
    #[arg(long, value_name = "COUNT", num_args = 1.., value_delimiter = ',',
          value_parser = value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Vec<u16>,

    /// Write the results as JSON; `-` is standard output, in place of the table
    #[arg(long, value_name = "DEST")]
    pub(crate) json: Option<Destination>,

    /// Write a report with pictures, one file that needs no network
    #[arg(long, value_name = "OUT.HTML", value_parser = picture_file)]
    pub(crate) html: Option<PathBuf>,
}

/// See [`Command::Flood`].
#[derive(Debug, Args)]
pub(crate) struct FloodArgs {
    #[arg(long)]
    pub(crate) limiter: String,

    #[arg(long, value_parser = value_parser!(u16).range(1..=1024))]
    pub(crate) threads: u16,

    #[arg(long)]
    pub(crate) keys: usize,
}

/// How a limit decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Algorithm {
    /// A token bucket: the limit's rate and capacity
    Bucket,
    /// Windows of the limit's period, each of which begins at nothing
    Fixed,
    /// Two windows, the previous one weighted by what remains of it
    SlidingCounter,
    /// Every admission of the last period
    SlidingLog,
}

impl Algorithm {
    /// Its name as it is asked for.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bucket => "bucket",
            Self::Fixed => "fixed",
            Self::SlidingCounter => "sliding-counter",
            Self::SlidingLog => "sliding-log",
        }
    }
}

/// How a bucket in a store is asked in a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// By its script, which is told the trace's time: as fast as it goes, with the figures of the trace
    #[default]
    Told,
    /// By a `RedisBucket`, in the server's own time
    Direct,
    /// By instances of `Leased`, in the server's own time
    Leased,
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

fn seconds(text: &str) -> Result<Duration, String> {
    let wrong = || "expected a number from 0.001 to 3600".to_owned();
    match text.parse() {
        Ok(seconds @ 0.001..=3600.0) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err(wrong()),
    }
}

fn picture_file(text: &str) -> Result<PathBuf, String> {
    match text {
        "" | "-" => Err("expected the name of a file".into()),
        _ => Ok(text.into()),
    }
}
