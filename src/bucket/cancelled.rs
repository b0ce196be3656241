//! What cancelled bookings have not given back yet.
//!
//! A booking is a stretch of the axis. Cancelled, it may give back its units only as far as two things allow:
//!
//! * **refill**: what refill has made good meanwhile is not there to give back (`GUARANTEES` section 6);
//! * **those behind**: whoever has booked behind it keeps the due time it was told. Giving everything back could let
//!   fresh admissions and those behind act at one moment, together above the capacity.
//!
//! What is kept for the second reason becomes free when those behind are cancelled too, so it is remembered. That makes
//! the outcome one of *which* bookings are cancelled, not of the order in which they are.
//!
//! # The rule
//!
//! Positions are counted on an axis that lowering does not shorten: the arrival point and all units lowered so far. On
//! it every charge has a stretch of its own, and between the cancelled ones lie those that stand (or idle time, which is
//! taken for one that stands). Let one that stands, of size `c`, be due when `d` units have been issued, and let `s` be
//! all that stands from it on. No interval of due times holds too much as long as
//!
//! ```text
//! arrival >= d + s           for each that stands
//! ```
//!
//! for then all that comes after it starts behind a bucket that has paid for it. What waited was told the first moment at
//! which its end was at most a capacity ahead, so `d <= end - capacity` (but for what a nanosecond refills, since moments
//! are whole); what did not wait was due at a reading that is over, or at the end of a pause, which counts as over. `d` is
//! at most the later of the two, and that is what [`Cancelled::goal`] goes down to. Where nothing stands behind, what is
//! left is the prompt rule; and never is more given back than was cancelled.

use std::vec::Vec;

/// More stretches than these are not remembered: the lowest then counts as standing. Neighbours are one stretch.
pub(super) const MAX_STRETCHES: usize = 64;

/// Cancelled stretches, from the highest down. They neither touch nor overlap.
#[derive(Debug)]
pub(crate) struct Cancelled {
    stretches: Vec<Stretch>,
    /// So many are remembered.
    most: usize,
}

/// A stretch of the axis that lowering does not shorten. Its positions wrap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    pub(crate) low: u64,
    pub(crate) high: u64,
    /// Units that had been lowered when the highest booking in it was made.
    pub(crate) lowered: u64,
    /// Units that it has not given back yet.
    pub(crate) owed: u64,
}

/// What an undo sees of the word, and what has been issued.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) arrival: u64,
    pub(crate) lowered: u64,
    pub(crate) issued: u64,
}

impl Moment {
    /// How far a position lies below the arrival point.
    fn depth(self, position: u64) -> u64 {
        self.arrival.wrapping_add(self.lowered).wrapping_sub(position)
    }
}

impl Stretch {
    fn units(self) -> u64 {
        distance(self.low, self.high)
    }

    fn is_above(self, other: Self) -> bool {
        is_before(other.high, self.low)
    }

    /// Both, which touch or overlap, as one. Where they overlap it owes nothing more.
    fn joined(self, other: Self) -> Self {
        let top = if is_before(self.high, other.high) { other } else { self };
        let low = if is_before(self.low, other.low) { self.low } else { other.low };
        let twice = (self.units() + other.units()).saturating_sub(distance(low, top.high));
        Self { low, owed: (self.owed + other.owed).saturating_sub(twice), ..top }
    }
}

impl Cancelled {
    /// Nothing yet, and room for so many stretches.
    pub(crate) fn new(most: usize) -> Self {
        Self { stretches: Vec::new(), most }
    }

    /// The stretches, from the highest down.
    #[cfg(feature = "shared-memory")]
    pub(crate) fn stretches(&self) -> &[Stretch] {
        &self.stretches
    }

    /// Remembers one more.
    pub(crate) fn add(&mut self, mut added: Stretch) {
        self.stretches.retain(|stretch| {
            let apart = stretch.is_above(added) || added.is_above(*stretch);
            if !apart {
                added = added.joined(*stretch);
            }
            apart
        });
        let place = self.stretches.partition_point(|stretch| stretch.is_above(added));
        self.stretches.insert(place, added);
    }

    /// What is still to be given back.
    pub(super) fn owed(&self) -> i128 {
        self.stretches.iter().map(|stretch| wide(stretch.owed)).sum()
    }

    /// The lowest arrival point that is right now. `span` is the capacity in units, or 0 where what stands is due when all
    /// before it has been issued.
    pub(crate) fn goal(&self, now: Moment, span: u64) -> u64 {
        let (arrival, issued, span) = (wide(now.arrival), wide(now.issued), wide(span));
        let mut goal = (arrival - self.owed()).max(issued);
        let (mut standing, mut above) = (0, 0);
        for stretch in &self.stretches {
            let gap = wide(now.depth(stretch.high)) - above;
            if gap > 0 {
                let end = arrival - above + wide(now.lowered.wrapping_sub(stretch.lowered));
                // The largest that can stand in the gap has the least slack.
                goal = goal.max(end - span + gap.min(span) + standing);
                standing += gap;
            }
            goal = goal.max(issued + standing);
            above = wide(now.depth(stretch.low));
        }
        u64::try_from(goal.min(arrival)).unwrap_or(now.arrival)
    }

    /// So much has been given back, and this is what there is now. What is higher gives first: less stands behind it.
    pub(crate) fn gave(&mut self, mut units: u64, now: Moment) {
        for stretch in &mut self.stretches {
            let given = stretch.owed.min(units);
            stretch.owed -= given;
            units -= given;
        }
        let kept = self.above_refill(now).min(self.most);
        self.stretches.truncate(kept);
    }

    /// How many stretches, from the highest down, may have more to give back. Below that refill has made good everything,
    /// even if all that stands above is cancelled too.
    fn above_refill(&self, now: Moment) -> usize {
        let (mut standing, mut above) = (0, 0);
        let is_over = |stretch: &Stretch| {
            standing += wide(now.depth(stretch.high)) - above;
            above = wide(now.depth(stretch.low));
            wide(now.arrival) <= wide(now.issued) + standing
        };
        self.stretches.iter().position(is_over).unwrap_or(self.stretches.len())
    }
}

/// Positions lie much less than 2^63 units apart.
fn is_before(position: u64, other: u64) -> bool {
    (position.wrapping_sub(other) as i64) < 0
}

fn distance(from: u64, to: u64) -> u64 {
    to.wrapping_sub(from)
}

fn wide(units: u64) -> i128 {
    units.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretch(low: u64, high: u64) -> Stretch {
        Stretch { low, high, lowered: 0, owed: high.wrapping_sub(low) }
    }

    fn with(stretches: &[(u64, u64)]) -> Cancelled {
        let mut cancelled = Cancelled::new(MAX_STRETCHES);
        stretches.iter().for_each(|&(low, high)| cancelled.add(stretch(low, high)));
        cancelled
    }

    #[test]
    fn neighbours_are_one_stretch() {
        for order in [[(0, 2), (2, 5), (5, 6)], [(5, 6), (0, 2), (2, 5)], [(2, 5), (5, 6), (0, 2)]] {
            let cancelled = with(&order);
            assert_eq!((cancelled.stretches.len(), cancelled.owed()), (1, 6));
        }
        let apart = with(&[(0, 2), (6, 8), (3, 5)]);
        assert_eq!((apart.stretches.len(), apart.owed()), (3, 6));
        assert!(apart.stretches.windows(2).all(|pair| pair[0].is_above(pair[1])));
        assert_eq!(with(&[(0, 4), (2, 6)]).owed(), 6, "what overlaps counts once");
    }

    #[test]
    fn positions_wrap() {
        let cancelled = with(&[(u64::MAX - 1, 2), (2, 4)]);
        assert_eq!((cancelled.stretches.len(), cancelled.owed()), (1, 6));
        let now = Moment { arrival: 1_000, lowered: 4u64.wrapping_sub(1_000), issued: 0 };
        assert_eq!(cancelled.goal(now, 10), 994);
    }

    #[test]
    fn those_behind_keep_their_due_time() {
        // GUARANTEES 6 and case C42: twenty cancelled, five behind, a capacity of twenty.
        let now = Moment { arrival: 45, lowered: 0, issued: 1 };
        assert_eq!(with(&[(20, 40)]).goal(now, 20), 30);
        assert_eq!(with(&[(20, 40), (40, 45)]).goal(now, 20), 20);
        assert_eq!(with(&[(20, 40)]).goal(now, 0), 45, "evenly spaced: nothing while someone stands");
    }

    #[test]
    fn what_refill_has_passed_is_forgotten() {
        let mut cancelled = with(&[(0, 4), (6, 8)]);
        for (issued, left) in [(5, (2, 6)), (6, (1, 2)), (7, (1, 2)), (8, (0, 0))] {
            cancelled.gave(0, Moment { arrival: 10, lowered: 0, issued });
            assert_eq!((cancelled.stretches.len(), cancelled.owed()), left, "{issued} issued");
        }
    }

    #[test]
    fn only_so_many_are_remembered() {
        let mut cancelled = Cancelled::new(MAX_STRETCHES);
        for n in 1..=100 {
            cancelled.add(stretch(2 * n, 2 * n + 1));
            cancelled.gave(0, Moment { arrival: 1_000, lowered: 0, issued: 0 });
        }
        assert_eq!((cancelled.stretches.len(), cancelled.owed()), (MAX_STRETCHES, 64));
        assert_eq!(cancelled.stretches.last().map(|lowest| lowest.low), Some(2 * 37));
    }
}
