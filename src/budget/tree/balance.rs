//! What a look at a node shows.

use super::place::parts;
use super::rules::Rules;
use crate::nanos::Nanos;

/// What a node holds, may use and has used, at one reading of the tree's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Balance {
    held: u64,
    burst: u64,
    owed: u64,
    available: u64,
    max_cost: u64,
    used: u64,
    borrowed: u64,
}

impl Balance {
    pub(super) fn of(rules: Rules<'_>, place: usize, now: Nanos) -> Self {
        let issued = rules.gcra.issued(now.as_u64());
        let token = parts(rules.gcra.one.units);
        let whole = |parts: u128| u64::try_from(parts / token).unwrap_or(u64::MAX);
        let (node, level) = (&rules.places[place], rules.places[place].tub().level(issued));
        let root = u128::try_from(rules.places[0].tub().level(issued)).unwrap_or(0);
        let supply = whole(rules.draw(place, root, issued).found);
        let most = rules.most(place) / rules.gcra.one.units;
        let ceilings = || rules.path(place).filter_map(|place| place.ceiling.as_ref());
        Self {
            held: whole(u128::try_from(level).unwrap_or(0)),
            burst: whole(parts(node.tub().span)),
            owed: u64::try_from(u128::try_from(-level).unwrap_or(0).div_ceil(token)).unwrap_or(u64::MAX),
            available: ceilings().map(|ceiling| ceiling.available(now)).fold(supply.min(most), u64::min),
            max_cost: ceilings().map(|ceiling| ceiling.quota.capacity()).fold(most, u64::min),
            used: node.used(),
            borrowed: whole(node.borrowed()),
        }
    }

    /// Whole tokens that are held for the node and those below it, rounded down: nobody else can take them.
    pub fn held(&self) -> u64 {
        self.held
    }

    /// The most that is held for it, in whole tokens.
    pub fn burst(&self) -> u64 {
        self.burst
    }

    /// Tokens that the node owes of its share, rounded up, after charges that went beyond what it could have borrowed.
    pub fn owed(&self) -> u64 {
        self.owed
    }

    /// The largest cost that would be admitted here now: what is held for the node and for none below it (its pool, if it has
    /// children), and what it can borrow, within all ceilings.
    pub fn available(&self) -> u64 {
        self.available
    }

    /// The largest cost that is ever admitted here: what can be had when everyone's share is held in full.
    pub fn max_cost(&self) -> u64 {
        self.max_cost
    }

    /// Tokens admitted or charged here and below since the tree was made. Refunds are not taken off.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Whole tokens of those that were borrowed: they came from a pool further up, and were not held for this node.
    pub fn borrowed(&self) -> u64 {
        self.borrowed
    }
}
