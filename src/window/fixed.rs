//! Fixed windows: a count that begins anew with each window.
//!
//! The word is the number of the window above what was used in it, so that it rises with both: within a window by what
//! is taken, and from window to window. A reading of an earlier window than the word's finds no window to be counted in
//! any more.

#[cfg(feature = "std")]
use core::time::Duration;

use crossbeam_utils::CachePadded;

use crate::clock::{Clock, Monotonic};
use crate::nanos::Nanos;
use crate::window::algorithm::sealed::Rule;
use crate::window::{Every, Schedule, Usage, WindowError, Windowed};
use crate::word::{Raised, Word};

/// At most so much in each window of a schedule; every window begins at nothing.
///
/// That is what many published rules say, and all they say: the law holds in each window and in no other interval. The
/// last of one window and the first of the next can be admitted within a nanosecond, **twice the limit**; over any time
/// `t` it is at most `limit * (ceil(t / length) + 1)`. Where the limit is there to protect something, take a
/// [`Bucket`](crate::Bucket).
///
/// ```
/// use std::time::Duration;
/// use tollgate::Manual;
/// use tollgate::window::{Every, Fixed};
///
/// let minute = Duration::from_secs(60);
/// let clock = Manual::new();
/// let limit = Fixed::with_clock(100, Every::new(minute)?, &clock)?;
/// clock.advance(minute - Duration::from_nanos(1));
/// limit.try_acquire_n(100).unwrap();
/// assert_eq!(limit.try_acquire().unwrap_err().wait(), Some(Duration::from_nanos(1)));
/// // The flaw of all fixed windows: 200 within a nanosecond.
/// clock.advance(Duration::from_nanos(1));
/// limit.try_acquire_n(100).unwrap();
/// # Ok::<(), tollgate::window::WindowError>(())
/// ```
///
/// # Range
///
/// The word holds the number of the window and what is used in it, at least up to twice the limit. So the limit may be up to
/// 2^28 - 1 tokens for windows of a second, 2^34 - 1 for minutes, 2^45 - 1 for days: about a quarter of a token each
/// nanosecond at the worst. Windows are numbered for 584 years.
///
/// # Old readings
///
/// A reading from an earlier window than the latest that something was taken in is refused until that one begins. A charge
/// with one counts in the later window. So a late thread can take no window twice and open none again.
///
/// # Charges and refunds
///
/// A charge beyond the limit closes the window, and the next begins at nothing all the same, as published rules do: an
/// overrun is forgotten. From twice the limit on it may not be counted; then nothing comes back into that window. A refund
/// counts in the window that it was taken in, and is nothing once that one is over.
///
/// # Cost
///
/// As a bucket's admission, and a division to number the window.
#[derive(Debug)]
pub struct FixedWindow<S> {
    schedule: S,
    /// The number of its last window.
    last: u64,
    limit: u64,
    /// Bits of the word that count, below the number of the window: 1 to 63.
    bits: u32,
    word: CachePadded<Word>,
}

/// A limit by fixed windows, [`FixedWindow`]; see [`Windowed`] for what it can do.
#[doc(alias = "FixedWindowRateLimiter")]
pub type Fixed<S = Every, C = Monotonic> = Windowed<FixedWindow<S>, C>;

#[cfg(feature = "std")]
impl Windowed<FixedWindow<Every>> {
    /// At most `limit` tokens in each window of `length`, on the [`Monotonic`] clock. Windows begin anywhere; where the
    /// rule says when, take [`with_clock`](Self::with_clock) with a [`Wall`](crate::window::Wall).
    ///
    /// # Errors
    ///
    /// [`WindowError`], for a limit or a length out of range.
    pub fn new(limit: u64, length: Duration) -> Result<Self, WindowError> {
        Self::with_clock(limit, Every::new(length)?, Monotonic::new())
    }
}

impl<S: Schedule, C: Clock> Windowed<FixedWindow<S>, C> {
    /// At most `limit` tokens in each window of the schedule, by a clock of the caller's.
    ///
    /// # Errors
    ///
    /// [`WindowError`], for a limit out of range.
    pub fn with_clock(limit: u64, schedule: S, clock: C) -> Result<Self, WindowError> {
        Ok(Self::of(FixedWindow::new(limit, schedule)?, clock))
    }

    /// Its windows.
    pub fn schedule(&self) -> &S {
        &self.algorithm().schedule
    }
}

impl<S: Schedule> FixedWindow<S> {
    fn new(limit: u64, schedule: S) -> Result<Self, WindowError> {
        if limit == 0 {
            return Err(WindowError::ZeroLimit);
        }
        let last = schedule.last();
        let bits = last.leading_zeros().min(63);
        let most = (1 << bits >> 1_u64).max(1) - 1;
        if limit > most {
            return Err(WindowError::LimitTooLarge { limit, most });
        }
        Ok(Self { schedule, last, limit, bits, word: CachePadded::new(Word::new(0)) })
    }

    #[inline]
    fn window(&self, now: u64) -> u64 {
        self.schedule.window_at(Nanos::new(now)).min(self.last)
    }

    /// The first reading of a window.
    fn begin_of(&self, window: u64) -> u64 {
        if window > self.last { u64::MAX } else { self.schedule.begin_of(window).as_u64() }
    }

    /// What a word says.
    #[inline]
    fn read(&self, word: u64) -> Count {
        Count { window: word >> self.bits, used: word & self.mask() }
    }

    #[inline]
    fn write(&self, count: Count) -> u64 {
        count.window << self.bits | count.used
    }

    #[inline]
    fn mask(&self) -> u64 {
        (1 << self.bits) - 1
    }

    /// The most that can be counted. More counts as this, and then how much it was is not known. It is less than what
    /// fits, so that no word is the one that is not in force.
    #[inline]
    fn most(&self) -> u64 {
        self.mask() - 1
    }

    /// The count that a reading of `window` finds: an earlier one is over, a later one is kept to.
    #[inline]
    fn found(&self, word: u64, window: u64) -> Count {
        let count = self.read(word);
        if count.window < window { Count { window, used: 0 } } else { count }
    }

    /// The next word, if the reading's window is in force and has room for the cost.
    #[inline]
    fn admitted(&self, word: u64, window: u64, cost: u64) -> Option<u64> {
        let found = self.found(word, window);
        let used = found.used + cost;
        (found.window == window && used <= self.limit).then(|| self.write(Count { window, used }))
    }

    /// What there is to take, at most `most`, for a reading of the window in force.
    fn part(&self, word: u64, window: u64, most: u64) -> u64 {
        self.limit.saturating_sub(self.found(word, window).used).min(most)
    }

    /// When the cost would be admitted by the word that was seen.
    fn ready_by(&self, word: u64, cost: u64, from: u64) -> u64 {
        let found = self.found(word, self.window(from));
        let fits = found.used + cost <= self.limit;
        self.begin_of(if fits { found.window } else { found.window + 1 }).max(from)
    }
}

impl<S: Schedule> Rule for FixedWindow<S> {
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
        let window = self.window(now);
        let raised = self.word.raise(|word| self.admitted(word, window, cost));
        raised.map(drop).map_err(|seen| self.ready_by(seen, cost, now))
    }

    fn take(&self, most: u64, now: u64) -> u64 {
        if now < self.word.hold() {
            return 0;
        }
        let window = self.window(now);
        let raised = self.word.raise(|word| match self.part(word, window, most) {
            0 => None,
            part => self.admitted(word, window, part),
        });
        raised.map_or(0, |Raised { seen, .. }| self.part(seen, window, most))
    }

    fn charge(&self, cost: u64, now: u64) {
        let window = self.window(now);
        self.word.raise_always(|word| {
            let found = self.found(word, window);
            self.write(Count { used: found.used.saturating_add(cost).min(self.most()), ..found })
        });
    }

    fn refund(&self, cost: u64, taken_at: u64) {
        let window = self.window(taken_at);
        self.word.lower(|word| {
            let Count { window: counted, used } = self.read(word);
            if counted == window && used < self.most() { word - cost.min(used) } else { word }
        });
    }

    #[cold]
    fn ready(&self, cost: u64, now: u64) -> u64 {
        self.ready_by(self.word.arrival(), cost, now.max(self.word.hold()))
    }

    fn usage(&self, now: u64) -> Usage {
        let found = self.found(self.word.arrival(), self.window(now));
        let resets_at = self.begin_of(found.window + 1).max(now);
        Usage { limit: self.limit, used: found.used, now, resets_at, hold: self.word.hold() }
    }

    fn pause(&self, until: u64) {
        self.word.pause(until);
    }

    fn resume(&self) {
        self.word.resume();
    }
}

/// What was used in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Count {
    window: u64,
    used: u64,
}
