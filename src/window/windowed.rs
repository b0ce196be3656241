//! The one face of all three forms.

use core::fmt;
use core::time::Duration;

use crate::clock::{Clock, Monotonic};
use crate::decision::{Denied, NotYet};
use crate::limiter::Limiter;
use crate::nanos::Nanos;
use crate::window::{Algorithm, Usage};

/// A limit by windows that any number of threads ask at once: [`Fixed`](super::Fixed),
/// [`SlidingCounter`](super::SlidingCounter) or `SlidingLog`, which tell how each decides.
///
/// It has the verbs of a [`Bucket`](crate::Bucket) where they mean something here. A refusal changes nothing and tells the
/// exact wait: at that reading the same cost is admitted if nothing else is taken, and a nanosecond earlier it is not.
///
/// # Over a restart
///
/// By a clock that means the same in the next process, as [`Wall`](super::Wall) does, what is used can be written down with the
/// reading and charged again at it: it counts in the window that it counted in, or not any more. (The sliding forms then
/// count it as taken at that reading, which is later than it was.)
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Clock, Manual};
/// use tollgate::window::{Every, Fixed};
///
/// let day = Every::new(Duration::from_secs(86_400))?;
/// let old = Fixed::with_clock(1000, day, Manual::new())?;
/// old.try_acquire_n(700).unwrap();
/// let saved = (old.clock().now(), old.peek().used());
///
/// let new = Fixed::with_clock(1000, day, Manual::new())?;
/// new.charge_at(saved.1, saved.0);
/// assert_eq!(new.peek().remaining(), 300);
/// # Ok::<(), tollgate::window::WindowError>(())
/// ```
///
/// # Memory ordering
///
/// Every operation takes its place in one order that all threads agree on, and a decision carries no happens-before edge. A
/// pause is seen by every call that happens after it.
pub struct Windowed<A, C = Monotonic> {
    algorithm: A,
    clock: C,
}

impl<A: Algorithm, C: Clock> Windowed<A, C> {
    pub(super) fn of(algorithm: A, clock: C) -> Self {
        Self { algorithm, clock }
    }

    pub(super) fn algorithm(&self) -> &A {
        &self.algorithm
    }

    /// Admits one token now, or refuses and consumes nothing.
    ///
    /// # Errors
    ///
    /// [`Denied::NotYet`], with the exact wait.
    #[inline]
    pub fn try_acquire(&self) -> Result<(), Denied> {
        self.try_acquire_at(self.clock.now())
    }

    /// [`try_acquire`](Self::try_acquire) at a reading that the caller has taken from the limiter's clock.
    ///
    /// # Errors
    ///
    /// [`Denied::NotYet`], with the exact wait from `now`.
    #[inline]
    pub fn try_acquire_at(&self, now: Nanos) -> Result<(), Denied> {
        self.admit(1, now)
    }

    /// Admits `cost` tokens now, or refuses and takes none.
    ///
    /// # Errors
    ///
    /// [`Denied::NotYet`] with the exact wait, [`Denied::OverCapacity`] for a cost above the limit, which will never be
    /// admitted, or [`Denied::ZeroCost`].
    #[inline]
    pub fn try_acquire_n(&self, cost: u64) -> Result<(), Denied> {
        self.checked(cost)?;
        self.admit(cost, self.clock.now())
    }

    /// [`try_acquire_n`](Self::try_acquire_n) at a reading that the caller has taken from the limiter's clock.
    ///
    /// # Errors
    ///
    /// As [`try_acquire_n`](Self::try_acquire_n).
    #[inline]
    pub fn try_acquire_n_at(&self, cost: u64, now: Nanos) -> Result<(), Denied> {
        self.checked(cost)?;
        self.admit(cost, now)
    }

    /// Takes as many tokens as are there, at most `most`, and tells how many: 0 if none are there, while the limiter is
    /// paused, or for a `most` of 0. What is not there is refused, not waited for.
    #[must_use = "only so many tokens were taken"]
    pub fn acquire_up_to(&self, most: u64) -> u64 {
        self.acquire_up_to_at(most, self.clock.now())
    }

    /// [`acquire_up_to`](Self::acquire_up_to) at a reading of the limiter's clock.
    #[must_use = "only so many tokens were taken"]
    pub fn acquire_up_to_at(&self, most: u64, now: Nanos) -> u64 {
        if most == 0 { 0 } else { self.algorithm.take(most, now.as_u64()) }
    }

    /// Counts `cost` tokens whether they are there or not, for work that has been done already. A pause does not stop it,
    /// and a cost of 0 counts nothing. What an overrun means for later windows is told with each form.
    pub fn charge(&self, cost: u64) {
        self.charge_at(cost, self.clock.now());
    }

    /// [`charge`](Self::charge) at a reading of the limiter's clock.
    pub fn charge_at(&self, cost: u64, now: Nanos) {
        if cost != 0 {
            self.algorithm.charge(cost, now.as_u64());
        }
    }

    /// Gives `cost` tokens back that were taken or charged at the reading `taken_at`, to the window that they were taken in
    /// and to no other: if they do not count any more, nothing comes back. No more comes back than is counted there.
    ///
    /// Whoever means to give back takes the reading first, and takes the tokens with it:
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{Clock, Manual};
    /// use tollgate::window::{Every, Fixed};
    ///
    /// let limit = Fixed::with_clock(100, Every::new(Duration::from_secs(60))?, Manual::new())?;
    /// let now = limit.clock().now();
    /// limit.try_acquire_n_at(80, now).unwrap();
    /// limit.refund(30, now);
    /// assert_eq!(limit.peek().used(), 50);
    ///
    /// limit.clock().advance(Duration::from_secs(60));
    /// limit.try_acquire_n(10).unwrap();
    /// limit.refund(50, now); // that minute is over
    /// assert_eq!(limit.peek().used(), 10);
    /// # Ok::<(), tollgate::window::WindowError>(())
    /// ```
    pub fn refund(&self, cost: u64, taken_at: Nanos) {
        self.algorithm.refund(cost, taken_at.as_u64());
    }

    /// Time until `cost` would be admitted if nothing else is taken, zero if it would be now. [`Nanos::MAX`] as a duration
    /// stands for a time beyond all readings.
    ///
    /// # Errors
    ///
    /// [`Denied::ZeroCost`], or [`Denied::OverCapacity`] for a cost that is never admitted.
    pub fn wait_for(&self, cost: u64) -> Result<Duration, Denied> {
        self.wait_for_at(cost, self.clock.now())
    }

    /// [`wait_for`](Self::wait_for) at a reading of the limiter's clock.
    ///
    /// # Errors
    ///
    /// As [`wait_for`](Self::wait_for).
    pub fn wait_for_at(&self, cost: u64, now: Nanos) -> Result<Duration, Denied> {
        self.checked(cost)?;
        Ok(NotYet::until(now.as_u64(), self.algorithm.ready(cost, now.as_u64())).wait())
    }

    /// What [`try_acquire_n_at`](Self::try_acquire_n_at) would answer; it takes nothing.
    #[cfg(feature = "budget")]
    pub(crate) fn would_admit_at(&self, cost: u64, now: Nanos) -> Result<(), Denied> {
        self.checked(cost)?;
        let (now, ready) = (now.as_u64(), self.algorithm.ready(cost, now.as_u64()));
        if ready <= now { Ok(()) } else { Err(Denied::NotYet(NotYet::until(now, ready))) }
    }

    /// Looks without consuming: what counts against the limit, and until when.
    pub fn peek(&self) -> Usage {
        self.peek_at(self.clock.now())
    }

    /// [`peek`](Self::peek) at a reading of the limiter's clock. At one from before what was taken last it shows what that
    /// reading would find.
    pub fn peek_at(&self, now: Nanos) -> Usage {
        self.algorithm.usage(now.as_u64())
    }

    /// Admits nothing before the clock reads `until`. Windows go on meanwhile. A shorter pause or a refund does not end it;
    /// only [`resume`](Self::resume) does. Calls that are already past their check may still complete.
    pub fn pause_until(&self, until: Nanos) {
        self.algorithm.pause(until.as_u64());
    }

    /// [`pause_until`](Self::pause_until) `span` from now.
    pub fn pause_for(&self, span: Duration) {
        self.pause_until(self.clock.now().saturating_add(Nanos::from_duration(span)));
    }

    /// Ends any pause at once.
    pub fn resume(&self) {
        self.algorithm.resume();
    }

    /// The limit, in tokens: also the largest cost that is ever admitted.
    pub fn limit(&self) -> u64 {
        self.algorithm.limit()
    }

    /// Its clock.
    pub fn clock(&self) -> &C {
        &self.clock
    }

    #[inline]
    fn admit(&self, cost: u64, now: Nanos) -> Result<(), Denied> {
        let now = now.as_u64();
        self.algorithm.admit(cost, now).map_err(|ready| Denied::NotYet(NotYet::until(now, ready)))
    }

    #[inline]
    fn checked(&self, cost: u64) -> Result<(), Denied> {
        // One comparison finds both kinds of invalid cost: 0 wraps to the largest number.
        if cost.wrapping_sub(1) >= self.limit() { Err(self.never(cost)) } else { Ok(()) }
    }

    #[cold]
    fn never(&self, cost: u64) -> Denied {
        if cost == 0 { Denied::ZeroCost } else { Denied::OverCapacity { cost, capacity: self.limit() } }
    }
}

impl<A: Algorithm, C: Clock> Limiter for Windowed<A, C> {
    #[inline]
    fn try_acquire_n(&self, cost: u64) -> Result<(), Denied> {
        Self::try_acquire_n(self, cost)
    }

    #[inline]
    fn try_acquire(&self) -> Result<(), Denied> {
        Self::try_acquire(self)
    }
}

impl<A: Algorithm + fmt::Debug, C: Clock> fmt::Debug for Windowed<A, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Windowed").field("algorithm", &self.algorithm).field("usage", &self.peek()).finish()
    }
}
