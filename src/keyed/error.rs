//! Why a keyed limiter cannot be built, or its quota not be changed.

use std::fmt;

use crate::quota::Quota;

/// A keyed limiter that cannot be built, or a quota that cannot be changed; it names the value and the range it must lie
/// in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyedError {
    /// The quota starts with less than a full bucket. A key may be forgotten while its bucket is full, because that is
    /// how it would start again; so it must start full.
    InitialFill {
        /// The quota.
        quota: Quota,
    },
    /// The capacity is 2^40 tokens or more, which a word of a table cannot hold.
    CapacityTooLarge {
        /// The capacity asked for, in tokens.
        capacity: u64,
    },
    /// A table must have from 1 to 2^32 words.
    WordsOutOfRange {
        /// Words asked for.
        words: usize,
    },
    /// The system has no memory for a table of so many words.
    NoMemory {
        /// Words asked for.
        words: usize,
    },
    /// There must be room for at least one key.
    NoKeys,
    /// There can be at most 2^32 - 1 classes beside the first.
    TooManyClasses {
        /// Classes given beside the first.
        classes: usize,
    },
    /// A quota was to be changed of a class that there is not.
    NoSuchClass {
        /// The class asked for.
        class: usize,
        /// The last class there is; they count from 0.
        last: u32,
    },
}

impl KeyedError {
    /// The error for a quota that does not start full.
    pub(super) fn unless_full(quota: &Quota) -> Result<(), Self> {
        if quota.initial_tokens() == quota.capacity() {
            Ok(())
        } else {
            Err(Self::InitialFill { quota: *quota })
        }
    }
}

impl fmt::Display for KeyedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InitialFill { quota } => {
                write!(f, "the quota `{quota}` does not start full, as the quota of a keyed limiter must")
            }
            Self::CapacityTooLarge { capacity } => write!(
                f,
                "a capacity of {capacity} tokens is too large for a table: at most {} (2^40 - 1)",
                (1_u64 << 40) - 1
            ),
            Self::WordsOutOfRange { words } => {
                write!(f, "a table of {words} words: it must have from 1 to {} (2^32)", 1_u64 << 32)
            }
            Self::NoMemory { words } => write!(f, "there is no memory for a table of {words} words"),
            Self::NoKeys => write!(f, "room for 0 keys: it must be at least 1"),
            Self::TooManyClasses { classes } => {
                write!(f, "{classes} classes beside the first: at most {} (2^32 - 1)", u32::MAX)
            }
            Self::NoSuchClass { class, last } => {
                write!(f, "class {class}: there are the classes 0 to {last}")
            }
        }
    }
}

impl std::error::Error for KeyedError {}
