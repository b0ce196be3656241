//! What responses tell without saying it: how long a window is, and what a call was charged.
//!
//! A bucket that is full again in `reset`, while `limit - remaining` are missing, gets as much as `limit` in `reset * limit /
//! (limit - remaining)`. How exact that is follows from how the figures are rounded, so it is kept as a range, which later figures
//! narrow.
//!
//! Of two responses with nothing of this client's between them the second has less left by what its call was charged, refill
//! taken into account. That too is a range.

use core::time::Duration;

use crate::gcra::Gcra;

const NANOS: u64 = 1_000_000_000;
/// Lengths that are usual, in seconds.
const USUAL: [u64; 6] = [1, 10, 60, 3_600, 86_400, 7 * 86_400];
/// No window is longer than 31 days.
const LONGEST: u128 = 31 * 86_400 * NANOS as u128;

/// The length of a window, as it follows from an upstream's figures.
///
/// It is the usual length (1, 10 or 60 seconds, an hour, a day, a week) that agrees with all figures, or else the longest that does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LearnedWindow {
    length: Duration,
    shortest: Duration,
    longest: Duration,
}

/// What a call was charged, as it follows from two responses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Charged {
    /// At least so many tokens.
    pub least: u64,
    /// At most so many, and what others drew meanwhile is in it.
    pub most: u64,
}

/// What has been learned of one limit.
#[derive(Clone, Debug, Default)]
pub(super) struct Learned {
    /// From and to how many nanoseconds a window may be long.
    window: Option<(u128, u128)>,
    /// How many figures agree with it.
    agree: u32,
    last: Option<Told>,
    pub(super) charge: Option<Charged>,
}

/// What a response told of what is missing, in units of a bucket or in tokens of windows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    pub(super) number: u64,
    pub(super) sent_at: u64,
    pub(super) heard_at: u64,
    pub(super) least: u64,
    pub(super) most: u64,
    /// Whether any other call was on its way beside it.
    pub(super) is_alone: bool,
    /// The reading at which its window ends.
    pub(super) end: u64,
}

/// Figures that tell a window's length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figures {
    pub(super) limit: u64,
    pub(super) remaining: u64,
    pub(super) granularity: u64,
    pub(super) reset: Duration,
    pub(super) resolution: Duration,
}

impl LearnedWindow {
    /// The length.
    pub const fn length(&self) -> Duration {
        self.length
    }

    /// The shortest and the longest that the figures leave open.
    pub const fn range(&self) -> (Duration, Duration) {
        (self.shortest, self.longest)
    }
}

impl Learned {
    /// Narrows the range of the window's length. Figures that leave more than a quarter open are left out: those of a limit
    /// of which fewer than five tokens, or five times the granularity's half, are missing. Figures that do not agree with those
    /// before begin anew.
    pub(super) fn hear(&mut self, figures: Figures) {
        let Some((shortest, longest)) = figures.range() else { return };
        if longest * 4 > shortest * 5 || shortest > LONGEST {
            return;
        }
        let known = self.window.unwrap_or((shortest, longest));
        let both = (known.0.max(shortest), known.1.min(longest));
        (self.window, self.agree) = if both.0 <= both.1 {
            (Some(both), self.agree.saturating_add(1))
        } else {
            (Some((shortest, longest)), 1)
        };
    }

    /// The window's length, once two responses agree on it.
    pub(super) fn window(&self) -> Option<LearnedWindow> {
        let (shortest, longest) = self.window.filter(|_| self.agree >= 2)?;
        let usual = USUAL.iter().map(|seconds| u128::from(*seconds) * u128::from(NANOS));
        let length = usual.rev().find(|length| (shortest..=longest).contains(length)).unwrap_or(longest);
        let span = |nanos: u128| Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        Some(LearnedWindow { length: span(length), shortest: span(shortest), longest: span(longest) })
    }

    /// Compares with the response to the call before, if nothing was between; `gcra` refills, unless it is a window's.
    pub(super) fn compare(&mut self, told: Told, gcra: Option<&Gcra>) {
        let Some(last) = self.last.replace(told) else { return };
        let next_to_it = told.number == last.number + 1 && last.heard_at <= told.sent_at;
        if !next_to_it || !told.is_alone || last.end <= told.sent_at {
            return;
        }
        let issued =
            |from: u64, to: u64| gcra.map_or(0, |gcra| gcra.issued(to).saturating_sub(gcra.issued(from)));
        let (little, much) = (issued(last.heard_at, told.sent_at), issued(last.sent_at, told.heard_at));
        let least = told.least.saturating_sub(last.most.saturating_sub(little));
        let most = told.most.saturating_sub(last.least.saturating_sub(much));
        let unit = gcra.map_or(1, |gcra| gcra.one.units);
        let (least, most) = (least.div_ceil(unit), most / unit);
        self.charge = (least <= most).then_some(Charged { least, most });
    }
}

impl Figures {
    /// From and to how many nanoseconds the window may be long.
    fn range(&self) -> Option<(u128, u128)> {
        let missing = self.limit.checked_sub(self.remaining)?;
        let half = self.granularity / 2;
        let (fewest, most) =
            (missing.checked_sub(half.max(1)).filter(|fewest| *fewest > 0)?, missing.saturating_add(half));
        let limit = u128::from(self.limit);
        let span = |span: Duration| span.as_nanos().checked_mul(limit);
        let shortest = span(self.reset.saturating_sub(self.resolution))? / u128::from(most);
        let longest = span(self.reset.saturating_add(self.resolution))?.div_ceil(u128::from(fewest));
        Some((shortest, longest)).filter(|(shortest, _)| *shortest > 0)
    }
}
