//! One node: where it stands in the tree, and its numbers.

use super::plan::Measure;
use super::share::{WHOLE, scaled};
use crate::gcra::Gcra;
use crate::nanos::Nanos;
use crate::quota::Quota;
use crate::sync::{AtomicU64, Ordering};

/// The last arrival point, in parts.
const LAST_ARRIVAL: u128 = parts(u64::MAX - 1);

/// A node. All numbers change under the lock of the [`Store`](super::store::Store) only.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) name: Box<str>,
    /// The places from this one up to the root's, both included.
    pub(super) path: Box<[usize]>,
    pub(super) children: Box<[usize]>,
    pub(super) ceiling: Option<Ceiling>,
    share: AtomicU64,
    span: AtomicU64,
    arrival: Wide,
    /// Tokens admitted or charged here or below.
    used: AtomicU64,
    /// Parts of those that were not the node's own.
    borrowed: Wide,
}

/// A limit to all that a node uses: a bucket's rules and its word.
#[derive(Debug)]
pub(super) struct Ceiling {
    pub(super) quota: Quota,
    pub(super) gcra: Gcra,
    arrival: AtomicU64,
}

/// What is held for a node, as a token bucket whose axis is the tree's times the node's share.
///
/// All nodes count in the same *parts*: a unit of the tree's axis has [`WHOLE`] of them. When the tree issues a unit, a node
/// is issued `share` parts, a whole number; so nothing is ever rounded, and numbers of different nodes can be compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tub {
    pub(super) share: u64,
    pub(super) span: u64,
    arrival: u128,
}

/// 128 bits that change under the lock.
#[derive(Debug, Default)]
struct Wide {
    high: AtomicU64,
    low: AtomicU64,
}

impl Place {
    pub(super) fn new(name: &str, path: Box<[usize]>, ceiling: Option<Ceiling>) -> Self {
        Self {
            name: name.into(),
            path,
            children: Box::default(),
            ceiling,
            share: AtomicU64::new(0),
            span: AtomicU64::new(0),
            arrival: Wide::default(),
            used: AtomicU64::new(0),
            borrowed: Wide::default(),
        }
    }

    pub(super) fn tub(&self) -> Tub {
        let (share, span) = (self.share.load(Ordering::Acquire), self.span.load(Ordering::Acquire));
        Tub { share, span, arrival: self.arrival.load() }
    }

    pub(super) fn used(&self) -> u64 {
        self.used.load(Ordering::Acquire)
    }

    pub(super) fn borrowed(&self) -> u128 {
        self.borrowed.load()
    }

    /// Takes `taken` parts of what is held for it, of a use of `tokens` that are `parts`.
    pub(super) fn take(&self, tokens: u64, parts: u128, taken: u128, issued: u64) {
        let tub = self.tub();
        let arrival = tub.arrival.max(tub.issued(issued)).saturating_add(taken).min(LAST_ARRIVAL);
        self.arrival.store(arrival);
        self.used.store(self.used().saturating_add(tokens), Ordering::Release);
        self.borrowed.store(self.borrowed().saturating_add(parts.saturating_sub(taken)));
    }

    /// Gives up to `parts` back, no further than full, and tells how many.
    pub(super) fn give(&self, parts: u128, issued: u64) -> u128 {
        let tub = self.tub();
        let given = tub.deficit(issued).min(parts);
        self.arrival.store(tub.arrival - given);
        given
    }

    /// Gives it another measure; what it holds stays, as far as it fits.
    pub(super) fn measure(&self, measure: Measure, issued: u64) {
        let (tub, Measure { share, span }) = (self.tub(), measure);
        if (tub.share, tub.span) == (share, span) {
            return;
        }
        let missing = u128::try_from(level_of(span) - tub.level(issued)).unwrap_or(0);
        self.set(measure, missing, issued);
    }

    /// Gives it its first measure, with `tokens` of `capacity` tokens of it there.
    pub(super) fn fill(&self, measure: Measure, tokens: u64, capacity: u64, issued: u64) {
        let there = scaled(measure.span, tokens.into(), capacity.into());
        self.set(measure, parts(measure.span - there.min(measure.span)), issued);
    }

    fn set(&self, measure: Measure, missing: u128, issued: u64) {
        let issued = u128::from(issued) * u128::from(measure.share);
        self.share.store(measure.share, Ordering::Release);
        self.span.store(measure.span, Ordering::Release);
        self.arrival.store(issued.saturating_add(missing).min(LAST_ARRIVAL));
    }
}

impl Ceiling {
    /// The quota's own fill at the reading `now`.
    pub(super) fn new(quota: Quota, now: u64) -> Self {
        let gcra = Gcra::new(&quota);
        let arrival = AtomicU64::new(gcra.holding(gcra.issued(now), quota.initial_tokens()));
        Self { quota, gcra, arrival }
    }

    pub(super) fn arrival(&self) -> u64 {
        self.arrival.load(Ordering::Acquire)
    }

    /// Whole tokens that are there.
    pub(super) fn available(&self, now: Nanos) -> u64 {
        self.gcra.available(self.arrival().saturating_sub(self.gcra.issued(now.as_u64())))
    }

    pub(super) fn take(&self, tokens: u64, now: u64) {
        let next = self.gcra.charge(self.arrival(), self.gcra.issued(now), self.gcra.units(tokens));
        self.arrival.store(next, Ordering::Release);
    }

    pub(super) fn give(&self, tokens: u64, now: u64) {
        let next = self.gcra.refund(self.arrival(), self.gcra.issued(now), self.gcra.units(tokens));
        self.arrival.store(next, Ordering::Release);
    }
}

impl Tub {
    /// Parts that are there when the tree has issued so many units; negative in debt.
    pub(super) fn level(self, issued: u64) -> i128 {
        level_of(self.span) - i128::try_from(self.deficit(issued)).unwrap_or(i128::MAX)
    }

    pub(super) fn deficit(self, issued: u64) -> u128 {
        self.arrival.saturating_sub(self.issued(issued))
    }

    fn issued(self, issued: u64) -> u128 {
        u128::from(issued) * u128::from(self.share)
    }
}

impl Wide {
    fn load(&self) -> u128 {
        let (high, low) = (self.high.load(Ordering::Acquire), self.low.load(Ordering::Acquire));
        u128::from(high) << 64 | u128::from(low)
    }

    fn store(&self, value: u128) {
        self.high.store((value >> 64) as u64, Ordering::Release);
        self.low.store(value as u64, Ordering::Release);
    }
}

/// Units as parts.
pub(super) const fn parts(units: u64) -> u128 {
    units as u128 * WHOLE as u128
}

/// Less than 2^121, as a span is less than 2^61 units.
fn level_of(span: u64) -> i128 {
    i128::from(span) * i128::from(WHOLE)
}
