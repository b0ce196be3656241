//! `tollgate plan`: which rate, capacity, limit in flight and queue depth, and how that was come by.

mod advice;
mod backlog;
mod choice;
mod curve;
mod figures;
mod in_flight;
mod json;
mod load;
mod picture;
mod rate;
mod search;
mod share;
mod sweep;
mod table;
mod trial;

use std::time::Duration;

use rayon::ThreadPoolBuilder;

use crate::args::PlanArgs;
use crate::failure::Failure;
use crate::output::{Destination, tell};
use crate::trace::{Latency, Wanted};

use self::advice::{Advice, Line, Waiting, Warning, decimal, per_second};
use self::choice::Choice;
use self::curve::Point;
use self::in_flight::Took;
use self::load::Load;
pub(crate) use self::rate::Rate;
pub(crate) use self::share::Share;
use self::sweep::Sweep;
use crate::text::{grouped, share, span};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// A recommendation from a trace, and what it rests on.
struct Planned {
    load: Load,
    wanted: Wanted,
    target: Share,
    choice: Choice,
    curve: Vec<Point>,
    sweep: Sweep,
    advice: Advice,
}

/// Runs the command.
pub(crate) fn run(args: &PlanArgs) -> Result<(), Failure> {
    if let (Some(concurrency), Some(latency)) = (args.concurrency, args.latency) {
        let advice = figures::advise(args, concurrency, latency)?;
        return tell(args.json.as_ref(), || json::figures(&advice), || table::figures(&advice));
    }
    lone_figures(args)?;
    let pool = ThreadPoolBuilder::new().num_threads(args.threads.map_or(0, usize::from)).build();
    let pool = pool.map_err(|error| Failure::Output(format!("threads cannot be started: {error}")))?;
    let planned = pool.install(|| plan(args))?;
    // A picture that cannot be written must not cost the reader the figures.
    let drawn = match &args.plot {
        Some(file) => Destination::File(file.clone()).write(&picture::draw(&planned)),
        None => Ok(()),
    };
    let file = args.file.as_deref();
    drawn.and(tell(args.json.as_ref(), || json::render(&planned), || table::render(&planned, file)))
}

/// Without a trace and without `--concurrency` the built-in trace is planned for, and figures of one's own would be
/// mixed with it.
fn lone_figures(args: &PlanArgs) -> Result<(), Failure> {
    let given = [
        ("--latency", args.latency.is_some()),
        ("--accept-wait", args.accept_wait.is_some()),
        ("--largest", args.largest.is_some()),
    ];
    match given.iter().find(|(_, given)| *given && args.file.is_none()) {
        Some((option, _)) => Err(Failure::Input(format!(
            "{option} without a trace: expected a FILE, or --concurrency and --latency to plan from figures alone"
        ))),
        None => Ok(()),
    }
}

fn plan(args: &PlanArgs) -> Result<Planned, Failure> {
    let file = args.file.as_deref();
    let column = args.latency_column.as_deref();
    let latency = column.map(|column| Latency::new(column, args.latency_unit)).transpose();
    let wanted = Wanted { latency: latency.map_err(Failure::Input)?, ..args.reading.wanted(file) };
    let load = Load::read(file, &wanted)?;
    let least = args.admit.of(load.len());
    let curve = choice::curve(&load, args, least);
    let mut choice = choice::choose(&load, args, &curve, least)?;
    let sweep = sweep::around(&load, choice.rate, choice.quota.capacity());
    let advice = advise(args, &load, &mut choice, least);
    Ok(Planned { load, wanted, target: args.admit, choice, curve, sweep, advice })
}

/// What goes with the chosen rate and capacity.
fn advise(args: &PlanArgs, load: &Load, choice: &mut Choice, least: u64) -> Advice {
    let mut advice = Advice::new(choice.quota, choice.by, std::mem::take(&mut choice.lines));
    let recorded = args.latency_column.is_some().then_some(Took::Recorded);
    if let Some(took) = recorded.or(args.latency.map(Took::Same)) {
        in_flight(&mut advice, load, took);
    }
    if let Some(wait) = args.accept_wait {
        advice.queue(load.cost, load.len(), wait);
        waiting(&mut advice, load, choice, wait, least);
    }
    advice.warnings.extend(target_missed(args, load, choice, least));
    advice.warnings.extend(below_mean(load, choice));
    advice.check_largest(args.largest.unwrap_or(load.largest));
    advice
}

fn target_missed(args: &PlanArgs, load: &Load, choice: &Choice, least: u64) -> Option<Warning> {
    let admitted = choice.outcome.admitted;
    let message = format!(
        "{} admits {} of the requests, below the target of {}",
        choice.quota,
        share(admitted, load.len()),
        args.admit
    );
    (admitted < least).then_some(Warning { kind: "target_missed", message })
}

/// Below the mean a bucket only puts off what it will refuse.
fn below_mean(load: &Load, choice: &Choice) -> Option<Warning> {
    let mean = choice.rate.needed_for(load.cost, load.span)?;
    let message = format!(
        "the rate {} is below the mean of what is offered, {mean}: what does not pass piles up, so the capacity holds for \
         the length of this trace and not for longer",
        choice.rate
    );
    (choice.rate.tokens < mean.tokens).then_some(Warning { kind: "rate_below_mean", message })
}

/// With a queue less capacity will do.
fn waiting(advice: &mut Advice, load: &Load, choice: &Choice, wait: Duration, least: u64) {
    let Some(capacity) = search::capacity(load, choice.rate, wait, least) else { return };
    let tried = |capacity: u64| {
        let quota = choice.rate.quota(capacity).ok()?;
        Some((quota, trial::outcome_within(load, quota, wait).admitted))
    };
    let Some((quota, admitted)) = tried(capacity) else { return };
    let smaller = tried(capacity - 1);
    let less = smaller
        .map_or_else(String::new, |(quota, fewer)| format!("\n{quota} admits {}", share(fewer, load.len())));
    advice.lines.push(Line {
        what: "capacity with queue",
        value: grouped(capacity),
        formula: "least B with such a queue; for all: largest of x_k - r * wait and c_k".into(),
        numbers: format!("{quota} admits {}{less}", share(admitted, load.len())),
    });
    advice.waiting =
        Some(Waiting { quota, wait, admitted, smaller_admitted: smaller.map(|(_, fewer)| fewer) });
}

fn in_flight(advice: &mut Advice, load: &Load, took: Took) {
    let running = in_flight::running(load, advice.quota, took);
    if let Some(per_second_admitted) = running.per_second {
        let latency = running.mean_latency.as_secs_f64();
        let mean = per_second_admitted * latency;
        advice.in_flight_mean = Some(mean);
        advice.lines.push(Line {
            what: "in flight, mean",
            value: decimal(mean),
            formula: "L = lambda x W (Little 1961), of what the limit admits".into(),
            numbers: format!("{} x {latency} s = {}", per_second(per_second_admitted), decimal(mean)),
        });
    }
    let Some(below) = running.peak.checked_sub(1) else { return };
    advice.in_flight_limit = Some(running.peak);
    advice.lines.push(Line {
        what: "in flight, limit",
        value: grouped(running.peak),
        formula: "the most at once of what the limit admits, each for as long as it takes".into(),
        numbers: format!(
            "{} refuses none, {} refuses {}; mean latency {}",
            grouped(running.peak),
            grouped(below),
            grouped(running.refused_below),
            span(running.mean_latency)
        ),
    });
}
