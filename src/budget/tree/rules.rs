//! The rules: what a cost takes from whom, and when it is refused. They read, and change nothing.
//!
//! A node holds what it is guaranteed. What is held for a node is a part of what is held for its parent; the part that is
//! held for none of the children is the parent's *pool*. Whoever asks takes from its own pool first (for a leaf, all that
//! is held for it), then from its parent's, and so on. The theory has the argument, under *Trees*.

use super::place::{Place, Tub, parts};
use super::plan::MAX_DEPTH;
use super::refused::{Limit, Refused};
use crate::decision::Denied;
use crate::gcra::Gcra;

/// The nodes and the tree's axis.
#[derive(Clone, Copy)]
pub(super) struct Rules<'a> {
    pub(super) gcra: &'a Gcra,
    pub(super) places: &'a [Place],
}

/// What a cost takes from what is held for each node on the way to the root.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draw {
    taken: [u128; MAX_DEPTH + 1],
    /// Parts that were found: no more than asked for.
    pub(super) found: u128,
}

/// A cost on the way to a decision.
#[derive(Clone, Copy)]
struct Asked {
    place: usize,
    tokens: u64,
    parts: u128,
}

impl<'a> Rules<'a> {
    /// What is taken from whom, or the refusal.
    pub(super) fn judge(self, place: usize, tokens: u64, now: u64) -> Result<Draw, Refused<'a>> {
        let asked = Asked { place, tokens, parts: self.parts(tokens) };
        self.refuse_for_ever(asked)?;
        let ceilings = self.refuse_by_ceilings(asked, now);
        match (self.supply(asked, now), ceilings) {
            (Ok(draw), None) => Ok(draw),
            (Ok(_), Some(refused)) | (Err(refused), None) => Err(refused),
            (Err(supply), Some(first)) => Err(later(first, supply)),
        }
    }

    /// A cost as parts; it saturates.
    pub(super) fn parts(self, tokens: u64) -> u128 {
        parts(self.gcra.units(tokens))
    }

    /// Takes from the place's own pool first, then from those on the way up. It finds `asked` parts, or all there are.
    pub(super) fn draw(self, place: usize, asked: u128, issued: u64) -> Draw {
        let mut draw = Draw { taken: [0; MAX_DEPTH + 1], found: 0 };
        // Taken below, and not held for the node there as it owes: that lessens the pool above it.
        let mut unheld = 0;
        for (taken, place) in draw.taken.iter_mut().zip(self.path(place)) {
            // An owner that takes its own looks at nobody else.
            if draw.found < asked {
                let pool = u128::try_from(self.pool(place, issued)).unwrap_or(0).saturating_sub(unheld);
                draw.found = draw.found.saturating_add(pool).min(asked);
                unheld = draw.found.saturating_sub(u128::try_from(place.tub().level(issued)).unwrap_or(0));
            }
            *taken = draw.found;
        }
        draw
    }

    /// The most that is ever admitted at once here, in units: what the pools hold and the place itself, when all are full.
    pub(super) fn most(self, place: usize) -> u64 {
        self.spans(place).fold(0, u64::saturating_add)
    }

    /// The place, its parent, and so on up to the root.
    pub(super) fn path(self, place: usize) -> impl DoubleEndedIterator<Item = &'a Place> + Clone {
        self.places[place].path.iter().map(move |&place| &self.places[place])
    }

    fn children(self, place: &'a Place) -> impl Iterator<Item = &'a Place> {
        place.children.iter().map(move |&child| &self.places[child])
    }

    fn root(self) -> &'a Place {
        &self.places[0]
    }

    /// The most that is in the pool of the place, and in those on the way up, in units.
    fn spans(self, place: usize) -> impl Iterator<Item = u64> {
        self.path(place).map(move |place| {
            let held = self.children(place).map(|child| child.tub().span).fold(0, u64::saturating_add);
            place.tub().span.saturating_sub(held)
        })
    }

    /// Parts that are held for the place and for none of its children. Less than nothing while one of them owes.
    fn pool(self, place: &'a Place, issued: u64) -> i128 {
        let held = self.children(place).map(|child| child.tub().level(issued).max(0));
        place.tub().level(issued).saturating_sub(held.fold(0, i128::saturating_add))
    }

    /// The refusal of a cost that no wait helps.
    fn refuse_for_ever(self, asked: Asked) -> Result<(), Refused<'a>> {
        let (tokens, one) = (asked.tokens, self.gcra.one.units);
        let place = &self.places[asked.place];
        if tokens == 0 {
            return Err(Refused { node: &place.name, limit: Limit::Total, denied: Denied::ZeroCost });
        }
        for place in self.path(asked.place) {
            if let Some(Err(denied)) = place.ceiling.as_ref().map(|ceiling| ceiling.gcra.cost(tokens)) {
                return Err(Refused { node: &place.name, limit: Limit::Ceiling, denied });
            }
        }
        let units = self.gcra.units(tokens);
        let mut sums = self.spans(asked.place).scan(0_u64, |sum, span| {
            *sum = sum.saturating_add(span);
            Some(*sum)
        });
        if !sums.any(|sum| sum >= units) {
            let denied = Denied::OverCapacity { cost: tokens, capacity: self.most(asked.place) / one };
            let limit = if self.gcra.cost(tokens).is_ok() { Limit::Pool } else { Limit::Total };
            return Err(Refused { node: &self.root().name, limit, denied });
        }
        Ok(())
    }

    /// The first ceiling that refuses, with the longest wait of all that do.
    fn refuse_by_ceilings(self, asked: Asked, now: u64) -> Option<Refused<'a>> {
        let refuse = |place: &'a Place| {
            let ceiling = place.ceiling.as_ref()?;
            let (gcra, arrival) = (&ceiling.gcra, ceiling.arrival());
            let cost = gcra.cost(asked.tokens).ok()?;
            let admitted = gcra.counts(now) && gcra.admit(arrival, gcra.issued(now), cost).is_some();
            let denied = gcra.not_yet(arrival, now, cost, 0);
            (!admitted).then_some(Refused { node: &place.name, limit: Limit::Ceiling, denied })
        };
        self.path(asked.place).filter_map(refuse).reduce(later)
    }

    /// What is taken from whom, if that is enough.
    fn supply(self, asked: Asked, now: u64) -> Result<Draw, Refused<'a>> {
        let (issued, counts) = (self.gcra.issued(now), self.gcra.counts(now));
        let draw = self.draw(asked.place, asked.parts, issued);
        if counts && self.is_enough(&draw, asked, issued) {
            return Ok(draw);
        }
        let needed = if counts { self.needed(asked, &draw, issued) } else { u64::MAX };
        let limit = if self.is_there(asked, issued) { Limit::Pool } else { Limit::Total };
        Err(Refused { node: &self.root().name, limit, denied: self.gcra.refusal(needed, now, 0) })
    }

    fn is_enough(self, draw: &Draw, asked: Asked, issued: u64) -> bool {
        draw.found == asked.parts && self.is_there(asked, issued)
    }

    /// Whether so much is left at all: the bound of the whole tree.
    fn is_there(self, asked: Asked, issued: u64) -> bool {
        u128::try_from(self.root().tub().level(issued)).is_ok_and(|level| level >= asked.parts)
    }

    /// Units that must have been issued before the cost fits, if nobody else asks; `u64::MAX` if that is past the horizon.
    ///
    /// What can be drawn grows in straight lines with the units issued, and its slope changes only where someone becomes
    /// full. So the first guess is exact if nobody does before. Otherwise it is a bound, and the number is found by halving.
    #[cold]
    fn needed(self, asked: Asked, draw: &Draw, issued: u64) -> u64 {
        let last = self.gcra.issued(u64::MAX);
        let fits = |at: u64| self.is_enough(&self.draw(asked.place, asked.parts, at), asked, at);
        let (mut short, mut step) = (issued, self.guess(asked, draw, issued));
        let mut long = loop {
            let next = short.saturating_add(step).min(last);
            if fits(next) {
                break next;
            }
            if next == last {
                return u64::MAX;
            }
            (short, step) = (next, step.saturating_mul(2));
        };
        if long - short > 1 && fits(long - 1) {
            long -= 1;
            while long - short > 1 {
                let middle = short + (long - short) / 2;
                if fits(middle) { long = middle } else { short = middle }
            }
        }
        long
    }

    /// Units to issue until what lacks is there, if nobody becomes full meanwhile; at least one.
    fn guess(self, asked: Asked, draw: &Draw, issued: u64) -> u64 {
        let there = u128::try_from(self.root().tub().level(issued)).unwrap_or(0);
        let owed = u128::try_from(-self.root().tub().level(issued)).unwrap_or(0);
        let lacking = asked.parts.saturating_sub(draw.found.min(there)).saturating_add(owed);
        let path = &self.places[asked.place].path;
        let filling = |tub: Tub| tub.deficit(issued) > 0 && tub.level(issued) >= 0;
        let beside = self
            .path(asked.place)
            .flat_map(|place| place.children.iter().filter(|child| !path.contains(child)))
            .map(|&child| self.places[child].tub())
            .filter(|tub| filling(*tub))
            .fold(0, |shares: u64, tub| shares.saturating_add(tub.share));
        let slope = self.root().tub().share.saturating_sub(beside).max(1);
        u64::try_from(lacking.div_ceil(slope.into())).unwrap_or(u64::MAX).max(1)
    }
}

impl Draw {
    /// Takes what was not found, too: what is not there is owed by each on the way.
    pub(super) fn owing(self, asked: u128) -> Self {
        let owed = asked - self.found;
        Self { taken: self.taken.map(|taken| taken.saturating_add(owed)), found: asked }
    }

    /// What is taken from the place that asked, from its parent, and so on.
    pub(super) fn taken(&self) -> impl Iterator<Item = u128> + use<> {
        self.taken.into_iter()
    }
}

/// The first refusal, with the longer of the two waits. Cold, as it divides.
#[cold]
fn later<'a>(first: Refused<'a>, next: Refused<'a>) -> Refused<'a> {
    let ready_at = |refused: &Refused<'_>| match refused.denied {
        Denied::NotYet(not_yet) => Some(not_yet.ready_at()),
        _ => None,
    };
    let denied = if ready_at(&first) >= ready_at(&next) { first.denied } else { next.denied };
    Refused { denied, ..first }
}
