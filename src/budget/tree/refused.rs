//! The answer "no", with the limit that gave it.

use std::fmt;
use std::time::Duration;

use crate::decision::Denied;

/// Why a node was not admitted. Nothing was taken from anyone.
///
/// It borrows the name from the tree. Where that is in the way, as with `?` in a function whose error outlives the tree, the
/// [`Denied`] in it can go alone: `map_err(Denied::from)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a refusal means that the work may not start"]
#[non_exhaustive]
pub struct Refused<'a> {
    /// The node whose limit it is; `/` is the root.
    pub node: &'a str,
    /// The first limit that refused, on the way from the node that asked up to the root.
    pub limit: Limit,
    /// Why, with the longest of the waits of all that refused.
    pub denied: Denied,
}

/// Which of a node's limits refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Limit {
    /// Its ceiling: all that the node may use.
    Ceiling,
    /// The pool of its children: what is there is held for others, and not enough is left to be borrowed.
    Pool,
    /// The whole of it: so much is not there, whoever asks.
    Total,
}

impl Refused<'_> {
    /// How long until the same cost would be admitted if nobody else asks, rounded up to the nanosecond; `None` if it never
    /// will be.
    pub fn wait(&self) -> Option<Duration> {
        self.denied.wait()
    }

    /// The wait in whole seconds, rounded up and never zero, for a `Retry-After` field; `None` if it never will be admitted.
    pub fn retry_after(&self) -> Option<Duration> {
        self.denied.retry_after()
    }
}

impl From<Refused<'_>> for Denied {
    fn from(refused: Refused<'_>) -> Self {
        refused.denied
    }
}

impl fmt::Display for Refused<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refused by the {} of `{}`: {}", self.limit, self.node, self.denied)
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ceiling => "ceiling",
            Self::Pool => "pool",
            Self::Total => "total",
        })
    }
}

impl std::error::Error for Refused<'_> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.denied)
    }
}
