//! A word of the table: an arrival point and the tag of a key, in 64 bits.
//!
//! ```text
//!  63                                         21 20 19              0
//! +---------------------------------------------+--+-----------------+
//! |  arrival point, modulo 2^43 units           | c| tag, 0 for free |
//! +---------------------------------------------+--+-----------------+
//! ```
//!
//! `c` marks a *claim*: a word whose key is not yet known to have no other (see [`set`](super::set)). The high bits of a
//! claim and of a free word are a serial: a claim's is larger by one than what it replaces, and an arrival point is no
//! less than the claim that it confirms. So values do not come back, and a compare-exchange cannot mistake a later claim
//! for an earlier one (unless a thread stalls through a million claims of the place that all fail, or half a turn).
//!
//! The arrival point is in the high bits so that the distance of two words with one tag is one subtraction, its sign
//! included: between the word's arrival from memory and the compare-exchange, every step counts.

use std::hint::select_unpredictable;

use crate::gcra::Cost;

/// The capacity is less than so many units.
pub(super) const SPAN_BITS: u32 = 40;

const TAG_BITS: u32 = 20;
const TAG: u64 = (1 << TAG_BITS) - 1;
const CLAIM: u64 = 1 << TAG_BITS;
/// One unit.
const UNIT_SHIFT: u32 = TAG_BITS + 1;

/// Claims of one place, each of which fails, that are still told apart.
const CLAIMS: u64 = 1 << 20;

/// An arrival point is told from one that has passed as long as it is less than so many units away, ahead or behind.
pub(super) const HALF_TURN: u64 = 1 << (63 - UNIT_SHIFT);

/// A key's tag: from 1 to 2^20 - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag(u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packed(pub(super) u64);

impl Tag {
    /// From the low bits of a hash. Tag 1 comes up twice as often as any other.
    #[inline]
    pub(super) fn of(hash: u64) -> Self {
        Self((hash & TAG).max(1))
    }

    /// The place of the set at which the search for the key begins.
    #[inline]
    pub(super) fn home(self) -> usize {
        self.0 as usize
    }
}

impl Packed {
    /// A full bucket when so many units have been issued.
    #[inline]
    pub(super) fn full(tag: Tag, issued: u64) -> Self {
        Self(issued << UNIT_SHIFT | tag.0)
    }

    /// Whether it holds the limit of keys with this tag, and is not just a claim.
    #[inline]
    pub(super) fn is_of(self, tag: Tag) -> bool {
        self.0 & (CLAIM | TAG) == tag.0
    }

    pub(super) fn is_claim_of(self, tag: Tag) -> bool {
        self.0 & (CLAIM | TAG) == CLAIM | tag.0
    }

    pub(super) fn is_free(self) -> bool {
        self.0 & TAG == 0
    }

    pub(super) fn is_claim(self) -> bool {
        self.0 & CLAIM != 0
    }

    /// The next word when `cost` is admitted, if it is there; `full` is that of the call's reading.
    #[inline(always)]
    pub(super) fn admit(self, full: Self, cost: Cost) -> Option<Self> {
        let deficit = self.0.wrapping_sub(full.0) as i64;
        if deficit > (cost.spare << UNIT_SHIFT) as i64 {
            return None;
        }
        // The later of the two. A branch here would often be mispredicted, and would expose the fetch of the word.
        let later = select_unpredictable(deficit > 0, self.0, full.0);
        Some(Self(later.wrapping_add(cost.units << UNIT_SHIFT)))
    }

    /// How far the arrival point is ahead of what has been issued: the deficit of its bucket.
    #[inline]
    pub(super) fn deficit(self, issued: u64) -> u64 {
        let ahead = self.serial().wrapping_sub(issued << UNIT_SHIFT) as i64 >> UNIT_SHIFT;
        ahead.max(0) as u64
    }

    /// Moved on to the claim that it confirms, should many that failed have left that ahead.
    pub(super) fn no_earlier_than(self, claim: Self) -> Self {
        let behind = claim.serial().wrapping_sub(self.serial());
        if behind < CLAIMS << UNIT_SHIFT { Self(self.0.wrapping_add(behind)) } else { self }
    }

    fn serial(self) -> u64 {
        self.0 & !(CLAIM | TAG)
    }

    /// The claim that replaces it.
    pub(super) fn claimed(self, tag: Tag) -> Self {
        Self(self.serial().wrapping_add(1 << UNIT_SHIFT) | CLAIM | tag.0)
    }

    /// The free word that replaces it.
    pub(super) fn freed(self) -> Self {
        Self(self.serial())
    }
}
