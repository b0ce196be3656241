//! Which estimate lets a gateway admit most: what the request may use, what requests did use, or both. A real trace, if there
//! is one, goes through two limits that are asked as one; each request reserves an estimate and is settled when its output
//! would have been generated.
//!
//!     cargo run --release --example estimates --features budget -- ../shared/data/azure_llm_2023_conv.csv
//!
//! Prints the table of `docs/estimates.md`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::error::Error;
use std::time::Duration;

use tollgate::budget::{AllOf, Budget, Estimate, Figure, History, OutputEstimator, Percentile, Reservation};
use tollgate::{Bucket, Manual, Nanos, Quota, quota};

const TOKENS: Quota = quota!("300k/min");
const REQUESTS: Quota = quota!("300/min");

/// What every request may generate at most, as a client would state it.
const MAX_TOKENS: u64 = 4_096;

/// What is assumed while nothing is known.
const FALLBACK: u64 = 1_024;

/// The trace has no times of generation: a first token after half a second, and 50 tokens a second.
const FIRST_TOKEN: Duration = Duration::from_millis(500);
const TOKEN: Duration = Duration::from_millis(20);

#[derive(Clone, Copy)]
struct Request {
    arrives: Duration,
    input: u64,
    output: u64,
}

/// What a run over the trace came to.
#[derive(Default)]
struct Outcome {
    admitted: u64,
    used: u64,
    given_back: u64,
    withheld: u64,
    overrun: u64,
    largest_debt: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let requests = match std::env::args().nth(1) {
        Some(path) => parse(&std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?)?,
        None => made_up(),
    };
    let end = requests.last().map_or(Duration::ZERO, |request| request.arrives);
    let possible = u128::from(TOKENS.capacity()) + u128::from(TOKENS.tokens()) * end.as_millis() / 60_000;
    println!(
        "| estimate | admitted | of | tokens used | utilisation | overrun | largest debt | given back | withheld |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (name, estimator) in [
        ("pessimistic", OutputEstimator::pessimistic(FALLBACK)),
        ("historical", OutputEstimator::historical(FALLBACK)),
        (
            "historical, 90 %",
            OutputEstimator::historical(FALLBACK).figure(Figure::Percentile(Percentile::P90)),
        ),
        ("hybrid", OutputEstimator::hybrid(FALLBACK)),
    ] {
        let Outcome { admitted, used, given_back, withheld, overrun, largest_debt } =
            run(&requests, estimator);
        let permille = u128::from(used) * 1_000 / possible.max(1);
        println!(
            "| {name} | {admitted} | {} | {used} | {}.{} % | {overrun} | {largest_debt} | {given_back} | {withheld} |",
            requests.len(),
            permille / 10,
            permille % 10,
        );
    }
    Ok(())
}

fn run(requests: &[Request], estimator: OutputEstimator) -> Outcome {
    let builder = Budget::builder(TOKENS).time_limit(Duration::from_secs(3600));
    let Ok(tokens) = builder.build_with_clock(Manual::new()) else { return Outcome::default() };
    let calls = Bucket::with_clock(REQUESTS, Manual::new());
    let limits = AllOf::new(["requests", "tokens"], (&calls, &tokens));
    let (history, mut outcome) = (History::default(), Outcome::default());
    let mut ends: BinaryHeap<Reverse<(Duration, usize)>> = BinaryHeap::new();
    let mut running: Vec<Option<(Reservation<_>, Request)>> = requests.iter().map(|_| None).collect();
    let set = |now: Duration| {
        calls.clock().set(Nanos::from_duration(now));
        tokens.clock().set(Nanos::from_duration(now));
    };
    for (place, &request) in requests.iter().enumerate() {
        while let Some(&Reverse((end, ended))) =
            ends.peek().filter(|Reverse((end, _))| *end <= request.arrives)
        {
            ends.pop();
            set(end);
            settle(running[ended].take(), &tokens, &history, &mut outcome);
        }
        set(request.arrives);
        let output = estimator.estimate(&history, &[Some(MAX_TOKENS)]);
        let estimate = Estimate::Stated(output.tokens() + request.input).cost(TOKENS.capacity());
        if let Ok((_call, reservation)) = limits.try_acquire([1, estimate]) {
            outcome.admitted += 1;
            running[place] = Some((reservation, request));
            ends.push(Reverse((request.arrives + request.generation(), place)));
        }
    }
    while let Some(Reverse((end, ended))) = ends.pop() {
        set(end);
        settle(running[ended].take(), &tokens, &history, &mut outcome);
    }
    outcome
}

fn settle(
    running: Option<(Reservation<&Budget<Manual>>, Request)>,
    tokens: &Budget<Manual>,
    history: &History,
    outcome: &mut Outcome,
) {
    let Some((reservation, request)) = running else { return };
    let actual = request.input + request.output;
    if let Ok(settled) = reservation.settle(actual) {
        outcome.given_back += settled.given_back;
        outcome.withheld += settled.withheld;
        outcome.overrun += settled.overrun;
    }
    outcome.used += actual;
    outcome.largest_debt = outcome.largest_debt.max(tokens.peek().debt());
    history.record(request.output);
}

impl Request {
    fn generation(self) -> Duration {
        FIRST_TOKEN + TOKEN * u32::try_from(self.output).unwrap_or(u32::MAX)
    }
}

/// Lines of `date time,input,output`, in order of time and all of one day.
fn parse(trace: &str) -> Result<Vec<Request>, Box<dyn Error>> {
    let line = |(number, line): (usize, &str)| {
        let mut fields = line.split(',');
        let mut field = || fields.next().ok_or_else(|| format!("line {}: a field is missing", number + 1));
        let time =
            field()?.split(' ').nth(1).map(of_day).ok_or(format!("line {}: no time", number + 1))??;
        Ok::<_, Box<dyn Error>>((time, field()?.trim().parse()?, field()?.trim().parse()?))
    };
    let rows = trace.lines().enumerate().skip(1).map(line).collect::<Result<Vec<_>, _>>()?;
    let start = rows.first().map_or(Duration::ZERO, |row| row.0);
    Ok(rows
        .into_iter()
        .map(|(time, input, output)| Request { arrives: time.saturating_sub(start), input, output })
        .collect())
}

/// `18:15:46.6805900`.
fn of_day(time: &str) -> Result<Duration, Box<dyn Error>> {
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let seconds =
        clock.split(':').try_fold(0_u64, |sum, part| part.parse::<u64>().map(|part| sum * 60 + part))?;
    let nanos = format!("{fraction:0<9}").parse()?;
    Ok(Duration::new(seconds, nanos))
}

/// Ten minutes of requests where there is no trace: more than the limits allow.
fn made_up() -> Vec<Request> {
    let request = |n: u64| Request {
        arrives: Duration::from_millis(n * 190),
        input: 200 + n * 7_919 % 2_000,
        output: 20 + n * 104_729 % 400,
    };
    (0..3_150).map(request).collect()
}
