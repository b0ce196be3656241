//! How a capacity is divided between the store and the leases.

use core::fmt;

use crate::quota::{Fill, Quota};
use crate::sharded::Plan;

/// How many instances share a limit, and how much each may hold.
///
/// With a capacity of `B` tokens, at most `n` instances and leases of at most `L` tokens, the key in the
/// store has a capacity of `B - n*L`: what is in the store and in all leases together is never more than `B`.
/// All instances of a limit need the same plan.
///
/// ```
/// use tollgate::{quota, redis::LeasePlan};
///
/// let plan = LeasePlan::new(&quota!("1000/s burst 2000"), 4)?;
/// assert_eq!((plan.ceiling(), plan.root_capacity()), (62, 1752));
/// let plan = LeasePlan::with_ceiling(&quota!("1000/s burst 2000"), 4, 100)?;
/// assert_eq!(plan.root_capacity(), 1600);
/// # Ok::<(), tollgate::redis::LeasePlanError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeasePlan {
    quota: Quota,
    instances: Option<u32>,
    ceiling: u64,
    threads: u32,
}

/// Leases of nothing, or leases that would take the whole capacity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeasePlanError {
    /// The capacity to divide, in tokens.
    pub capacity: u64,
    /// The most instances there are, if it was stated.
    pub instances: Option<u32>,
    /// The most that one lease holds, in tokens.
    pub ceiling: u64,
}

impl LeasePlan {
    /// One part of the capacity in this many is for leases by default.
    const DEFAULT_PART: u64 = 8;

    /// Leases for at most `instances` instances alive at one time: an eighth of the capacity for all of them,
    /// and at least one token for each. In every interval of length `t` all of them together admit at most
    /// `B + r*t`.
    ///
    /// An instance is one [`Leased`](super::Leased) with its clones. Those that start before others have
    /// ended count beside them. Each one above the stated number may admit a lease more than the bound.
    ///
    /// # Errors
    ///
    /// No instances, or as many as the capacity has tokens, or more: a lease would be zero, or the store
    /// would have nothing.
    pub fn new(quota: &Quota, instances: u32) -> Result<Self, LeasePlanError> {
        let part = quota.capacity() / Self::DEFAULT_PART / u64::from(instances.max(1));
        Self::with_ceiling(quota, instances, part.max(1))
    }

    /// Leases of at most `ceiling` tokens for at most `instances` instances.
    ///
    /// # Errors
    ///
    /// No instances, leases of nothing, or `instances * ceiling` not below the capacity.
    pub fn with_ceiling(quota: &Quota, instances: u32, ceiling: u64) -> Result<Self, LeasePlanError> {
        Self::checked(quota, Some(instances), ceiling)
    }

    /// Leases of at most `ceiling` tokens for any number of instances. The store has the whole capacity, so
    /// with `k` instances alive all of them together admit at most `B + k*L + r*t` in every interval of
    /// length `t`.
    ///
    /// # Errors
    ///
    /// Leases of nothing, or of more than the capacity.
    pub fn uncounted(quota: &Quota, ceiling: u64) -> Result<Self, LeasePlanError> {
        Self::checked(quota, None, ceiling)
    }

    fn checked(quota: &Quota, instances: Option<u32>, ceiling: u64) -> Result<Self, LeasePlanError> {
        let capacity = quota.capacity();
        let fits = match instances {
            Some(instances) => instances > 0 && ceiling.saturating_mul(instances.into()) < capacity,
            None => ceiling <= capacity,
        };
        if ceiling == 0 || !fits {
            return Err(LeasePlanError { capacity, instances, ceiling });
        }
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        let threads = u32::try_from(cores.saturating_mul(2)).unwrap_or(u32::MAX);
        Ok(Self { quota: *quota, instances, ceiling, threads })
    }

    /// The same for so many threads in each process, with two for each core otherwise. Up to an eighth of a
    /// lease lies in their [shards](crate::sharded); with 0 threads, or where that is no token for each, all
    /// threads spend from one word.
    #[must_use]
    pub fn with_threads(self, threads: u32) -> Self {
        Self { threads, ..self }
    }

    /// The quota of the whole.
    pub fn quota(&self) -> Quota {
        self.quota
    }

    /// The most instances that there are at one time, `n`, if it was stated.
    pub fn instances(&self) -> Option<u32> {
        self.instances
    }

    /// The most that one lease holds, `L`, in tokens.
    pub fn ceiling(&self) -> u64 {
        self.ceiling
    }

    /// The capacity of the key in the store, in tokens: `B - n*L`, or `B` where the number of instances is
    /// not stated. It is the largest cost that is ever admitted.
    pub fn root_capacity(&self) -> u64 {
        let instances = self.instances.unwrap_or(0);
        self.quota.capacity() - self.ceiling * u64::from(instances)
    }

    /// The quota of the key in the store. One that does not begin full stays so, and is refused there.
    pub(super) fn root_quota(&self) -> Quota {
        let full = self.quota.initial_tokens() == self.quota.capacity();
        self.quota.resized(self.root_capacity(), if full { Fill::Full } else { Fill::Empty })
    }

    /// The lease in one process: empty at first, and divided among its threads.
    pub(super) fn in_the_process(&self) -> Plan {
        Plan::for_threads(&self.quota.resized(self.ceiling, Fill::Empty), self.threads)
    }
}

impl fmt::Display for LeasePlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { capacity, instances, ceiling } = self;
        match instances {
            Some(instances) => {
                write!(f, "{instances} leases of {ceiling} tokens: there must be one at least, of a token ")?;
                write!(f, "at least, and together they must hold less than the capacity of {capacity}")
            }
            None => write!(f, "leases of {ceiling} tokens: must be from 1 to the capacity of {capacity}"),
        }
    }
}

impl std::error::Error for LeasePlanError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quota;

    #[test]
    fn no_share_is_ever_rounded_to_nothing() {
        for capacity in 1..200 {
            let quota = quota!("1/s").burst(capacity).unwrap();
            for instances in 0..50 {
                match LeasePlan::new(&quota, instances) {
                    Ok(plan) => {
                        let root = plan.root_capacity();
                        assert!(plan.ceiling() >= 1 && root >= 1);
                        assert_eq!(root + plan.ceiling() * u64::from(instances), capacity);
                        let inside = plan.in_the_process();
                        let shards = inside.ceiling() * u64::from(inside.shards());
                        assert!(inside.root_capacity() >= 1);
                        assert_eq!(inside.root_capacity() + shards, plan.ceiling());
                    }
                    Err(_) => assert!(instances == 0 || u64::from(instances) >= capacity),
                }
            }
        }
    }

    #[test]
    fn errors_name_the_values() {
        let error = |instances, ceiling| {
            LeasePlan::with_ceiling(&quota!("10/s"), instances, ceiling).unwrap_err().to_string()
        };
        for (instances, ceiling) in [(0, 1), (4, 0), (5, 2), (u32::MAX, u64::MAX)] {
            let text = error(instances, ceiling);
            assert!(text.starts_with(&format!("{instances} leases of {ceiling} tokens")), "{text}");
            assert!(text.ends_with("less than the capacity of 10"), "{text}");
        }
        let error = |ceiling| LeasePlan::uncounted(&quota!("10/s"), ceiling).unwrap_err().to_string();
        assert_eq!(error(11), "leases of 11 tokens: must be from 1 to the capacity of 10");
        assert_eq!(error(0), "leases of 0 tokens: must be from 1 to the capacity of 10");
        assert_eq!(LeasePlan::uncounted(&quota!("10/s"), 10).unwrap().root_capacity(), 10);
    }
}
