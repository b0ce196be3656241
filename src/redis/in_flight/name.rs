//! Names of permits: nobody else's, anywhere.

use std::fmt::Write as _;
use std::hash::{BuildHasher, RandomState};
use std::process;
use std::sync::LazyLock;

use crate::sync::{AtomicU64, Ordering};

/// 128 bits that no other process has: keys that the standard library takes from the system.
static PROCESS: LazyLock<(u64, u64)> =
    LazyLock::new(|| (RandomState::new().hash_one(0_u8), RandomState::new().hash_one(1_u8)));

/// What the script knows a permit by: `NAME:WEIGHT`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Name {
    text: String,
    pub(super) weight: u32,
}

impl Name {
    /// Of a new permit. A forked process, which has its parent's random bits, has a number of its own.
    pub(super) fn new(weight: u32) -> Self {
        let (high, low) = *PROCESS;
        let mut text = String::with_capacity(64);
        let _ = write!(text, "{high:016x}{low:016x}-{:x}-{:x}:{weight}", process::id(), next());
        Self { text, weight }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }
}

/// Counts the names of this process. Nothing else goes by the number, so relaxed is enough.
fn next() -> u64 {
    static COUNT: LazyLock<AtomicU64> = LazyLock::new(|| AtomicU64::new(0));
    COUNT.fetch_add(1, Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_are_the_same_and_each_tells_its_weight() {
        let (first, second) = (Name::new(7), Name::new(7));
        assert_ne!(first, second);
        assert!(first.as_str().ends_with(":7") && first.as_str().len() >= 32);
    }
}
