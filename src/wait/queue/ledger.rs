//! What the queue knows of its bucket at one moment, in exact units.

use crate::bucket::Bucket;
use crate::clock::Clock;
use crate::decision::Denied;
use crate::gcra::{Cost, Gcra};
use crate::nanos::Nanos;

/// The bucket at one reading.
#[derive(Clone, Copy)]
pub(super) struct Sight {
    gcra: Gcra,
    pub(super) now: Nanos,
    /// The earliest that anything can be admitted: now, or when a pause ends.
    pub(super) opening: Nanos,
    /// The arrival point at the opening, if nothing is admitted before.
    arrival: u64,
}

/// Tokens of those who have been called and have not come yet.
///
/// They are not taken from the bucket: who is called takes its tokens itself, at the moment in which it is told that it
/// is admitted, so nothing has to be given back for one that never comes. The bucket may be full again before it comes;
/// then what it could have taken is lost, as it would be if it had come and gone, and does not hold up the next.
#[derive(Default)]
pub(super) struct Promised {
    units: u64,
    /// The arrival point as it would be if all had come at once.
    arrival: u64,
}

impl Sight {
    pub(super) fn new<C: Clock>(bucket: &Bucket<C>, gcra: &Gcra, now: Nanos) -> Self {
        let level = bucket.peek_at(now);
        let opening = now.saturating_add(level.paused_for().into());
        let arrival = gcra.issued(now.as_u64()).saturating_add(level.deficit());
        Self { gcra: *gcra, now, opening, arrival: arrival.max(gcra.issued(opening.as_u64())) }
    }

    /// A cost that asks for admission.
    pub(super) fn cost(&self, tokens: u64) -> Result<Cost, Denied> {
        self.gcra.cost(tokens)
    }

    /// The arrival point when all who have been called have come.
    pub(super) fn arrival(&self, promised: &Promised) -> u64 {
        self.arrival + promised.units.min(promised.arrival.saturating_sub(self.arrival))
    }

    /// When `units` are admitted behind a cost of `ahead`, as a refusal until then.
    ///
    /// Never later than it will be, and exact but for this: a bucket emptied in the nanosecond in which it is full may
    /// have been full for a part of it, if several units are issued in one.
    pub(super) fn expected(&self, promised: &Promised, ahead: u128, units: u64) -> Denied {
        let ahead = u64::try_from(ahead).unwrap_or(u64::MAX);
        let arrival = self.arrival(promised).saturating_add(ahead);
        let cost = Cost { units, spare: self.span() - units };
        self.gcra.not_yet(arrival, self.now.as_u64(), cost, self.opening.as_u64())
    }

    /// Where the arrival point may be once something has been admitted by the deadline.
    pub(super) fn reach(&self, deadline: Nanos) -> u64 {
        self.gcra.issued(deadline.as_u64()).saturating_add(self.span())
    }

    fn span(&self) -> u64 {
        self.gcra.one.units + self.gcra.one.spare
    }
}

impl Promised {
    /// One was called whose turn it is.
    pub(super) fn call(&mut self, sight: &Sight, units: u64) {
        self.arrival = sight.arrival(self).saturating_add(units);
        self.units = self.units.saturating_add(units);
    }

    /// One that was called has come, or does not come.
    pub(super) fn settle(&mut self, units: u64) {
        self.units = self.units.saturating_sub(units);
    }
}
