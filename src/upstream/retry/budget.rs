//! What all retries of a client draw on.

use core::fmt;
use std::sync::Arc;

use crate::sync::{AtomicU64, Ordering};

/// A bucket of tokens that retries draw on and successes refill. Clones share it.
///
/// What bounds the retries of one call does not bound those of all: where everything fails, three attempts a call are three
/// times the load, on an upstream that has trouble already. With a budget of capacity `B`, a retry that costs `c` and a
/// success that brings `s`, `n` successes allow at most `(B + n * s) / c` retries: with the defaults of 500, 5 and 1, a
/// hundred, and one more for every five successes. It is full at first, never above its capacity, and has no clock: while
/// nothing succeeds, time mends nothing.
///
/// Everything that retries the same upstream shares one, layers above each other as well; see
/// [`RetryPolicy`](super::RetryPolicy).
///
/// ```
/// use tollgate::upstream::RetryBudget;
///
/// let budget = RetryBudget::default();
/// let retries = std::iter::repeat_with(|| budget.try_withdraw()).take_while(|allowed| *allowed).count();
/// assert_eq!((retries, budget.available()), (100, 0));
///
/// for _ in 0..5 {
///     budget.deposit();
/// }
/// assert!(budget.try_withdraw() && !budget.try_withdraw());
/// ```
///
/// # Beside others
///
/// The figures are those of the AWS SDKs' standard retry mode. There a retry that succeeds brings its cost back; here it
/// brings what any success does, or else an upstream whose every second answer is an error would have all of them retried
/// for ever. gRPC (gRFC A6) takes one token for a failure, gives `tokenRatio` for a success and stops retrying at half of
/// the tokens. Finagle's `RetryBudget`, and tower's after it, take a share of the requests, not of the successes, and let
/// deposits expire.
///
/// # Cost
///
/// A load, and a compare-exchange if it changes: a success while the budget is full writes nothing.
///
/// # Memory ordering
///
/// One atomic, relaxed: nothing is published through it, and its modification order is the order of the retries.
#[derive(Clone)]
pub struct RetryBudget {
    tokens: Arc<AtomicU64>,
    capacity: u64,
    cost: u64,
    refill: u64,
}

/// A budget that cannot be built; it names the figure, and the range it must lie in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RetryBudgetError {
    /// A retry costs nothing, or more than there can be.
    Cost {
        /// What it was to cost, in tokens.
        cost: u64,
        /// The most it can cost, in tokens.
        capacity: u64,
    },
    /// A success brings nothing, so that retries would stop for good, or more than a retry costs, so that more could be
    /// retried than succeeds.
    Refill {
        /// What it was to bring, in tokens.
        refill: u64,
        /// The most it can bring, in tokens.
        cost: u64,
    },
}

impl RetryBudget {
    /// A full budget of `capacity` tokens, of which a retry takes `cost` and to which a success adds `refill`.
    ///
    /// # Errors
    ///
    /// [`RetryBudgetError`] unless `1 <= refill <= cost <= capacity`.
    ///
    /// ```
    /// use tollgate::upstream::RetryBudget;
    ///
    /// // As many as ten retries at first, and one for each ten successes.
    /// let budget = RetryBudget::new(100, 10, 1)?;
    /// assert!(budget.try_withdraw());
    /// assert_eq!(budget.available(), 90);
    ///
    /// let error = RetryBudget::new(500, 501, 1).unwrap_err();
    /// assert_eq!(error.to_string(), "a retry costs 501 tokens: it must be from 1 to 500, the capacity");
    /// # Ok::<(), tollgate::upstream::RetryBudgetError>(())
    /// ```
    pub fn new(capacity: u64, cost: u64, refill: u64) -> Result<Self, RetryBudgetError> {
        if cost == 0 || cost > capacity {
            return Err(RetryBudgetError::Cost { cost, capacity });
        }
        if refill == 0 || refill > cost {
            return Err(RetryBudgetError::Refill { refill, cost });
        }
        Ok(Self::full(capacity, cost, refill))
    }

    fn full(capacity: u64, cost: u64, refill: u64) -> Self {
        Self { tokens: Arc::new(AtomicU64::new(capacity)), capacity, cost, refill }
    }

    /// Takes what a retry costs, or refuses and takes nothing: whether it was there.
    #[must_use = "without it no retry may be made"]
    pub fn try_withdraw(&self) -> bool {
        self.change(|tokens| tokens.checked_sub(self.cost))
    }

    /// Adds what a success brings, up to the capacity.
    pub fn deposit(&self) {
        self.change(|tokens| {
            let more = tokens.saturating_add(self.refill).min(self.capacity);
            (more > tokens).then_some(more)
        });
    }

    /// Tokens now.
    pub fn available(&self) -> u64 {
        self.tokens.load(Ordering::Relaxed)
    }

    /// The most tokens it holds.
    pub const fn capacity(&self) -> u64 {
        self.capacity
    }

    /// What a retry costs, in tokens.
    pub const fn cost(&self) -> u64 {
        self.cost
    }

    /// The one loop. Whether anything changed.
    fn change(&self, next: impl Fn(u64) -> Option<u64>) -> bool {
        let mut seen = self.available();
        while let Some(tokens) = next(seen) {
            match self.tokens.compare_exchange_weak(seen, tokens, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(changed) => seen = changed,
            }
        }
        false
    }
}

/// 500 tokens, 5 a retry, 1 a success.
impl Default for RetryBudget {
    fn default() -> Self {
        Self::full(500, 5, 1)
    }
}

impl fmt::Debug for RetryBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryBudget")
            .field("available", &self.available())
            .field("capacity", &self.capacity)
            .field("cost", &self.cost)
            .field("refill", &self.refill)
            .finish()
    }
}

impl fmt::Display for RetryBudgetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cost { cost, capacity } => {
                write!(f, "a retry costs {cost} tokens: it must be from 1 to {capacity}, the capacity")
            }
            Self::Refill { refill, cost } => {
                write!(f, "a success brings {refill} tokens: it must be from 1 to {cost}, what a retry costs")
            }
        }
    }
}

impl std::error::Error for RetryBudgetError {}
