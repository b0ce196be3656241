//! Counters in stripes, one for each thread.
//!
//! A thread that is alive has a small number of its own ([`slot`](crate::slot)). The stripe of that number is
//! written by that thread alone, so it adds with a load and a store, and no other core has the line. Threads
//! whose number is beyond the stripes share one, with read-modify-writes.
//!
//! All orderings are `Relaxed`. A number passes from one thread to the next through a lock, so the next one's
//! load sees the last store of the one before. Whoever adds up reads each counter once; each only rises, and
//! by coherence a later look sees no less, so a sum never falls (but for the wrap of 64 bits). A sum is not
//! of one moment: it can miss what is counted while it is made, and the next has it.

use std::array;
use std::sync::Arc;

use crossbeam_utils::CachePadded;

use super::reason::Reason;
use crate::slot;
use crate::sync::{AtomicU64, Ordering};

const REASONS: usize = Reason::ALL.len();

/// Stripes for each core: threads that wait are more than cores.
const FOR_EACH_CORE: usize = 4;

/// A counter, modulo 2^64: what is told is a difference.
struct Cell(AtomicU64);

/// What one thread has counted.
struct Stripe {
    /// Admissions of one token.
    ones: Cell,
    /// Admissions of other costs.
    others: Cell,
    /// What those cost.
    tokens: Cell,
    refused: [Cell; REASONS],
    refused_tokens: Cell,
}

/// Counters of one limit. Clones are the same.
#[derive(Clone)]
pub(super) struct Stripes {
    own: Arc<[CachePadded<Stripe>]>,
    shared: Arc<CachePadded<Stripe>>,
}

/// The place where a thread counts.
#[derive(Clone, Copy)]
pub(super) struct Mine<'a> {
    own: Option<&'a Stripe>,
    shared: &'a Stripe,
}

/// What all threads have counted, modulo 2^64.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Totals {
    pub(super) admitted: u64,
    pub(super) admitted_tokens: u64,
    pub(super) refused: [u64; REASONS],
    pub(super) refused_tokens: u64,
}

impl Stripes {
    pub(super) fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        Self::of(cores.saturating_mul(FOR_EACH_CORE))
    }

    /// So many, and the one that others share.
    pub(super) fn of(stripes: usize) -> Self {
        let own = (0..stripes).map(|_| CachePadded::new(Stripe::new())).collect();
        Self { own, shared: Arc::new(CachePadded::new(Stripe::new())) }
    }

    /// Where the calling thread counts. Looked up before a decision, it is found while the clock is read.
    #[inline]
    pub(super) fn mine(&self) -> Mine<'_> {
        Mine { own: self.own.get(slot::current()).map(|stripe| &**stripe), shared: &self.shared }
    }

    pub(super) fn totals(&self) -> Totals {
        let stripes = self.own.iter().chain([&*self.shared]);
        stripes.fold(Totals::default(), |totals, stripe| totals.plus(stripe))
    }
}

impl Mine<'_> {
    /// One call of one token was admitted.
    #[inline]
    pub(super) fn admitted_one(self) {
        match self.own {
            Some(stripe) => stripe.ones.add_alone(1),
            None => self.shared.ones.add(1),
        }
    }

    /// One call was admitted.
    #[inline]
    pub(super) fn admitted(self, cost: u64) {
        match self.own {
            Some(stripe) => {
                stripe.others.add_alone(1);
                stripe.tokens.add_alone(cost);
            }
            None => {
                self.shared.others.add(1);
                self.shared.tokens.add(cost);
            }
        }
    }

    /// One call was refused.
    #[inline]
    pub(super) fn refused(self, cost: u64, reason: Reason) {
        let at = reason as usize;
        match self.own {
            Some(stripe) => {
                stripe.refused.iter().skip(at).take(1).for_each(|cell| cell.add_alone(1));
                stripe.refused_tokens.add_alone(cost);
            }
            None => {
                self.shared.refused.iter().skip(at).take(1).for_each(|cell| cell.add(1));
                self.shared.refused_tokens.add(cost);
            }
        }
    }
}

impl Stripe {
    fn new() -> Self {
        Self {
            ones: Cell::new(),
            others: Cell::new(),
            tokens: Cell::new(),
            refused: array::from_fn(|_| Cell::new()),
            refused_tokens: Cell::new(),
        }
    }
}

impl Totals {
    fn plus(self, stripe: &Stripe) -> Self {
        let ones = stripe.ones.value();
        let mut refused = self.refused;
        for (sum, cell) in refused.iter_mut().zip(&stripe.refused) {
            *sum = sum.wrapping_add(cell.value());
        }
        Self {
            admitted: self.admitted.wrapping_add(ones).wrapping_add(stripe.others.value()),
            admitted_tokens: self.admitted_tokens.wrapping_add(ones).wrapping_add(stripe.tokens.value()),
            refused,
            refused_tokens: self.refused_tokens.wrapping_add(stripe.refused_tokens.value()),
        }
    }
}

impl Cell {
    fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// For the one thread that writes it.
    #[inline(always)]
    fn add_alone(&self, more: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
    }

    /// For many.
    #[cold]
    fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Barrier;
    use std::{ptr, thread};

    use super::*;

    /// More threads than stripes, and threads that come after others have gone: nothing is lost, and sums do
    /// not fall.
    #[test]
    fn what_all_threads_count_adds_up() {
        const THREADS: u64 = 6;
        const EACH: u64 = 20_000;
        let stripes = Stripes::of(3);
        for round in 1..=2 {
            let start = Barrier::new(THREADS as usize + 1);
            thread::scope(|scope| {
                for _ in 0..THREADS {
                    scope.spawn(|| {
                        start.wait();
                        for _ in 0..EACH {
                            stripes.mine().admitted_one();
                            stripes.mine().admitted(3);
                            stripes.mine().refused(5, Reason::NoRoom);
                        }
                    });
                }
                start.wait();
                let mut before = Totals::default();
                for _ in 0..1000 {
                    let seen = stripes.totals();
                    assert!(seen.admitted >= before.admitted && seen.refused_tokens >= before.refused_tokens);
                    before = seen;
                }
            });
            let (calls, totals) = (round * THREADS * EACH, stripes.totals());
            assert_eq!((totals.admitted, totals.admitted_tokens), (2 * calls, 4 * calls));
            assert_eq!((totals.refused, totals.refused_tokens), ([0, 0, calls, 0, 0, 0, 0], 5 * calls));
        }
    }

    /// What is added by a load and a store is nobody else's.
    #[test]
    fn no_two_threads_have_one_stripe() {
        const THREADS: usize = 6;
        let (stripes, together) = (Stripes::of(4096), Barrier::new(THREADS));
        let own = || {
            let own = stripes.mine().own.map(|stripe| ptr::from_ref(stripe).addr());
            // All of them live at once.
            together.wait();
            own.unwrap()
        };
        let found: BTreeSet<usize> = thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(own)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(found.len(), THREADS);
    }

    /// The costs of refused calls can be any numbers.
    #[test]
    fn a_sum_goes_on_past_the_largest_number() {
        for stripes in [Stripes::of(0), Stripes::of(4096)] {
            stripes.mine().refused(u64::MAX, Reason::Never);
            stripes.mine().refused(3, Reason::Never);
            assert_eq!(stripes.totals().refused_tokens, 2);
        }
    }
}
