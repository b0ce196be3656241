//! The sliding log: every admission is remembered for as long as it counts.
//!
//! Entries stand in the order of their readings, each with the sum of all costs up to it, so that what counts at a reading,
//! and when enough will have left, are found by halving. Sums wrap; only their differences are used.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use crate::clock::{Clock, Monotonic};
use crate::sync::{Mutex, lock};
use crate::window::algorithm::sealed::Rule;
use crate::window::{Every, Usage, WindowError, Windowed};

/// The largest limit.
const MOST_LIMIT: u64 = (1 << 62) - 1;

/// A log may have so many entries, however small the limit: room for charges beyond it.
const LEAST_ENTRIES: usize = 1024;

/// The most that is counted, with charges.
const MOST_USED: u64 = (1 << 63) - 1;

/// At most so much in **every** interval of a length: exact, for the price of memory and a lock.
///
/// What is admitted at the reading `t` counts until `t + length`. In every interval `[s, s + length)` of readings at most the
/// limit is admitted, and a cost is refused only if it would break that.
///
/// ```
/// use std::time::Duration;
/// use tollgate::Manual;
/// use tollgate::window::SlidingLog;
///
/// let clock = Manual::new();
/// let limit = SlidingLog::with_clock(100, Duration::from_secs(60), &clock)?;
/// limit.try_acquire_n(70).unwrap();
/// clock.advance(Duration::from_secs(50));
/// limit.try_acquire_n(30).unwrap();
/// assert_eq!(limit.try_acquire_n(70).unwrap_err().wait(), Some(Duration::from_secs(10)));
/// assert_eq!(limit.wait_for(71), Ok(Duration::from_secs(60)));
/// # Ok::<(), tollgate::window::WindowError>(())
/// ```
///
/// # Memory
///
/// An entry of 16 bytes for each different reading at which something was admitted within the last `length`: at most as many
/// as the limit has tokens, in practice as many as there are admissions in a window. Charges beyond the limit may bring
/// that to 1024 entries where the limit is less. Memory is taken as it is needed, and kept. For a limit of millions of tokens in small costs that is megabytes, for each limiter; a
/// [`Bucket`](crate::Bucket) takes 384 bytes.
///
/// # Old readings
///
/// A reading that is older than another's finds all that counts at it and all that was entered after it, and is entered at
/// the latest reading. One from which on something has left the log already is refused until the latest that has left did
/// so. So the order of readings never makes room.
///
/// # Charges and refunds
///
/// A charge counts as what was admitted does, for as long; so an overrun makes the limit refuse until enough has left. When
/// there are as many entries as there may be, charges are entered at the latest reading together with the last
/// entry, which then counts for longer. A refund takes the cost out of the entry at the very reading that it was taken at,
/// if that is still there and was not merged.
///
/// # Cost
///
/// A lock, held for tens of nanoseconds; a refusal halves the log for its wait. A refund walks the entries behind its own.
pub struct WindowLog {
    limit: u64,
    length: u64,
    log: Mutex<Log>,
}

/// A sliding log, [`WindowLog`]; see [`Windowed`] for what it can do.
#[doc(alias = "SlidingWindowLog")]
pub type SlidingLog<C = Monotonic> = Windowed<WindowLog, C>;

impl Windowed<WindowLog> {
    /// At most `limit` tokens in every interval of `length`, on the [`Monotonic`] clock.
    ///
    /// # Errors
    ///
    /// [`WindowError`], for a limit or a length out of range.
    pub fn new(limit: u64, length: Duration) -> Result<Self, WindowError> {
        Self::with_clock(limit, length, Monotonic::new())
    }
}

impl<C: Clock> Windowed<WindowLog, C> {
    /// At most `limit` tokens in every interval of `length`, by a clock of the caller's.
    ///
    /// # Errors
    ///
    /// [`WindowError`], for a limit of 0 or of 2^62 and more, or a length out of range.
    pub fn with_clock(limit: u64, length: Duration, clock: C) -> Result<Self, WindowError> {
        let length = Every::new(length)?.length_nanos();
        match limit {
            0 => Err(WindowError::ZeroLimit),
            1..=MOST_LIMIT => {
                Ok(Self::of(WindowLog { limit, length, log: Mutex::new(Log::new(length)) }, clock))
            }
            _ => Err(WindowError::LimitTooLarge { limit, most: MOST_LIMIT }),
        }
    }

    /// The length of the intervals.
    pub fn length(&self) -> Duration {
        Duration::from_nanos(self.algorithm().length)
    }

    /// How many entries there are, those included that have left and were not dropped yet.
    pub fn entries(&self) -> usize {
        lock(&self.algorithm().log).entries.len()
    }
}

impl WindowLog {
    fn most_entries(&self) -> usize {
        usize::try_from(self.limit).unwrap_or(usize::MAX).max(LEAST_ENTRIES)
    }
}

impl Rule for WindowLog {
    fn limit(&self) -> u64 {
        self.limit
    }

    fn admit(&self, cost: u64, now: u64) -> Result<(), u64> {
        let mut log = lock(&self.log);
        if !log.is_open(now) || log.used(now) + cost > self.limit {
            return Err(log.ready(self.limit, cost, now));
        }
        log.enter(cost, now, self.most_entries());
        Ok(())
    }

    fn take(&self, most: u64, now: u64) -> u64 {
        let mut log = lock(&self.log);
        let part = self.limit.saturating_sub(log.used(now)).min(most);
        if part == 0 || !log.is_open(now) {
            return 0;
        }
        log.enter(part, now, self.most_entries());
        part
    }

    fn charge(&self, cost: u64, now: u64) {
        lock(&self.log).enter(cost, now, self.most_entries());
    }

    fn refund(&self, cost: u64, taken_at: u64) {
        lock(&self.log).refund(cost, taken_at);
    }

    fn ready(&self, cost: u64, now: u64) -> u64 {
        lock(&self.log).ready(self.limit, cost, now)
    }

    fn usage(&self, now: u64) -> Usage {
        let log = lock(&self.log);
        let last_leaves = log.entries.back().map_or(now, |last| last.at.saturating_add(self.length));
        let resets_at = last_leaves.max(now);
        Usage { limit: self.limit, used: log.used(now), now, resets_at, hold: log.hold }
    }

    fn pause(&self, until: u64) {
        let mut log = lock(&self.log);
        log.hold = log.hold.max(until);
    }

    fn resume(&self) {
        lock(&self.log).hold = 0;
    }
}

impl fmt::Debug for WindowLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = lock(&self.log).entries.len();
        f.debug_struct("WindowLog").field("length", &self.length).field("entries", &entries).finish()
    }
}

#[derive(Debug)]
struct Log {
    length: u64,
    entries: VecDeque<Entry>,
    /// The sum up to the last entry that was dropped.
    dropped: u64,
    /// The reading at which that entry left. Readings before it would have counted it.
    open_from: u64,
    /// The latest reading that anything was entered at.
    latest: u64,
    /// The reading before which nothing is admitted.
    hold: u64,
}

/// What was entered at a reading, as the sum of all costs up to it.
#[derive(Clone, Copy, Debug)]
struct Entry {
    at: u64,
    sum: u64,
}

impl Log {
    fn new(length: u64) -> Self {
        Self { length, entries: VecDeque::new(), dropped: 0, open_from: 0, latest: 0, hold: 0 }
    }

    /// Whether anything can be admitted at a reading.
    fn is_open(&self, now: u64) -> bool {
        now >= self.hold && now >= self.open_from
    }

    /// What counts at a reading.
    fn used(&self, now: u64) -> u64 {
        let left = self.entries.partition_point(|entry| self.has_left(entry, now));
        self.sum().wrapping_sub(self.sum_before(left))
    }

    /// The first reading, not before `now`, at which the cost would be admitted.
    fn ready(&self, limit: u64, cost: u64, now: u64) -> u64 {
        let from = now.max(self.hold).max(self.open_from);
        // What is still in the deque, also what has left: entries leave in order, so it is enough to count how much must.
        let entered = self.sum().wrapping_sub(self.dropped);
        let must_leave = (entered + cost).saturating_sub(limit);
        if must_leave == 0 {
            return from;
        }
        let last = self.entries.partition_point(|entry| entry.sum.wrapping_sub(self.dropped) < must_leave);
        // It is there, for a cost is at most the limit.
        let leaves = self.entries.get(last).map_or(u64::MAX, |entry| entry.at.saturating_add(self.length));
        from.max(leaves)
    }

    /// Enters a cost, and drops what has left.
    fn enter(&mut self, cost: u64, now: u64, most_entries: usize) {
        self.drop_those_that_left(now);
        let entered = self.sum().wrapping_sub(self.dropped);
        let sum = self.sum().wrapping_add(cost.min(MOST_USED - entered));
        self.latest = self.latest.max(now);
        let (at, full) = (self.latest, self.entries.len() >= most_entries);
        match self.entries.back_mut() {
            Some(last) if last.at == at || full => *last = Entry { at, sum },
            _ => self.entries.push_back(Entry { at, sum }),
        }
    }

    fn drop_those_that_left(&mut self, now: u64) {
        while let Some(first) = self.entries.front().filter(|first| self.has_left(first, now)) {
            self.dropped = first.sum;
            // No overflow: it has left at `now`.
            self.open_from = first.at.saturating_add(self.length);
            self.entries.pop_front();
        }
    }

    fn refund(&mut self, cost: u64, taken_at: u64) {
        let place = self.entries.partition_point(|entry| entry.at < taken_at);
        let before = self.sum_before(place);
        let Some(entry) = self.entries.get(place).filter(|entry| entry.at == taken_at) else { return };
        let entered = entry.sum.wrapping_sub(before);
        let back = cost.min(entered);
        self.entries.range_mut(place..).for_each(|entry| entry.sum = entry.sum.wrapping_sub(back));
        if back == entered {
            self.entries.remove(place);
        }
    }

    fn has_left(&self, entry: &Entry, now: u64) -> bool {
        now.checked_sub(entry.at).is_some_and(|age| age >= self.length)
    }

    /// The sum of all costs that were entered.
    fn sum(&self) -> u64 {
        self.entries.back().map_or(self.dropped, |last| last.sum)
    }

    /// The sum of the costs before an entry.
    fn sum_before(&self, place: usize) -> u64 {
        place
            .checked_sub(1)
            .and_then(|before| self.entries.get(before))
            .map_or(self.dropped, |entry| entry.sum)
    }
}
