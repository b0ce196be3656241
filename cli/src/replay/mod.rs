//! `tollgate replay`: a trace's arrivals through one or several limits, in the trace's own time.

mod bound;
mod by_key;
mod decision;
#[cfg(feature = "redis")]
mod in_store;
#[cfg(not(feature = "redis"))]
#[path = "without_store.rs"]
mod in_store;
mod json;
mod lane;
mod limiter;
#[cfg(feature = "redis")]
mod live;
mod period;
mod plot;
mod plot_periods;
mod series;
mod table;
#[cfg(feature = "redis")]
mod told;
mod windows;

use crate::args::{Limit, ReplayArgs};
use crate::failure::Failure;
use crate::output::{Destination, tell};
use crate::trace::{CostRule, Progress, Trace, Wanted};

use self::in_store::InStore;
use self::lane::Lane;

/// The limit for the built-in trace: its bursts are too much for it, its mean is not.
const BUILTIN_LIMIT: &str = "450k/min burst 40k";

/// A finished replay: the trace was read to its end.
pub(crate) struct Replayed {
    trace: Trace,
    cost: CostRule,
    /// The column whose values are limited each by itself.
    key: Option<String>,
    /// The store whose figures stand beside those in memory.
    store: Option<InStore>,
    lanes: Vec<Lane>,
}

/// Runs the command.
pub(crate) fn run(args: &ReplayArgs) -> Result<(), Failure> {
    let replayed = replay(args)?;
    // A picture that cannot be written must not cost the reader the figures, nor a closed pipe the verdict.
    let drawn = draw(args, &replayed);
    let told = tell(
        args.json.as_ref(),
        || json::render(&replayed),
        || table::render(&replayed, args.file.is_none()),
    );
    match replayed.lanes.iter().map(Lane::violations).sum() {
        0 => drawn.and(told),
        broken => Err(Failure::Bound(broken)),
    }
}

fn draw(args: &ReplayArgs, replayed: &Replayed) -> Result<(), Failure> {
    match &args.plot {
        Some(picture) if args.algorithm.is_empty() => {
            Destination::File(picture.clone()).write(&plot::draw(replayed))
        }
        Some(picture) => Destination::File(picture.clone()).write(&plot_periods::draw(replayed)),
        None => Ok(()),
    }
}

fn replay(args: &ReplayArgs) -> Result<Replayed, Failure> {
    let file = args.file.as_deref();
    let wanted = Wanted { key: args.key.clone(), ..args.reading.wanted(file) };
    let mut trace = Trace::of(file, &wanted)?;
    let (store, mut lanes) = match &args.redis {
        Some(place) => {
            let (store, lanes) = InStore::open(place, args, &limits(args)?)?;
            (Some(store), lanes)
        }
        None => (None, lanes(args)?),
    };
    let mut progress = Progress::new(file);
    while let Some(arrival) = trace.next()? {
        match &store {
            Some(store) => store.offer(&mut lanes, arrival)?,
            None => lanes.iter_mut().try_for_each(|lane| lane.offer(&arrival).map(drop))?,
        }
        progress.step(trace.bytes());
    }
    lanes.iter_mut().try_for_each(Lane::finish)?;
    Ok(Replayed { trace, cost: wanted.cost, key: wanted.key, store, lanes })
}

/// A lane for each limit, or for each form of each.
fn lanes(args: &ReplayArgs) -> Result<Vec<Lane>, Failure> {
    let (limits, draw) = (limits(args)?, args.plot.is_some());
    if !args.algorithm.is_empty() {
        let forms = limits.iter().flat_map(|limit| args.algorithm.iter().map(move |form| (limit, *form)));
        return forms.map(|(limit, form)| Lane::in_form(limit, form, draw)).collect();
    }
    let lane = |limit: &Limit| match &args.key {
        Some(_) => Lane::by_key(limit),
        None => Ok(Lane::alone(limit, draw)),
    };
    limits.iter().map(lane).collect()
}

/// The limits asked for; only the built-in trace brings one along.
fn limits(args: &ReplayArgs) -> Result<Vec<Limit>, Failure> {
    if !args.limit.is_empty() {
        return Ok(args.limit.clone());
    }
    let limit = BUILTIN_LIMIT.parse().map_err(|error| Failure::Input(format!("{BUILTIN_LIMIT}: {error}")))?;
    Ok(vec![limit])
}
