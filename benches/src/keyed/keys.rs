//! Streams of keys, drawn before anything is measured and the same on every run.

use super::Keyed;
use crate::rounds::Lap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// How many keys the uniform and the Zipf streams know.
pub const KEYS: u64 = 100_000;

/// A stream of keys without end: it starts again when it is used up.
pub struct Stream<K> {
    known: Vec<K>,
    keys: Vec<K>,
    next: AtomicUsize,
}

/// How keys follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Always the same.
    Hot,
    /// Each of [`KEYS`] as often as any other.
    Uniform,
    /// The n-th of [`KEYS`] an n-th as often as the first.
    Zipf,
}

impl Pattern {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Hot, Self::Uniform, Self::Zipf];

    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hot => "hot key",
            Self::Uniform => "uniform 100 k",
            Self::Zipf => "Zipf 100 k",
        }
    }

    /// The stream as numbers.
    pub fn stream(self) -> Stream<u64> {
        self.stream_of(1 << 18, key)
    }

    /// The stream as text, such as addresses are.
    pub fn stream_of_text(self) -> Stream<String> {
        self.stream_of(1 << 16, text)
    }

    fn stream_of<K>(self, length: usize, key: impl Fn(u64) -> K) -> Stream<K> {
        let (mut random, known) = (Random(1), if self == Self::Hot { 1 } else { KEYS });
        let known = (0..known).rev().map(&key).collect();
        let keys = match self {
            // One page, so that reading the stream costs nothing.
            Self::Hot => (0..512).map(|_| key(0)).collect(),
            Self::Uniform => (0..length).map(|_| key(random.next() % KEYS)).collect(),
            Self::Zipf => {
                let harmonic = harmonic(KEYS);
                (0..length).map(|_| key(rank(&harmonic, random.fraction()))).collect()
            }
        };
        Stream { known, keys, next: AtomicUsize::new(0) }
    }
}

impl<K> Stream<K> {
    /// Calls once with each key there is, the most frequent last: brings back to the caches what other rows pushed out.
    pub fn warm(&self, keyed: &(impl Keyed<K> + ?Sized)) {
        keyed.answer(&self.known);
    }

    /// The next `calls` keys of the stream, each called with once. Threads get stretches of their own.
    pub fn lap(&self, calls: u64, keyed: &(impl Keyed<K> + ?Sized)) -> Lap {
        let mut at = self.next.fetch_add(calls as usize, Relaxed);
        Lap::of(calls, || {
            let (mut left, mut admitted) = (calls as usize, 0);
            while left > 0 {
                let from = at % self.keys.len();
                let stretch = &self.keys[from..self.keys.len().min(from + left)];
                admitted += keyed.answer(stretch);
                (at, left) = (at + stretch.len(), left - stretch.len());
            }
            admitted
        })
    }
}

/// The key of a rank: numbers in no order, without repetition (the finaliser of SplitMix64 is a bijection).
pub fn key(rank: u64) -> u64 {
    mix(rank.wrapping_add(0x9E37_79B9_7F4A_7C15))
}

/// The key of a rank as an address.
pub fn text(rank: u64) -> String {
    let [.., a, b, c] = rank.to_be_bytes();
    format!("198.{}.{a}{b}.{c}", 18 + a % 2)
}

fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// From 0 up to, not including, 1.
    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// The sums 1, 1 + 1/2, 1 + 1/2 + 1/3 and so on.
fn harmonic(terms: u64) -> Vec<f64> {
    let mut sum = 0.0;
    (1..=terms).map(|term| (sum += 1.0 / term as f64, sum).1).collect()
}

/// The rank that owns this part of the whole.
fn rank(harmonic: &[f64], fraction: f64) -> u64 {
    let whole = harmonic.last().copied().unwrap_or(0.0);
    harmonic.partition_point(|&sum| sum <= fraction * whole) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn counts(pattern: Pattern) -> HashMap<u64, usize> {
        let mut counts = HashMap::new();
        pattern.stream().keys.iter().for_each(|&key| *counts.entry(key).or_default() += 1);
        counts
    }

    #[test]
    fn the_hot_stream_knows_one_key() {
        assert_eq!(counts(Pattern::Hot).len(), 1);
    }

    #[test]
    fn uniform_keys_come_equally_often() {
        let counts = counts(Pattern::Uniform);
        assert!(counts.len() > 90_000 && counts.values().all(|&count| count < 20), "{}", counts.len());
    }

    #[test]
    fn zipf_keys_come_by_their_rank() {
        let (counts, length) = (counts(Pattern::Zipf), f64::from(1 << 18));
        for rank in [0, 1, 9] {
            let share = counts[&key(rank)] as f64 / length;
            let expected = 1.0 / (rank + 1) as f64 / harmonic(KEYS)[KEYS as usize - 1];
            assert!((share / expected - 1.0).abs() < 0.1, "rank {rank}: {share} for {expected}");
        }
    }

    #[test]
    fn texts_do_not_repeat() {
        let texts: std::collections::HashSet<String> = (0..KEYS).map(text).collect();
        assert_eq!(texts.len() as u64, KEYS);
    }

    #[test]
    fn a_lap_goes_on_where_the_last_one_ended_and_starts_again() {
        let stream = Stream { known: vec![], keys: vec![1, 2, 3], next: AtomicUsize::new(0) };
        let seen = std::sync::Mutex::new(Vec::new());
        let notes = |key: &i32| (seen.lock().unwrap().push(*key), *key != 2).1;
        let laps = [2, 5].map(|calls| stream.lap(calls, &notes));
        assert_eq!(*seen.lock().unwrap(), [1, 2, 3, 1, 2, 3, 1]);
        assert_eq!(laps.map(|lap| (lap.offered, lap.admitted)), [(2, 1), (5, 4)]);
    }
}
