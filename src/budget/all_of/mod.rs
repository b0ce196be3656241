//! Several limits at once: all of them admit, or none is touched.
//!
//! # How
//!
//! All limits are looked at first, and charged only when all would admit. When a charge then fails, because another call was
//! faster, the earlier ones are undone in reverse. Nobody waits while holding anything, so no order of limits can deadlock.
//! A refusal leaves every limit as it was, or stricter by what the prompt rule withholds (`GUARANTEES` sections 6 and 7):
//! nothing, unless other refunds or refill of a full bucket came between charge and undo. While one joint call is undecided
//! another may be refused that would have passed alone; none passes that should not.

mod by_size;
mod chain;
mod limit;
mod list;
mod refused;
#[cfg(feature = "sharded")]
mod shards;
#[cfg(feature = "window")]
mod windows;

pub use self::by_size::BySize;
use self::chain::{Together, take_all};
pub use self::limit::{CallTime, Grant, Limit, Reading};
pub use self::list::{AnyGrant, AnyLimit, Demand, acquire_all};
#[cfg(feature = "allowances")]
pub(in crate::budget) use self::list::{Ask, take_each};
use self::refused::Worst;
pub use self::refused::{Reason, Refused};
#[cfg(feature = "window")]
pub use self::windows::Counted;

/// Several limits that admit together or not at all: a tuple of two to six, of any kinds.
///
/// ```
/// use tollgate::budget::{AllOf, Budget};
/// use tollgate::{Bucket, quota};
///
/// let requests = Bucket::new(quota!("300/min"));
/// let tokens = Budget::new(quota!("300k/min"));
/// let limits = AllOf::new(["requests", "tokens"], (&requests, &tokens));
///
/// let (_request, call) = limits.try_acquire([1, 5_000])?;
/// // ... the call is made, and used 1200 ...
/// call.settle(1_200)?;
///
/// let refused = limits.try_acquire([1, 400_000]).unwrap_err();
/// assert_eq!(refused.name(), "tokens");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// What is given out for each limit is what that limit gives: a [`Charge`](crate::Charge) that stays when it is dropped, a
/// [`Reservation`](super::Reservation) to settle, a permit. So settlement is per limit.
///
/// # Cost
///
/// An admission and a look at each limit, and one reading of the clock for all that have the default one. No allocation. A refusal by the look writes nothing.
#[derive(Clone, Copy, Debug)]
pub struct AllOf<'n, T, const N: usize> {
    names: [&'n str; N],
    limits: T,
}

/// `a, b, c` as `(a, (b, (c, ())))`.
macro_rules! chain {
    ($first:tt $(, $rest:tt)*) => { ($first, chain!($($rest),*)) };
    () => { () };
}

impl<'n, T: Together<N>, const N: usize> AllOf<'n, T, N> {
    /// The limits, as a tuple of references, each with a name for refusals.
    pub fn new(names: [&'n str; N], limits: T) -> Self {
        Self { names, limits }
    }

    /// Takes the cost of each limit now, or nothing of any.
    ///
    /// # Errors
    ///
    /// [`Refused`] names the limit that refused, and tells the largest wait of all that refuse.
    pub fn try_acquire(&self, costs: [u64; N]) -> Result<T::Held, Refused<'n>> {
        let name = |place| self.names.get(place).copied().unwrap_or_default();
        self.limits.take_all(costs).map_err(|worst| worst.named(name))
    }
}

macro_rules! all_of {
    ($count:literal: $($limit:ident $place:tt),+) => {
        impl<'a, $($limit: Limit),+> Together<$count> for ($(&'a $limit,)+) {
            type Held = ($($limit::Held<'a>,)+);

            fn take_all(self, costs: [u64; $count]) -> Result<Self::Held, Worst> {
                let (limits, costs) = (chain!($((self.$place)),+), chain!($((costs[$place])),+));
                #[allow(non_snake_case, reason = "each is named for its limit")]
                let chain!($($limit),+) = take_all(limits, costs)?;
                Ok(($($limit,)+))
            }
        }
    };
}

all_of!(2: A 0, B 1);
all_of!(3: A 0, B 1, C 2);
all_of!(4: A 0, B 1, C 2, D 3);
all_of!(5: A 0, B 1, C 2, D 3, E 4);
all_of!(6: A 0, B 1, C 2, D 3, E 4, F 5);
