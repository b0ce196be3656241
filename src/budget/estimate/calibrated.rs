//! Estimates corrected by what they turned out to be.

use core::borrow::Borrow;
use core::fmt;
use core::hash::Hash;

use super::ring::Ring;
use super::{PerKey, Percentile};
use crate::budget::ratio::Ratio;

/// How many ratios are remembered for each key.
const WINDOW: usize = 32;
/// With fewer, one outlier would be most of what is known.
const LEAST: u64 = 5;

const MILLION: u128 = 1_000_000;
/// Ratios are kept between 1/64 and 64, in millionths, so that no sample makes an estimate absurd.
const LOWEST: u128 = MILLION / 64;
const HIGHEST: u128 = MILLION * 64;

/// Learns, for each key, by how much estimates are off, and corrects the next ones.
///
/// A key is whatever errs alike: a client, a model, an endpoint, or a tuple of them. For each, the last 32 ratios of actual
/// to estimated are remembered, and their median is the correction; another [percentile](Self::percentile) errs on the safe
/// side as often as wanted. A key of which fewer than five are known is corrected by what was seen of all keys together,
/// and before there are five of those, not at all.
///
/// ```
/// use tollgate::budget::Calibrated;
///
/// let calibrated = Calibrated::<(String, String)>::new(1_000);
/// let key = ("client".to_string(), "model".to_string());
/// assert_eq!(calibrated.estimate(&key, 1_000), 1_000);
/// for _ in 0..10 {
///     calibrated.observe(&key, 1_000, 1_250);
/// }
/// calibrated.observe(&key, 1_000, 900_000); // an outlier changes nothing
/// assert_eq!(calibrated.estimate(&key, 2_000), 2_500);
/// ```
///
/// # Robustness
///
/// As long as less than half of a key's remembered ratios are outliers, however far off, the median lies between the
/// smallest and the largest honest one. Each ratio is kept between 1/64 and 64. Ratios are millionths, rounded up, and so is
/// the corrected estimate.
///
/// # Cost
///
/// Some 300 bytes a key and at most `max_keys` keys, see [`PerKey`]; keys beyond share one window. An estimate sorts 32
/// numbers on the stack; an observation is two atomic operations in the key's window and two in that of all keys. Beside
/// the lookup of the key neither takes a lock.
///
/// # Memory ordering
///
/// Each remembered ratio is an atomic of its own, and an estimate is made of ratios that were observed; what other threads
/// are observing at the moment is in it or not. Nothing is published through it.
pub struct Calibrated<K> {
    keys: PerKey<K, Ratios>,
    all: Ratios,
    percentile: Percentile,
}

impl<K: Hash + Eq> Calibrated<K> {
    /// Room for so many keys.
    pub fn new(max_keys: usize) -> Self {
        Self { keys: PerKey::new(max_keys), all: Ratios::default(), percentile: Percentile::MEDIAN }
    }

    /// Corrects by another percentile of the ratios than the median: by [`P90`](Percentile::P90), nine of ten estimates are
    /// not too low.
    pub fn percentile(self, percentile: Percentile) -> Self {
        Self { percentile, ..self }
    }

    /// The estimate times the key's ratio, rounded up; what has none yet is returned as it is. At most `u64::MAX`, and not
    /// zero unless `estimated` is.
    pub fn estimate<Q>(&self, key: &Q, estimated: u64) -> u64
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.ratio(key).map_or(estimated, |ratio| ratio.of(estimated))
    }

    /// By what a key's estimates are multiplied: its own ratio, or that of all keys together, or nothing.
    pub fn ratio<Q>(&self, key: &Q) -> Option<Ratio>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let own = self.keys.find(key);
        let known = own.as_ref().unwrap_or(self.keys.common());
        known.at(self.percentile).or_else(|| self.all.at(self.percentile))
    }

    /// Learns what an estimate, before its correction, turned out to be. An estimate of zero has no ratio and is left out.
    pub fn observe<Q>(&self, key: &Q, estimated: u64, actual: u64)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        if let Some(ratio) = ratio_of(estimated, actual) {
            self.keys.of(key).0.replace(ratio);
            self.all.0.replace(ratio);
        }
    }

    /// Forgets what was learned of a key, and makes room for another. Tells whether it was known.
    pub fn forget<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.keys.forget(key)
    }

    /// How many keys have a window of their own.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether no key has a window of its own yet.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

impl<K: Hash + Eq> fmt::Debug for Calibrated<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Calibrated")
            .field("keys", &self.keys)
            .field("all", &self.all.at(self.percentile))
            .field("percentile", &self.percentile)
            .finish()
    }
}

/// The last ratios, in millionths.
struct Ratios(Ring);

impl Default for Ratios {
    fn default() -> Self {
        Self(Ring::new(WINDOW))
    }
}

impl Ratios {
    fn at(&self, percentile: Percentile) -> Option<Ratio> {
        let mut sorted = [u32::MAX; WINDOW];
        let count =
            sorted.iter_mut().zip(self.0.values()).map(|(place, ratio)| *place = ratio).count() as u64;
        if count < LEAST {
            return None;
        }
        // What is not filled is above all ratios.
        sorted.sort_unstable();
        let place = percentile.rank(count).saturating_sub(1);
        sorted.get(place as usize).copied().map(Ratio::of_millionths)
    }
}

/// Actual by estimated in millionths, rounded up, within bounds.
fn ratio_of(estimated: u64, actual: u64) -> Option<u32> {
    if estimated == 0 {
        return None;
    }
    let millionths = (u128::from(actual) * MILLION).div_ceil(estimated.into());
    u32::try_from(millionths.clamp(LOWEST, HIGHEST)).ok()
}
