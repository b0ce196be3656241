//! `--redis`: each limit in memory, and beside it in a store.

use std::rc::Rc;

use tollgate::Nanos;

use super::lane::Lane;
use super::live::{Live, Pace, runtime};
use super::told::Told;
use crate::args::{Limit, Mode, ReplayArgs};
use crate::failure::Failure;
use crate::place::Place;
use crate::store::Store;
use crate::trace::Arrival;

/// The store, and the time that passes there.
pub(crate) struct InStore {
    name: String,
    /// The trace's own, unless it is the server's.
    pace: Option<Pace>,
}

impl InStore {
    /// With a lane in memory and one in the store for each limit, one behind the other.
    pub(super) fn open(
        place: &Place,
        args: &ReplayArgs,
        limits: &[Limit],
    ) -> Result<(Self, Vec<Lane>), Failure> {
        let store = Rc::new(Store::open(place)?);
        let lanes = match args.mode {
            Mode::Told => lanes(limits, |limit| {
                let told = Told::new(limit, Rc::clone(&store))?;
                Ok(Lane::in_store(limit, "redis", Box::new(told)))
            })?,
            mode => {
                let (runtime, terms) = (runtime()?, (args.speed, args.instances));
                let how = if mode == Mode::Leased { "redis leased" } else { "redis direct" };
                lanes(limits, |limit| {
                    let live = Live::new(limit, &store, &runtime, mode, terms)?;
                    Ok(Lane::in_store(limit, how, Box::new(live)))
                })?
            }
        };
        let pace = (args.mode != Mode::Told).then(|| Pace::new(args.speed));
        Ok((Self { name: name(&store, args), pace }, lanes))
    }

    /// What the results call it.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Each lane in the store is compared with the one before it, its own in memory.
    pub(super) fn offer(&self, lanes: &mut [Lane], arrival: Arrival) -> Result<(), Failure> {
        let arrival = self.due(arrival);
        let mut beside = None;
        for lane in lanes {
            let decision = lane.offer(&arrival)?;
            beside.into_iter().for_each(|beside| lane.compare(decision, beside));
            beside = Some(decision);
        }
        Ok(())
    }

    /// When it is asked for, in the microseconds that a store counts.
    fn due(&self, arrival: Arrival) -> Arrival {
        let nanos = self.pace.map_or(arrival.at, |pace| pace.wait_for(&arrival)).as_u64();
        Arrival { at: Nanos::new(nanos - nanos % 1_000), ..arrival }
    }
}

fn lanes(limits: &[Limit], in_store: impl Fn(&Limit) -> Result<Lane, Failure>) -> Result<Vec<Lane>, Failure> {
    limits.iter().flat_map(|limit| [Ok(Lane::alone(limit, false)), in_store(limit)]).collect()
}

fn name(store: &Store, args: &ReplayArgs) -> String {
    let (name, speed) = (store.name(), args.speed);
    match args.mode {
        Mode::Told => name.to_owned(),
        Mode::Direct => format!("{name}, {speed} times as fast"),
        Mode::Leased => format!("{name} leased to {} instances, {speed} times as fast", args.instances),
    }
}
