//! What waits: order, deadlines and bounds, without a clock.
//!
//! A [`Line`] is plain data behind its owner's lock. It has a place for each entry that waits or has been called, at
//! most as many as its depth. Nothing in here reads a clock, sleeps or wakes.
//!
//! # The order
//!
//! Entries have a class, 0 the highest. While several classes wait, they are served in proportion to `2^-class`: twice
//! as much cost of one class as of the next. As the shares of all classes add up to less than 2, class `k` is sure of
//! `1 / 2^(k + 1)` of all cost that is served while it waits; a class that does not wait leaves its share to the others.
//! Within a class the order is that of arrival. An entry whose turn it is is never passed over because of its cost, so
//! that small ones do not starve a large one.
//!
//! It is self-clocked fair queueing (S. J. Golestani, "A self-clocked fair queueing scheme for broadband applications",
//! IEEE INFOCOM 1994) with the weights `2^-class`: an entry's place is its virtual finish time, given once, at entry;
//! later entries of higher classes come in before it until the virtual time has passed it. So an entry ages with what
//! is served, not with the time that passes: ageing by time gives no share, for a class that may wait only so long is
//! dropped before it is old enough.

#![cfg_attr(not(feature = "wait"), allow(dead_code, reason = "limits on work in flight need a part of it"))]

mod classes;
#[cfg(test)]
mod model;
mod tree;

use std::fmt;

use self::classes::Classes;
pub(crate) use self::classes::LAST_CLASS;
use self::tree::{Key, Late, Tree, Waiting};
use crate::nanos::Nanos;

/// Entries in the order in which they are to be served.
pub(crate) struct Line<T> {
    depth: usize,
    tree: Tree<T>,
    classes: Classes,
    /// Entries that have been called and have not come yet.
    called: usize,
    /// The number of the next entry.
    next: u64,
}

/// What an entry asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// 0 is the highest, [`LAST_CLASS`] the lowest.
    pub(crate) class: u8,
    /// What it takes to serve it, in units of the owner's.
    pub(crate) cost: u64,
    /// The last reading at which it can be served.
    pub(crate) deadline: Nanos,
    /// Where the owner's count of cost may have got to when it has been served, itself included.
    pub(crate) reach: u64,
}

/// Names a place in the line for as long as somebody has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket(Key);

/// An entry that has been called and still has its place.
#[must_use = "its place stays taken until it came, gave up or was put back"]
pub(crate) struct Turn<T> {
    key: Key,
    waiting: Waiting<T>,
}

/// An entry that was removed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Gone<T> {
    pub(crate) item: T,
    pub(crate) place: Place,
    /// The cost that was ahead of it.
    pub(crate) ahead: u128,
}

/// A newcomer has a place.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entered<T> {
    pub(crate) ticket: Ticket,
    /// Who had to make room: the last in the order, with the newcomer ahead of it.
    pub(crate) displaced: Option<Gone<T>>,
}

impl Place {
    /// A place that only its deadline makes hopeless. Classes below the last count as the last.
    pub(crate) fn new(class: u8, cost: u64, deadline: Nanos) -> Self {
        Self { class: class.min(LAST_CLASS), cost, deadline, reach: u64::MAX }
    }
}

impl<T> Line<T> {
    /// Nobody yet, with places for `depth`.
    pub(crate) fn new(depth: usize) -> Self {
        Self { depth, tree: Tree::new(), classes: Classes::new(), called: 0, next: 0 }
    }

    /// How many wait for their turn.
    pub(crate) fn len(&self) -> usize {
        self.classes.waiting()
    }

    /// How many have been called and have not come yet.
    pub(crate) fn called(&self) -> usize {
        self.called
    }

    /// How many places there are.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Whether every place is taken.
    pub(crate) fn is_full(&self) -> bool {
        self.len() + self.called >= self.depth
    }

    /// The cost that a newcomer would find ahead of it.
    pub(crate) fn ahead_of(&self, class: u8, cost: u64) -> u128 {
        self.tree.ahead(&self.key(class, cost))
    }

    /// Takes a place, at the expense of the last in the order if none is free and the newcomer's turn is before it.
    ///
    /// # Errors
    ///
    /// The item, if no place is free and nobody's turn is after the newcomer's.
    pub(crate) fn enter(&mut self, place: Place, since: Nanos, item: T) -> Result<Entered<T>, T> {
        let key = self.key(place.class, place.cost);
        let displaced = if self.is_full() {
            match self.tree.last().filter(|last| *last > key) {
                Some(last) => self.remove(&last).map(|gone| gone.behind(&place)),
                None => return Err(item),
            }
        } else {
            None
        };
        self.next += 1;
        self.classes.enter(&key, place.cost);
        self.tree.insert(key, Waiting { place, since, item });
        Ok(Entered { ticket: Ticket(key), displaced })
    }

    /// Whose turn it is.
    pub(crate) fn front(&self) -> Option<(&Place, &T)> {
        self.tree.first().map(|(_, waiting)| (&waiting.place, &waiting.item))
    }

    /// Serves the one whose turn it is.
    #[cfg(any(test, feature = "inflight"))]
    pub(crate) fn serve(&mut self) -> Option<(Place, T)> {
        let turn = self.call()?;
        let place = turn.waiting.place;
        Some((place, self.came(turn)))
    }

    /// Calls the one whose turn it is. It keeps its place until it [came](Self::came), [gave up](Self::gave_up) or was
    /// [put back](Self::put_back); the next one's turn comes at once.
    pub(crate) fn call(&mut self) -> Option<Turn<T>> {
        let (key, waiting) = self.tree.take_first()?;
        self.classes.serve(&key);
        self.called += 1;
        Some(Turn { key, waiting })
    }

    /// The one that was called has come, and is served.
    pub(crate) fn came(&mut self, turn: Turn<T>) -> T {
        self.called -= 1;
        turn.waiting.item
    }

    /// The one that was called does not come. Its class is not charged for it.
    pub(crate) fn gave_up(&mut self, turn: Turn<T>) -> T {
        self.classes.credit(&turn.key, turn.waiting.place.cost);
        self.came(turn)
    }

    /// The one that was called came in vain, and waits on at its old place in the order.
    pub(crate) fn put_back(&mut self, turn: Turn<T>) -> Ticket {
        self.called -= 1;
        self.classes.put_back(&turn.key);
        self.tree.insert(turn.key, turn.waiting);
        Ticket(turn.key)
    }

    /// Leaves the line before its turn has come; the place is free at once. `None` for one that is not waiting any more.
    pub(crate) fn leave(&mut self, ticket: Ticket) -> Option<T> {
        self.remove(&ticket.0).map(|gone| gone.item)
    }

    /// Sends the one away whose turn it is, without having served it.
    pub(crate) fn dismiss(&mut self) -> Option<T> {
        let (first, _) = self.tree.first()?;
        self.remove(&first).map(|gone| gone.item)
    }

    /// Removes the first in the order that cannot make it any more: its deadline is before `opening`, the earliest that
    /// anybody can be served, or the count of cost, which stands at `base`, will be beyond its reach when it has been
    /// served after all who are ahead of it.
    ///
    /// Once nobody is found, everybody in the line can still be served in time if nobody comes in between.
    pub(crate) fn take_late(&mut self, base: u128, opening: Nanos) -> Option<Gone<T>> {
        let late = self.tree.first_late(&Late { base, opening })?;
        self.remove(&late)
    }

    /// Since when the one has waited that has waited longest.
    pub(crate) fn oldest(&self) -> Option<Nanos> {
        self.tree.summary().map(|summary| summary.since)
    }

    fn key(&self, class: u8, cost: u64) -> Key {
        let class = class.min(LAST_CLASS);
        Key { finish: self.classes.finish_of(class, cost), class, number: self.next }
    }

    fn remove(&mut self, key: &Key) -> Option<Gone<T>> {
        let ahead = self.tree.ahead(key);
        let Waiting { place, item, .. } = self.tree.remove(key)?;
        let tail = self.tree.last_of(key.class).map(|last| last.finish);
        self.classes.leave(key, place.cost, tail);
        Some(Gone { item, place, ahead })
    }
}

impl<T> Gone<T> {
    /// With that newcomer ahead of it.
    fn behind(self, newcomer: &Place) -> Self {
        Self { ahead: self.ahead + u128::from(newcomer.cost), ..self }
    }
}

impl<T> Turn<T> {
    /// What it asks for.
    pub(crate) fn place(&self) -> &Place {
        &self.waiting.place
    }

    /// Who it is.
    pub(crate) fn item(&self) -> &T {
        &self.waiting.item
    }
}

impl<T> fmt::Debug for Line<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line")
            .field("depth", &self.depth)
            .field("waiting", &self.len())
            .field("called", &self.called)
            .finish()
    }
}
