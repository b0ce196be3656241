//! What a node is given: its share of the parent, and what it may hold and use at most.

use std::fmt;

use crate::quota::Quota;

/// Shares of the whole are counted in so many parts: three levels of parts per million, or nine of percent, are exact.
pub(super) const WHOLE: u64 = 1_000_000_000_000_000_000;

/// A guaranteed part of what the parent is given.
///
/// ```
/// use tollgate::budget::tree::Share;
///
/// assert_eq!(Share::percent(50).to_string(), "50/100");
/// assert_eq!(Share::of(1, 3).to_string(), "1/3");
/// ```
///
/// It must be above zero and at most the whole, which is checked when a tree is built or changed. On the way down a tree
/// shares are multiplied and rounded down to 10^-18 of the whole tree's rate; what becomes zero by that is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Share {
    pub(super) part: u32,
    pub(super) whole: u32,
}

/// A [`Share`] and what else a node is given. Made from a share.
///
/// ```
/// use tollgate::budget::tree::Share;
/// use tollgate::quota;
///
/// let grant = Share::percent(20).burst(50).ceiling(quota!("400/s burst 100"));
/// assert_eq!(grant.share(), Share::percent(20));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "it is given to a node by the builder of a tree"]
pub struct Grant {
    pub(super) share: Share,
    pub(super) burst: Option<u64>,
    pub(super) ceiling: Option<Quota>,
}

impl Share {
    /// So many hundredths.
    pub const fn percent(percent: u32) -> Self {
        Self::of(percent, 100)
    }

    /// So many parts per million.
    pub const fn ppm(parts: u32) -> Self {
        Self::of(parts, 1_000_000)
    }

    /// So many parts of `whole` parts.
    pub const fn of(part: u32, whole: u32) -> Self {
        Self { part, whole }
    }

    /// The share, with at most `tokens` held for the node; see [`Grant::burst`].
    pub const fn burst(self, tokens: u64) -> Grant {
        Grant { share: self, burst: Some(tokens), ceiling: None }
    }

    /// The share, with a limit to what the node uses; see [`Grant::ceiling`].
    pub const fn ceiling(self, quota: Quota) -> Grant {
        Grant { share: self, burst: None, ceiling: Some(quota) }
    }

    /// Its parts of [`WHOLE`], rounded down; at least one. `None` unless it is above zero and at most the whole.
    pub(super) fn parts(self) -> Option<u64> {
        let Self { part, whole } = self;
        let within = part > 0 && part <= whole;
        within.then(|| scaled(WHOLE, u128::from(part), u128::from(whole)))
    }
}

impl Grant {
    /// At most so many tokens are held for the node while it is idle: what it gets at one moment without borrowing, when
    /// it returns. By default its share of what is held for the parent.
    ///
    /// What is not held for anyone is in the pool, where it can be borrowed for a single large cost. So the less the nodes
    /// hold, the more each of them can use at one moment while the others are idle.
    pub const fn burst(self, tokens: u64) -> Self {
        Self { burst: Some(tokens), ..self }
    }

    /// The node and all below it use no more than the quota, own and borrowed.
    pub const fn ceiling(self, quota: Quota) -> Self {
        Self { ceiling: Some(quota), ..self }
    }

    /// The share that it was made from.
    pub const fn share(&self) -> Share {
        self.share
    }
}

impl From<Share> for Grant {
    fn from(share: Share) -> Self {
        Self { share, burst: None, ceiling: None }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.part, self.whole)
    }
}

/// `amount * part / whole`, rounded down, for a part of the whole, which is not zero.
pub(super) fn scaled(amount: u64, part: u128, whole: u128) -> u64 {
    u64::try_from(u128::from(amount) * part / whole).unwrap_or(amount)
}
