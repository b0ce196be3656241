//! The rules: what a word becomes when a cost is admitted, charged, refunded or undone.
//!
//! The generic cell rate algorithm (ITU-T I.371 Annex A, virtual scheduling) on the axis of tokens issued. A word is an
//! *arrival point*: the bucket is full while it is not ahead of what has been issued, and how far it is ahead is the
//! deficit. Every rule is a pure function of the word and of the units issued by the caller's reading; `GUARANTEES`
//! sections 1, 2 and 6 prove them, and `proofs/` does so by machine for every word.

use core::hint::select_unpredictable;

use crate::axis::{Axis, SPAN_BITS};
use crate::decision::{Denied, NotYet};
use crate::quota::Quota;

/// The largest arrival point a limiter uses. `u64::MAX` is kept for a word that is not in force.
const LAST_ARRIVAL: u64 = u64::MAX - 1;

/// A quota on its axis, with everything worked out that a decision needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gcra {
    axis: Axis,
    capacity: u64,
    /// The capacity in units.
    span: u64,
    /// The last reading that can be counted with: at least 50 years. Past it everything is refused, and up to it
    /// `issued + span` is at most the last arrival point.
    horizon: u64,
    /// Units issued by the horizon.
    last_issue: u64,
    /// One token.
    pub(crate) one: Cost,
}

/// A cost on the axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cost {
    /// What it takes.
    pub(crate) units: u64,
    /// What it leaves of a full bucket: the largest deficit at which it is admitted.
    pub(crate) spare: u64,
}

impl Gcra {
    pub(crate) const fn new(quota: &Quota) -> Self {
        Self::within(quota, SPAN_BITS)
    }

    /// The same on an axis on which the capacity is less than `2^span_bits` units.
    pub(crate) const fn within(quota: &Quota, span_bits: u32) -> Self {
        let capacity = quota.capacity();
        let axis = Axis::new(quota.tokens(), quota.period().as_nanos(), capacity, span_bits);
        let span = capacity * axis.unit;
        let horizon = axis.rate.last_within(LAST_ARRIVAL - span);
        let one = Cost { units: axis.unit, spare: span - axis.unit };
        Self { axis, capacity, span, horizon, last_issue: axis.rate.issued(horizon), one }
    }

    /// The rate of issue.
    #[cfg(any(feature = "keyed", feature = "redis"))]
    pub(crate) fn rate(&self) -> crate::axis::Rate {
        self.axis.rate
    }

    /// The time in which an empty bucket is filled.
    #[cfg(feature = "keyed")]
    pub(crate) fn fill_nanos(&self) -> u64 {
        self.axis.rate.reached(self.span)
    }

    /// Whether the reading can be counted with.
    #[inline(always)]
    pub(crate) fn counts(&self, now: u64) -> bool {
        now <= self.horizon
    }

    /// Units issued by the reading `now`; past the horizon nothing more is issued.
    #[inline(always)]
    pub(crate) fn issued(&self, now: u64) -> u64 {
        self.axis.rate.issued(if self.counts(now) { now } else { self.horizon })
    }

    /// A cost that asks for admission.
    #[inline(always)]
    pub(crate) fn cost(&self, tokens: u64) -> Result<Cost, Denied> {
        // One comparison finds both kinds of invalid cost: 0 wraps to the largest number.
        if tokens.wrapping_sub(1) >= self.capacity {
            return Err(self.never(tokens));
        }
        Ok(self.valid_cost(tokens * self.axis.unit))
    }

    /// A cost of so many units, which is known to be from one token to the capacity.
    #[inline(always)]
    pub(crate) fn valid_cost(&self, units: u64) -> Cost {
        Cost { units, spare: self.span - units }
    }

    /// Units of a cost that does not ask; they saturate.
    #[inline]
    pub(crate) fn units(&self, tokens: u64) -> u64 {
        tokens.saturating_mul(self.axis.unit)
    }

    #[cold]
    fn never(&self, cost: u64) -> Denied {
        if cost == 0 { Denied::ZeroCost } else { Denied::OverCapacity { cost, capacity: self.capacity } }
    }

    /// The next word, if `cost` is there. `issued` is that of a reading within the horizon.
    #[inline(always)]
    pub(crate) fn admit(&self, arrival: u64, issued: u64, cost: Cost) -> Option<u64> {
        if arrival > issued + cost.spare {
            return None;
        }
        Some(later(arrival, issued) + cost.units)
    }

    /// The refusal of `cost` at the reading `now` and with a pause until `hold`. Its wait is zero if nothing stands in
    /// the way.
    #[inline(always)]
    pub(crate) fn not_yet(&self, arrival: u64, now: u64, cost: Cost, hold: u64) -> Denied {
        self.refusal(self.needed(arrival, now.max(hold), cost), now, hold)
    }

    /// What must have been issued before `cost` fits, not before the reading `now`; `u64::MAX` if that lies past the
    /// horizon.
    #[inline(always)]
    pub(crate) fn needed(&self, arrival: u64, now: u64, cost: Cost) -> u64 {
        if self.counts(now) { self.needed_within_horizon(arrival, cost) } else { u64::MAX }
    }

    /// The same at a reading that is known to count.
    #[inline(always)]
    pub(crate) fn needed_within_horizon(&self, arrival: u64, cost: Cost) -> u64 {
        let needed = arrival.saturating_sub(cost.spare);
        if needed > self.last_issue { u64::MAX } else { needed }
    }

    /// The refusal of what fits when `needed` units have been issued.
    #[inline(always)]
    pub(crate) fn refusal(&self, needed: u64, now: u64, hold: u64) -> Denied {
        Denied::NotYet(NotYet::new(self.axis.rate, now, needed, hold))
    }

    /// The next word when `units` are charged without asking. It saturates.
    #[inline]
    pub(crate) fn charge(&self, arrival: u64, issued: u64, units: u64) -> u64 {
        arrival.max(issued).saturating_add(units).min(LAST_ARRIVAL)
    }

    /// The next word when `units` are given back, up to a full bucket.
    #[inline]
    pub(crate) fn refund(&self, arrival: u64, issued: u64, units: u64) -> u64 {
        let deficit = arrival.saturating_sub(issued);
        arrival - units.min(deficit)
    }

    /// The next word when a charge of `units` that wrote the word `written` is undone by the prompt rule
    /// (`GUARANTEES` section 6), `lowered` being the units that others may have given back since.
    ///
    /// The deficit has not been below `written - lowered - issued` since the charge, so refill has not yet made good
    /// that much of it; the rest is not there to give back.
    #[inline]
    pub(crate) fn undo(&self, arrival: u64, issued: u64, units: u64, written: u64, lowered: u64) -> u64 {
        let least_deficit = written.saturating_sub(lowered).saturating_sub(issued);
        self.refund(arrival, issued, units.min(least_deficit))
    }

    /// The word of a bucket that holds `tokens`, at most the capacity.
    #[inline]
    pub(crate) fn holding(&self, issued: u64, tokens: u64) -> u64 {
        issued + (self.span - tokens * self.axis.unit)
    }

    /// The word of a bucket whose deficit is `deficit`. It saturates.
    #[inline]
    pub(crate) fn lacking(&self, issued: u64, deficit: u64) -> u64 {
        self.charge(issued, issued, deficit)
    }

    /// Whole tokens that are there at a deficit.
    #[inline]
    pub(crate) fn available(&self, deficit: u64) -> u64 {
        self.span.saturating_sub(deficit) / self.axis.unit
    }

    /// Tokens owed at a deficit, rounded up.
    #[inline]
    pub(crate) fn debt(&self, deficit: u64) -> u64 {
        deficit.saturating_sub(self.span).div_ceil(self.axis.unit)
    }

    /// The first reading at which a word stands for a full bucket.
    #[inline]
    pub(crate) fn full_at(&self, arrival: u64) -> u64 {
        if arrival > self.last_issue { u64::MAX } else { self.axis.rate.reached(arrival) }
    }
}

/// The larger. Which one that is changes with every refill: a branch here would often be mispredicted.
///
/// Not `arrival > issued`: that is the maximum, which the compiler knows under a name of its own, and with the name
/// it forgets that this is not predictable. `issued` is that of a reading within the horizon, so it has a next one.
#[inline(always)]
fn later(arrival: u64, issued: u64) -> u64 {
    select_unpredictable(arrival >= issued.wrapping_add(1), arrival, issued)
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;

    /// The vectors that the machine proof gives; `proofs/README.md` tells the columns.
    const VECTORS: &str = include_str!("../proofs/vectors.csv");

    #[test]
    fn a_bucket_may_be_full_at_the_horizon_and_not_after_it() {
        let gcra = Gcra::new(&Quota::new(1, Duration::from_secs(1)).unwrap());
        assert_eq!(gcra.full_at(gcra.last_issue), gcra.horizon);
        assert_eq!(gcra.full_at(gcra.last_issue + 1), u64::MAX);
    }

    #[test]
    fn the_rules_are_those_that_are_proved() {
        let checked = VECTORS.lines().skip(1).map(check).count();
        assert!(checked >= 1000, "{checked}");
    }

    fn check(line: &str) {
        let fields: [&str; 12] = core::array::from_fn(|column| line.split(',').nth(column).unwrap());
        let number = |column: usize| fields[column].parse::<u64>().unwrap_or_else(|_| panic!("{line}"));
        let quota = Quota::with_burst(number(1), Duration::from_nanos(number(2)), number(3)).unwrap();
        let gcra = Gcra::new(&quota);
        let (word, now, cost) = (number(4), number(5), number(6));
        let (issued, units) = (gcra.issued(now), gcra.units(cost));
        match fields[0] {
            "acquire" => check_acquire(&gcra, word, now, cost, fields),
            "charge" => assert_eq!(gcra.charge(word, issued, units), number(10), "{line}"),
            "refund" => assert_eq!(gcra.refund(word, issued, units), number(10), "{line}"),
            "undo" => assert_eq!(gcra.undo(word, issued, units, number(7), number(8)), number(10), "{line}"),
            other => panic!("no rule {other}"),
        }
    }

    fn check_acquire(gcra: &Gcra, word: u64, now: u64, tokens: u64, fields: [&str; 12]) {
        let answer = gcra.cost(tokens).and_then(|cost| {
            let admitted = gcra.counts(now).then(|| gcra.admit(word, gcra.issued(now), cost)).flatten();
            admitted.ok_or_else(|| gcra.not_yet(word, now, cost, 0))
        });
        let (answer, next, ready_at) = match answer {
            Ok(next) => ("admitted", next, None),
            Err(Denied::NotYet(not_yet)) => ("not_yet", word, Some(not_yet.ready_at().as_u64())),
            Err(Denied::OverCapacity { .. }) => ("over_capacity", word, None),
            Err(Denied::ZeroCost) => ("zero_cost", word, None),
            Err(Denied::NoRoom(_)) => ("no_room", word, None),
        };
        assert_eq!((answer, next), (fields[9], fields[10].parse().unwrap()), "{fields:?}");
        assert_eq!(ready_at, fields[11].parse().ok(), "{fields:?}");
    }
}
