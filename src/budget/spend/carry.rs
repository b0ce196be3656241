//! Exact amounts charged to a limit in whole micro-units, without drift.

use super::{MILLIONTHS, Spend};
use crate::sync::{AtomicU64, Ordering};

/// Turns exact amounts into whole micro-units to be charged, and keeps what rounding up has charged too much for the next.
///
/// At any time what has been charged is what was spent, rounded up once: the charges of a million small requests add up to
/// their sum and not to a million roundings. Threads share it; each charge is one compare-exchange.
///
/// ```
/// use tollgate::budget::{Carry, Price, Usage};
///
/// let (carry, price) = (Carry::new(), Price::new(400_000, 400_000)?);
/// let spend = price.spend(&Usage::new(1, 0))?; // 0.4 of a micro-unit
/// let charged: Vec<_> = (0..5).map(|_| carry.charge(spend)).collect();
/// assert_eq!(charged, [1, 0, 1, 0, 0]); // 2 in all
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Memory ordering
///
/// One atomic, relaxed: nothing is published through it.
#[derive(Debug)]
pub struct Carry {
    /// Millionths of a micro-unit that have been charged and not been spent, less than a million.
    paid: AtomicU64,
}

impl Carry {
    /// Nothing charged yet.
    pub fn new() -> Self {
        Self { paid: AtomicU64::new(0) }
    }

    /// Whole micro-units to charge for the amount now; `u64::MAX` where there are more.
    #[must_use = "what is not charged is not limited"]
    pub fn charge(&self, spend: Spend) -> u64 {
        let mut paid = self.paid.load(Ordering::Relaxed);
        loop {
            let due = Spend { millionths: spend.millionths.saturating_sub(u128::from(paid)) };
            let left = rest_after(paid, spend);
            match self.paid.compare_exchange_weak(paid, left, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return due.micros(),
                Err(seen) => paid = seen,
            }
        }
    }
}

impl Default for Carry {
    fn default() -> Self {
        Self::new()
    }
}

/// What is left of the paid millionths and the whole micro-units that are charged beside them.
fn rest_after(paid: u64, spend: Spend) -> u64 {
    // Both are less than a million.
    let part = (spend.millionths % MILLIONTHS) as u64;
    if part <= paid { paid - part } else { paid + MILLIONTHS as u64 - part }
}
