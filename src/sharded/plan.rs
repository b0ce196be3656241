//! How a capacity is divided between the root and the shards.

use core::fmt;

use crate::quota::{Fill, Quota};

/// The number of shards of an allowance, and how much credit each may hold.
///
/// With a capacity of `B` tokens, `N` shards and a ceiling of `C` tokens, the root keeps `B - N*C`: what is at the root
/// and in all the shards together is never more than `B`, so the whole allowance obeys the bound of one bucket.
///
/// ```
/// use tollgate::{quota, sharded::Plan};
///
/// let plan = Plan::new(&quota!("1M/s"), 8, 10_000)?;
/// assert_eq!(plan.root_capacity(), 920_000);
/// # Ok::<(), tollgate::sharded::PlanError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    quota: Quota,
    shards: u32,
    ceiling: u64,
}

/// Shards that would take the whole capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanError {
    /// The capacity to divide, in tokens.
    pub capacity: u64,
    /// Number of shards asked for.
    pub shards: u32,
    /// Ceiling asked for, in tokens.
    pub ceiling: u64,
}

impl Plan {
    /// One part of the capacity in this many may be in shards by default.
    const DEFAULT_PART: u64 = 8;

    /// `shards` shards that hold up to `ceiling` tokens each. Zero of either makes a plain bucket.
    ///
    /// # Errors
    ///
    /// `shards * ceiling` is not below the capacity.
    pub fn new(quota: &Quota, shards: u32, ceiling: u64) -> Result<Self, PlanError> {
        let capacity = quota.capacity();
        if ceiling.saturating_mul(u64::from(shards)) >= capacity {
            return Err(PlanError { capacity, shards, ceiling });
        }
        if shards == 0 || ceiling == 0 {
            return Ok(Self { quota: *quota, shards: 0, ceiling: 0 });
        }
        Ok(Self { quota: *quota, shards, ceiling })
    }

    /// The default for `threads` threads: as many shards, and an eighth of the capacity for all of them; a plain bucket
    /// where that leaves no shard a token.
    pub fn for_threads(quota: &Quota, threads: u32) -> Self {
        let ceiling = quota.capacity() / Self::DEFAULT_PART / u64::from(threads.max(1));
        let shards = if ceiling == 0 { 0 } else { threads };
        Self { quota: *quota, shards, ceiling }
    }

    /// The quota that is divided.
    pub fn quota(&self) -> Quota {
        self.quota
    }

    /// Number of shards, `N`; 0 for a plain bucket.
    pub fn shards(&self) -> u32 {
        self.shards
    }

    /// The most credit that one shard holds, `C`, in tokens.
    pub fn ceiling(&self) -> u64 {
        self.ceiling
    }

    /// What the root holds when it is full, `B - N*C`: what a fresh allowance admits at once, and the largest cost that
    /// is ever admitted.
    pub fn root_capacity(&self) -> u64 {
        self.quota.capacity() - self.ceiling * u64::from(self.shards)
    }

    /// The quota of the root: the whole rate, and what the shards leave of the capacity.
    pub(crate) fn root_quota(&self) -> Quota {
        let (quota, capacity) = (self.quota, self.root_capacity());
        let fill = match quota.initial() {
            Fill::Tokens(tokens) => Fill::Tokens(tokens.min(capacity)),
            other => other,
        };
        quota.resized(capacity, fill)
    }

    /// Another quota, divided in the same proportion: as many shards, unless that leaves them no token.
    #[cfg(feature = "adjust")]
    pub(super) fn scaled_to(&self, quota: &Quota) -> Self {
        let ceiling = u128::from(self.ceiling) * u128::from(quota.capacity());
        // No more than the whole capacity, so it fits.
        let ceiling = u64::try_from(ceiling / u128::from(self.quota.capacity())).unwrap_or(0);
        let shards = if ceiling == 0 { 0 } else { self.shards };
        Self { quota: *quota, shards, ceiling }
    }

    /// Whether there are no shards, and every call is answered by one bucket.
    pub fn is_plain(&self) -> bool {
        self.shards == 0
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { capacity, shards, ceiling } = self;
        write!(
            f,
            "{shards} shards of {ceiling} tokens: together they must hold less than the capacity of {capacity}"
        )
    }
}

impl core::error::Error for PlanError {}
