//! Retry hints that differ.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use crate::nanos::Nanos;
use crate::sync::{AtomicU64, Ordering};

/// At most a fifth of the hint.
const ONE_PART_IN: u64 = 5;

/// At most 30 s.
const MOST_NANOS: u64 = 30_000_000_000;

/// Spreads hints of when to retry, so that many who were refused at once do not come back at once.
///
/// It only ever adds: up to a fifth, and up to 30 s, evenly. So a hint is never too early and hardly late. It is for hints
/// alone; a wait that a limiter enforces itself is exact and needs none.
///
/// Its generator is SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014), which
/// is a counter and a mixing function, so it can be shared. It is not for secrets.
///
/// ```
/// use std::time::Duration;
/// use tollgate::wait::Jitter;
///
/// let jitter = Jitter::new();
/// let retry_after = jitter.spread(Duration::from_secs(600));
/// assert!((600..=630).contains(&retry_after.as_secs()));
/// assert!(jitter.spread(Duration::from_secs(10)) <= Duration::from_secs(12));
/// ```
pub struct Jitter {
    counter: AtomicU64,
}

impl Jitter {
    /// A generator with a random seed.
    pub fn new() -> Self {
        Self::with_seed(RandomState::new().hash_one(0u8))
    }

    /// A generator whose numbers are those of the seed, for tests.
    pub fn with_seed(seed: u64) -> Self {
        Self { counter: AtomicU64::new(seed) }
    }

    /// The hint, later by up to a fifth and up to 30 s.
    pub fn spread(&self, hint: Duration) -> Duration {
        Self::spread_by(hint, self.random())
    }

    /// Any span from none to `most`, evenly: a back-off of one's own with full jitter, where there is no hint.
    pub fn up_to(&self, most: Duration) -> Duration {
        share(Nanos::from(most).as_u64(), self.random())
    }

    /// The same by a random number of the caller's: 0 adds nothing, [`u64::MAX`] the most.
    pub fn spread_by(hint: Duration, random: u64) -> Duration {
        let most = (Nanos::from(hint).as_u64() / ONE_PART_IN).min(MOST_NANOS);
        hint.saturating_add(share(most, random))
    }

    fn random(&self) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        mixed(self.counter.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP))
    }
}

impl Default for Jitter {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Jitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jitter").finish_non_exhaustive()
    }
}

/// What a random number picks of 0 to `most` nanoseconds: 0 the least, [`u64::MAX`] the most.
fn share(most: u64, random: u64) -> Duration {
    let picked = (u128::from(random) * (u128::from(most) + 1)) >> u64::BITS;
    // At most `most`, so it fits.
    Duration::from_nanos(picked as u64)
}

/// The output function of SplitMix64.
fn mixed(counter: u64) -> u64 {
    let z = (counter ^ (counter >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs of the reference implementation for the seed 1234567.
    #[test]
    fn it_is_splitmix64() {
        let step = 0x9e37_79b9_7f4a_7c15u64;
        let outputs = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        for (n, expected) in (1..).zip(outputs) {
            assert_eq!(mixed(1_234_567u64.wrapping_add(step.wrapping_mul(n))), expected);
        }
    }
}
