//! How far a piece of work is.

/// A part of the whole that has been done, from 0 to 1, as a fraction of two numbers.
///
/// A fraction above 1, or of zero, counts as 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Progress {
    done: u64,
    of: u64,
}

impl Progress {
    /// `done` of `of`.
    pub const fn of(done: u64, of: u64) -> Self {
        if of == 0 || done > of { Self { done: 1, of: 1 } } else { Self { done, of } }
    }

    /// So many of a hundred.
    pub const fn percent(percent: u32) -> Self {
        Self::of(percent as u64, 100)
    }

    /// What the whole may be expected to use, given what was used so far: rounded up, with so many per cent of it in reserve.
    /// Nothing can be said at the very beginning, nor where the figures are too large to be worked out.
    pub(super) fn whole(self, used: u64, margin_percent: u32) -> Option<u64> {
        if self.done == 0 {
            return None;
        }
        let whole = (u128::from(used) * u128::from(self.of)).div_ceil(self.done.into());
        let with_margin = whole.saturating_mul(margin_percent.into()).div_ceil(100);
        Some(u64::try_from(with_margin).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_expected_to_be_like_the_part() {
        assert_eq!(Progress::percent(80).whole(5_000, 130), Some(8_125));
        assert_eq!(Progress::of(1, 3).whole(1, 100), Some(3));
        assert_eq!(Progress::of(2, 3).whole(1, 100), Some(2), "rounded up");
        assert_eq!(Progress::percent(0).whole(5, 130), None);
        assert_eq!(Progress::of(7, 0).whole(5, 100), Some(5));
        assert_eq!(Progress::of(u64::MAX - 1, u64::MAX).whole(1 << 62, 130), Some(5_995_191_823_955_604_277));
        assert_eq!(Progress::of(1, u64::MAX).whole(u64::MAX, u32::MAX), Some(u64::MAX));
    }
}
