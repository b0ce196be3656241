//! The roll of live keys, in the order in which their buckets can be full.
//!
//! Each live key has one record, which says when to look at it next: not before its bucket was going to be full, as it
//! stood at the last look. Nothing is written when the key is used; a record that has become due for a key that has been
//! used since is put back to its new time. So who looks for room sees at once whether there can be any, and a sweep
//! touches only keys that were quiet for as long as it takes to fill a bucket.
//!
//! The roll is divided into stripes with a lock each. Only inserting and sweeping take one, and never two.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicU64, Mutex, Ordering, lock, try_lock};

const STRIPES: usize = 16;

const NEVER: u64 = u64::MAX;

/// Time between two sweeps that callers do on their way.
const TURN_EVERY_NANOS: u64 = 250_000;

pub(super) struct Roll {
    stripes: Box<[CachePadded<Stripe>]>,
    /// The reading before which callers pass by without sweeping.
    next: CachePadded<AtomicU64>,
    /// Turns that callers have taken so far.
    turns: AtomicU64,
}

struct Stripe {
    /// When the first record is due; [`NEVER`] if there is none.
    due: AtomicU64,
    records: Mutex<Records>,
}

/// When to look next, and the hash of the key; the first one due is on top.
type Records = BinaryHeap<Reverse<(u64, u64)>>;

/// What a look at a key has found.
pub(super) enum Found {
    /// It has been forgotten just now.
    Forgotten,
    /// It was not there any more.
    Gone,
    /// It is to be looked at again, but not before this reading.
    Busy(u64),
}

impl Roll {
    pub(super) fn new() -> Self {
        Self {
            stripes: (0..STRIPES).map(|_| CachePadded::new(Stripe::new())).collect(),
            next: CachePadded::new(AtomicU64::new(0)),
            turns: AtomicU64::new(0),
        }
    }

    /// Writes down a key that has been inserted.
    pub(super) fn enter(&self, hash: u64, due: u64) {
        let stripe = &self.stripes[hash as usize % STRIPES];
        let mut records = lock(&stripe.records);
        records.push(Reverse((due, hash)));
        stripe.tell(&records);
    }

    /// Whether it is time for a caller to take a turn at sweeping.
    #[inline]
    pub(super) fn is_turn(&self, now: u64) -> bool {
        now >= self.next.load(Ordering::Relaxed)
    }

    /// Looks at up to `most` keys that were due by `then` in one stripe, unless another caller does.
    pub(super) fn take_turn(&self, now: u64, then: u64, most: usize, look: impl Fn(u64) -> Found) {
        let next = self.next.load(Ordering::Relaxed);
        let after = now.saturating_add(TURN_EVERY_NANOS);
        if now < next
            || self.next.compare_exchange(next, after, Ordering::Relaxed, Ordering::Relaxed).is_err()
        {
            return;
        }
        let turn = self.turns.fetch_add(1, Ordering::Relaxed) as usize;
        self.stripes[turn % STRIPES].try_visit(then, most, look);
    }

    /// Looks at keys that are due, at most `most` a stripe, until one has been forgotten; tells whether one has.
    pub(super) fn make_room(&self, now: u64, most: usize, look: impl Fn(u64) -> Found) -> bool {
        self.stripes.iter().any(|stripe| stripe.try_visit(now, most, &look) > 0)
    }

    /// Looks at all keys that are due, `most` at a time, and tells how many have been forgotten.
    pub(super) fn visit_all(&self, now: u64, most: usize, look: impl Fn(u64) -> Found) -> usize {
        let mut forgotten = 0;
        for stripe in &self.stripes {
            while stripe.is_due(now) {
                forgotten += stripe.visit(&mut lock(&stripe.records), now, most, &look);
            }
        }
        forgotten
    }

    /// Looks at every key by the reading `by`, also at those that were not to be full so soon.
    #[cfg(feature = "adjust")]
    pub(super) fn look_by(&self, by: u64) {
        for stripe in &self.stripes {
            let mut records = lock(&stripe.records);
            if records.iter().any(|Reverse((due, _))| *due > by) {
                let all = std::mem::take(&mut *records).into_iter();
                *records = all.map(|Reverse((due, hash))| Reverse((due.min(by), hash))).collect();
                stripe.tell(&records);
            }
        }
    }

    /// The first reading at which any key can be forgotten.
    pub(super) fn first_due(&self) -> u64 {
        self.stripes.iter().map(|stripe| stripe.due.load(Ordering::Relaxed)).min().unwrap_or(NEVER)
    }
}

impl Stripe {
    fn new() -> Self {
        Self { due: AtomicU64::new(NEVER), records: Mutex::new(BinaryHeap::new()) }
    }

    /// Nothing is ever due at the last reading there is: it stands for "never".
    fn is_due(&self, by: u64) -> bool {
        self.due.load(Ordering::Relaxed) <= by.min(NEVER - 1)
    }

    /// [`visit`](Self::visit), unless nothing is due or another thread is at it.
    fn try_visit(&self, by: u64, most: usize, look: impl Fn(u64) -> Found) -> usize {
        match self.is_due(by).then(|| try_lock(&self.records)).flatten() {
            Some(mut records) => self.visit(&mut records, by, most, look),
            None => 0,
        }
    }

    fn visit(&self, records: &mut Records, by: u64, most: usize, look: impl Fn(u64) -> Found) -> usize {
        let (mut forgotten, by) = (0, by.min(NEVER - 1));
        for _ in 0..most {
            let Some(record) = records.peek_mut().filter(|record| record.0.0 <= by) else {
                break;
            };
            let Reverse((_, hash)) = PeekMut::pop(record);
            match look(hash) {
                Found::Forgotten => forgotten += 1,
                Found::Gone => {}
                Found::Busy(until) => records.push(Reverse((until.max(by + 1), hash))),
            }
        }
        if records.capacity() > 64 && records.len() < records.capacity() / 4 {
            let len = records.len();
            records.shrink_to(len * 2);
        }
        self.tell(records);
        forgotten
    }

    fn tell(&self, records: &Records) {
        let due = records.peek().map_or(NEVER, |record| record.0.0);
        self.due.store(due, Ordering::Relaxed);
    }
}
