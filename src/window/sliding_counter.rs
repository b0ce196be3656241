//! The sliding counter: two windows, the previous one weighted by what remains of it.
//!
//! The word is the number of the window, above what was used in the one before, above what was used in it. It rises with
//! each admission, as that of a fixed window does. What was used in the window before may be kept in larger units, rounded
//! up; everything else is exact: a comparison of two products, and no division but that which numbers the window.

#[cfg(feature = "std")]
use core::time::Duration;

use crossbeam_utils::CachePadded;

use crate::clock::{Clock, Monotonic};
use crate::window::algorithm::sealed::Rule;
use crate::window::{Every, Usage, WindowError, Windowed};
use crate::word::{Raised, Word};

/// The least number of bits for what was used in the window before, if it is not to be exact.
const LEAST_PREVIOUS_BITS: u32 = 10;

/// At most so much in this window and the remaining part of the one before: the estimate of a sliding window that two counts
/// allow.
///
/// With `e` of a window of length `L` passed, a cost is admitted if
///
/// ```text
/// previous * (L - e) / L + current + cost <= limit
/// ```
///
/// exactly, without rounding. It takes what was used in the window before as spread evenly over it.
///
/// ```
/// use std::time::Duration;
/// use tollgate::Manual;
/// use tollgate::window::{Every, SlidingCounter};
///
/// let minute = Every::new(Duration::from_secs(60))?;
/// let clock = Manual::new();
/// let limit = SlidingCounter::with_clock(100, minute, &clock)?;
/// limit.try_acquire_n(50).unwrap();
/// clock.advance(Duration::from_secs(84)); // 40 % of the next window
/// limit.try_acquire_n(60).unwrap();
/// // 50 * 0.6 + 60 is 90 of 100.
/// assert!(limit.try_acquire_n(11).is_err());
/// assert!(limit.try_acquire_n(10).is_ok());
/// # Ok::<(), tollgate::window::WindowError>(())
/// ```
///
/// # The bound
///
/// In every interval of length `t`, at most `limit * (1 + t / L)`: that of a [`Bucket`](crate::Bucket) with the limit as
/// its capacity and `limit / L` as its rate. So in an interval as long as a window it may be close to twice the limit, if
/// the window before was used at its very end; but unlike with fixed windows not at once. And it refuses what an exact log
/// would admit, if the window before was used at its beginning. Against the exact count of the last `L`, the estimate is
/// low by at most `previous * e / L` and high by at most `previous * (L - e) / L`.
///
/// # Range
///
/// The word holds the number of the window and both counts. For windows of a second the limit may be up to 2^18 - 1 tokens,
/// for minutes 2^24 - 1, for days 2^35 - 1. Up to 2^13 - 1, 2^16 - 1 and 2^22 - 1 everything is exact; above that the count
/// of the window before is rounded up to a multiple of [`granularity`](Windowed::granularity), which is at most a
/// 256th of the limit.
///
/// # Old readings
///
/// A reading from an earlier window than the latest that something was taken in is refused until that one begins. A charge
/// with one counts in the later window. So a late thread can take no window twice and open none again.
///
/// # Charges and refunds
///
/// A charge beyond the limit closes the window, weighs in the next one as what it is, and is forgotten after that. From
/// about twice the limit on it may not be counted; then nothing comes back into that window. A refund counts in the window that
/// it was taken in, and goes on doing so while that is the one before (rounded down to the granularity).
///
/// # Cost
///
/// As a bucket's admission, and a division to number the window and two products. A refusal divides 128 bits once or twice
/// more, for its wait.
#[derive(Debug)]
pub struct WeightedWindows {
    every: Every,
    limit: u64,
    layout: Layout,
    word: CachePadded<Word>,
}

/// A sliding counter, [`WeightedWindows`]; see [`Windowed`] for what it can do.
#[doc(alias = "SlidingWindowCounter")]
pub type SlidingCounter<C = Monotonic> = Windowed<WeightedWindows, C>;

#[cfg(feature = "std")]
impl Windowed<WeightedWindows> {
    /// At most `limit` tokens in windows of `length`, on the [`Monotonic`] clock. Windows begin anywhere.
    ///
    /// # Errors
    ///
    /// [`WindowError`], for a limit or a length out of range.
    pub fn new(limit: u64, length: Duration) -> Result<Self, WindowError> {
        Self::with_clock(limit, Every::new(length)?, Monotonic::new())
    }
}

impl<C: Clock> Windowed<WeightedWindows, C> {
    /// At most `limit` tokens in windows of one length, by a clock of the caller's.
    ///
    /// # Errors
    ///
    /// [`WindowError`], for a limit out of range.
    pub fn with_clock(limit: u64, windows: Every, clock: C) -> Result<Self, WindowError> {
        Ok(Self::of(WeightedWindows::new(limit, windows)?, clock))
    }

    /// Its windows.
    pub fn schedule(&self) -> &Every {
        &self.algorithm().every
    }

    /// What was used in the window before counts in multiples of so many tokens, rounded up; 1 where all is exact.
    pub fn granularity(&self) -> u64 {
        1 << self.algorithm().layout.coarse
    }
}

impl WeightedWindows {
    fn new(limit: u64, every: Every) -> Result<Self, WindowError> {
        if limit == 0 {
            return Err(WindowError::ZeroLimit);
        }
        let layout = Layout::new(limit, u64::MAX / every.length_nanos())?;
        Ok(Self { every, limit, layout, word: CachePadded::new(Word::new(0)) })
    }

    /// What a word amounts to in the window of a reading; a later one is kept to.
    #[inline]
    fn found(&self, word: u64, window: u64) -> Counts {
        let counts = self.layout.read(word);
        match window.saturating_sub(counts.window) {
            0 => counts,
            1 => self.layout.next(counts),
            _ => Counts { window, previous: 0, current: 0 },
        }
    }

    /// The next word, if the reading's window is in force and has room for the cost.
    #[inline]
    fn admitted(&self, word: u64, (window, elapsed): (u64, u64), cost: u64) -> Option<u64> {
        let found = self.found(word, window);
        let current = found.current + cost;
        let room = self.limit.checked_sub(current)?;
        let fits = self.weight(found, elapsed) <= u128::from(room) * u128::from(self.every.length_nanos());
        (found.window == window && fits).then(|| self.layout.write(Counts { current, ..found }))
    }

    /// What the window before weighs, in tokens times the length of a window.
    #[inline]
    fn weight(&self, counts: Counts, elapsed: u64) -> u128 {
        let remaining = self.every.length_nanos().saturating_sub(elapsed);
        u128::from(self.layout.tokens(counts.previous)) * u128::from(remaining)
    }

    /// What counts against the limit, rounded up.
    fn used(&self, counts: Counts, elapsed: u64) -> u64 {
        let weighted = self.weight(counts, elapsed).div_ceil(u128::from(self.every.length_nanos()));
        // A part of a count of less than 64 bits.
        counts.current.saturating_add(weighted as u64)
    }

    /// What there is to take, at most `most`, for a reading of the window in force.
    fn part(&self, word: u64, (window, elapsed): (u64, u64), most: u64) -> u64 {
        self.limit.saturating_sub(self.used(self.found(word, window), elapsed)).min(most)
    }

    /// When the cost would be admitted by the word that was seen: in the window that is found, in the next one, or at the end
    /// of that, for the one after it has nothing before it.
    fn ready_by(&self, word: u64, cost: u64, from: u64) -> u64 {
        let length = self.every.length_nanos();
        let (window, elapsed) = self.every.place(from);
        let found = self.found(word, window);
        let elapsed = if found.window == window { elapsed } else { 0 };
        let in_this = self.fits_from(found, cost).map(|fits| fits.max(elapsed)).filter(|fits| *fits < length);
        let (window, elapsed) = in_this.map_or_else(
            || {
                let next = self.layout.next(found);
                (next.window, self.fits_from(next, cost).unwrap_or(length))
            },
            |fits| (found.window, fits),
        );
        self.every.reading(window, elapsed).max(from)
    }

    /// How much of a window must have passed before the cost fits into it: the least `e` for which
    /// `previous * (L - e) <= room * L`.
    fn fits_from(&self, counts: Counts, cost: u64) -> Option<u64> {
        let length = self.every.length_nanos();
        let room = self.limit.checked_sub(counts.current + cost)?;
        let previous = u128::from(self.layout.tokens(counts.previous));
        let may_remain = (u128::from(room) * u128::from(length)).checked_div(previous);
        Some(may_remain.map_or(0, |remaining| u128::from(length).saturating_sub(remaining) as u64))
    }
}

impl Rule for WeightedWindows {
    #[inline]
    fn limit(&self) -> u64 {
        self.limit
    }

    #[inline]
    fn admit(&self, cost: u64, now: u64) -> Result<(), u64> {
        let hold = self.word.hold();
        if now < hold {
            return Err(self.ready(cost, now));
        }
        let place = self.every.place(now);
        let raised = self.word.raise(|word| self.admitted(word, place, cost));
        raised.map(drop).map_err(|seen| self.ready_by(seen, cost, now))
    }

    fn take(&self, most: u64, now: u64) -> u64 {
        if now < self.word.hold() {
            return 0;
        }
        let place = self.every.place(now);
        let raised = self.word.raise(|word| match self.part(word, place, most) {
            0 => None,
            part => self.admitted(word, place, part),
        });
        raised.map_or(0, |Raised { seen, .. }| self.part(seen, place, most))
    }

    fn charge(&self, cost: u64, now: u64) {
        let (window, _) = self.every.place(now);
        self.word.raise_always(|word| {
            let found = self.found(word, window);
            let current = found.current.saturating_add(cost).min(self.layout.most());
            self.layout.write(Counts { current, ..found })
        });
    }

    fn refund(&self, cost: u64, taken_at: u64) {
        let (window, _) = self.every.place(taken_at);
        self.word.lower(|word| self.layout.write(self.layout.refunded(self.layout.read(word), window, cost)));
    }

    #[cold]
    fn ready(&self, cost: u64, now: u64) -> u64 {
        self.ready_by(self.word.arrival(), cost, now.max(self.word.hold()))
    }

    fn usage(&self, now: u64) -> Usage {
        let (window, elapsed) = self.every.place(now);
        let found = self.found(self.word.arrival(), window);
        let elapsed = if found.window == window { elapsed } else { 0 };
        let windows = if found.current > 0 { 2 } else { 1 };
        let anything = found.current > 0 || found.previous > 0;
        let resets_at =
            if anything { self.every.reading(found.window.saturating_add(windows), 0).max(now) } else { now };
        let used = self.used(found, elapsed);
        Usage { limit: self.limit, used, now, resets_at, hold: self.word.hold() }
    }

    fn pause(&self, until: u64) {
        self.word.pause(until);
    }

    fn resume(&self) {
        self.word.resume();
    }
}

/// A window, what was used in the one before in coarse units, and what was used in it in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts {
    window: u64,
    previous: u64,
    current: u64,
}

/// Which bits of the word are what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    previous_bits: u32,
    current_bits: u32,
    /// A coarse unit is two to this power tokens.
    coarse: u32,
}

impl Layout {
    /// For windows that are numbered up to `last`: half of the other bits for each count, but at least a bit more for the
    /// current one than the limit takes, if that leaves not too few for the previous one.
    fn new(limit: u64, last: u64) -> Result<Self, WindowError> {
        let bits = last.leading_zeros();
        let current_bits = (65 - limit.leading_zeros()).max(bits / 2);
        let most_bits = (bits / 2).max(bits.saturating_sub(LEAST_PREVIOUS_BITS));
        if current_bits > most_bits {
            let most = (1 << most_bits >> 1_u32).max(1) - 1;
            return Err(WindowError::LimitTooLarge { limit, most });
        }
        let previous_bits = current_bits.min(bits - current_bits);
        Ok(Self { previous_bits, current_bits, coarse: current_bits - previous_bits })
    }

    #[inline]
    fn read(self, word: u64) -> Counts {
        let counts = word >> self.current_bits;
        Counts {
            window: counts >> self.previous_bits,
            previous: counts & ((1 << self.previous_bits) - 1),
            current: word & ((1 << self.current_bits) - 1),
        }
    }

    #[inline]
    fn write(self, Counts { window, previous, current }: Counts) -> u64 {
        (window << self.previous_bits | previous) << self.current_bits | current
    }

    /// The most that can be counted: what fits both counts, less one so that no word is the one that is not in force.
    #[inline]
    fn most(self) -> u64 {
        (((1 << self.previous_bits) - 1) << self.coarse) - 1
    }

    /// The next window, as the counts will be if nothing more is taken.
    #[inline]
    fn next(self, counts: Counts) -> Counts {
        Counts { window: counts.window.saturating_add(1), previous: self.units(counts.current), current: 0 }
    }

    /// Coarse units, rounded up.
    #[inline]
    fn units(self, tokens: u64) -> u64 {
        tokens.div_ceil(1 << self.coarse)
    }

    #[inline]
    fn tokens(self, units: u64) -> u64 {
        units << self.coarse
    }

    /// After a refund of what was taken in `window`. What has reached the most that can be counted stays.
    fn refunded(self, counts: Counts, window: u64, cost: u64) -> Counts {
        let Counts { previous, current, .. } = counts;
        if window == counts.window && current < self.most() {
            Counts { current: current - cost.min(current), ..counts }
        } else if window.checked_add(1) == Some(counts.window) && previous < self.units(self.most()) {
            Counts { previous: previous - (cost >> self.coarse).min(previous), ..counts }
        } else {
            counts
        }
    }
}
