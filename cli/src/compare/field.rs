//! The limiters that are compared, by the names they bear on the command line and in the results.

use crossbeam_utils::CachePadded;
use tollgate::sharded::Sharded;
use tollgate::{Bucket, Coarse, Quota};
use tollgate_bench::Contender;
use tollgate_bench::baselines::{Locked, Parking, Rw, Spin, Std};
use tollgate_bench::bout::{Bout, Way};
use tollgate_bench::floors::{AdmissionFloor, RefusalFloor};
use tollgate_bench::peers::{Governor, LeakyBucket, Ratelimit};
use tollgate_bench::sharded::ByHandle;
use tollgate_bench::team::Team;

/// One limiter. Behind the functions stand loops into which it is inlined.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    /// A bout on a fresh limiter.
    pub(crate) bout: fn(&Team, Quota, Way<'_>) -> Bout,
    /// See [`Contender::GRAIN_NANOS`].
    pub(crate) grain_nanos: u64,
    /// See [`Contender::slack`].
    pub(crate) slack: fn(Quota) -> u64,
    /// See [`Contender::held_back`].
    pub(crate) held_back: fn(Quota) -> u64,
}

impl Entry {
    pub(crate) const fn of<C: Contender>(name: &'static str) -> Self {
        Self {
            name,
            bout: fresh_bout::<C>,
            grain_nanos: C::GRAIN_NANOS,
            slack: C::slack,
            held_back: C::held_back,
        }
    }
}

/// A line of its own for each limiter, or figures would depend on where on the stack it happens to lie.
fn fresh_bout<C: Contender>(team: &Team, quota: Quota, way: Way<'_>) -> Bout {
    let limiter = CachePadded::new(C::build(quota));
    Bout::of(team, &*limiter, way)
}

/// The one that ratios are taken to.
pub(crate) const REFERENCE: &str = "governor";

/// All limiters, in the order of the tables.
pub(crate) static FIELD: [Entry; 11] = [
    Entry::of::<ByHandle>("tollgate/shard"),
    Entry::of::<Sharded>("tollgate/sharded"),
    Entry::of::<Bucket>("tollgate/bucket"),
    Entry::of::<Bucket<Coarse>>("tollgate/bucket+coarse"),
    Entry::of::<Governor>(REFERENCE),
    Entry::of::<Ratelimit>("ratelimit"),
    Entry::of::<LeakyBucket>("leaky-bucket"),
    Entry::of::<Locked<Std>>("mutex/std"),
    Entry::of::<Locked<Parking>>("mutex/parking_lot"),
    Entry::of::<Locked<Rw>>("rwlock/std"),
    Entry::of::<Locked<Spin>>("spin"),
];

/// What a limiter that reads a clock and writes one word pays at least: for an admission, for a refusal.
pub(crate) static ADMISSION_FLOOR: Entry = Entry::of::<AdmissionFloor>("floor");
pub(crate) static REFUSAL_FLOOR: Entry = Entry::of::<RefusalFloor>("floor");

/// The names that `--limiter` takes.
pub(crate) fn names() -> [&'static str; FIELD.len()] {
    FIELD.each_ref().map(|entry| entry.name)
}
