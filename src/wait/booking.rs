//! A place that was taken now and is due later.

use std::fmt;
use std::time::Duration;

use crate::bucket::{Booked, Bucket};
use crate::clock::Clock;
use crate::decision::Denied;
use crate::nanos::Nanos;
use crate::wait::handle::Handle;

/// A place in the order of a limiter: the tokens are taken, and the work may start when it is [`due`](Self::due).
///
/// Dropping it keeps the place, as dropping a [`Charge`](crate::Charge) keeps the charge: the work will start.
/// [`cancel`](Self::cancel) gives it back.
///
/// A place is never moved. A pause that begins after the booking does not reach it, and nor does a
/// [`reset`](Bucket::reset), after which the bucket knows nothing of it; who holds a booking through a pause asks
/// [`Level::paused_for`](crate::Level::paused_for) when it is due. [`Acquire`](super::Acquire) does that by itself.
#[must_use = "the tokens are taken: wait until the place is due, or cancel it"]
pub struct Booking<L: Handle> {
    limiter: L,
    booked: Booked,
    made: Nanos,
}

impl<C: Clock> Bucket<C> {
    /// Takes a place for `cost` that is due in `longest_wait` at most, and tells when.
    ///
    /// One compare-exchange and no queue: places are in the order in which they were taken, whatever their costs, so a
    /// large one is not starved by small ones that come after it. What asks with [`try_acquire`](Self::try_acquire)
    /// meanwhile is refused until everything booked is due, so it does not barge in either. Since no place is due later
    /// than the longest wait, no more than `rate * longest_wait + capacity` tokens are ever booked.
    ///
    /// During a pause, places are due from its end on. They keep their times if it is ended early by
    /// [`resume`](Self::resume), and nothing is admitted before them then; [`reset`](Self::reset) forgets them. Of
    /// `longest_wait`, any length is fine: [`Duration::MAX`] waits as long as the limiter can count, and zero asks as
    /// [`try_acquire_n`](Self::try_acquire_n) does.
    ///
    /// In every interval of due times of length `t` no more than `capacity + rate * t` is due, and what a nanosecond
    /// refills, since a due time is rounded up to it; cancelling does not change that.
    ///
    /// # Errors
    ///
    /// [`Denied::NotYet`] if the place would be due later: nothing was taken, and the refusal tells how long until the
    /// same booking would be accepted, which is sooner by `longest_wait` than the place would be due.
    /// [`Denied::OverCapacity`] and [`Denied::ZeroCost`] as for any admission.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{Bucket, Manual, Nanos, quota};
    ///
    /// let limit = Bucket::with_clock(quota!("2/s burst 1"), Manual::new());
    /// let longest = Duration::from_secs(1);
    /// let first = limit.book(1, longest)?;
    /// let second = limit.book(1, longest)?;
    /// let third = limit.book(1, longest)?;
    /// assert_eq!(first.wait(), Duration::ZERO);
    /// assert_eq!(third.due(), Nanos::from(Duration::from_secs(1)));
    ///
    /// // A fourth would have to wait for 1.5 s.
    /// let denied = limit.book(1, longest).unwrap_err();
    /// assert_eq!(denied.wait(), Some(Duration::from_millis(500)));
    ///
    /// third.cancel();
    /// assert!(limit.book(1, longest).is_ok());
    /// # Ok::<(), tollgate::Denied>(())
    /// ```
    #[doc(alias = "reserve")]
    pub fn book(&self, cost: u64, longest_wait: Duration) -> Result<Booking<&Self>, Denied> {
        Booking::of(self, cost, longest_wait)
    }

    /// [`book`](Self::book) at a reading that the caller has taken from the bucket's clock.
    ///
    /// # Errors
    ///
    /// As [`book`](Self::book).
    pub fn book_at(&self, cost: u64, longest_wait: Duration, now: Nanos) -> Result<Booking<&Self>, Denied> {
        Booking::of_at(self, cost, longest_wait, now)
    }
}

impl<L: Handle> Booking<L> {
    /// [`Bucket::book`] from any limiter that takes bookings, borrowed or in an [`Arc`](std::sync::Arc).
    ///
    /// # Errors
    ///
    /// As [`Bucket::book`].
    ///
    /// ```
    /// use std::{sync::Arc, time::Duration};
    /// use tollgate::{Bucket, quota, wait::Booking};
    ///
    /// let limit = Arc::new(Bucket::new(quota!("10/s")));
    /// let booking = Booking::of(Arc::clone(&limit), 1, Duration::from_secs(1))?;
    /// std::thread::spawn(move || booking.cancel()).join().unwrap();
    /// # Ok::<(), tollgate::Denied>(())
    /// ```
    pub fn of(limiter: L, cost: u64, longest_wait: Duration) -> Result<Self, Denied> {
        let now = limiter.now();
        Self::of_at(limiter, cost, longest_wait, now)
    }

    /// [`of`](Self::of) at a reading of the limiter's clock.
    ///
    /// # Errors
    ///
    /// As [`Bucket::book`].
    pub fn of_at(limiter: L, cost: u64, longest_wait: Duration, now: Nanos) -> Result<Self, Denied> {
        let booked = limiter.book(cost, longest_wait.into(), now)?;
        Ok(Self { limiter, booked, made: now })
    }

    /// The reading of the limiter's clock at which the work may start; never before that of the booking.
    pub fn due(&self) -> Nanos {
        self.booked.due()
    }

    /// How long after the reading of the booking it is due; zero if at once.
    pub fn wait(&self) -> Duration {
        self.due().saturating_sub(self.made).into()
    }

    /// Gives the place back, as much of it as neither refill nor those behind it have a claim to.
    ///
    /// * Refill that came meanwhile is not given twice: never is more there than if the booking had not been made.
    /// * Those that booked behind it keep the due times they were told. What would let fresh admissions and them act at
    ///   one moment, together above the capacity, is withheld until they are cancelled too, or refill has passed.
    ///
    /// So on 10/s and a capacity of 20, with 20 taken, 20 booked for 2 s and 5 for 2.5 s, cancelling the 20 gives back 15:
    /// all 20 would let 25 start at 2.5 s. With 15 taken, 10 booked and 2 behind, it gives back the whole 10, since then
    /// 2 act beside no more than 18. Bookings that are all cancelled give back everything, in any order. Places behind
    /// do not move up.
    ///
    /// It takes a lock that no admission takes, and a booking only beside it, for some hundred nanoseconds. If the same
    /// moment sees refunds again and again, it gives back nothing, and the next one to cancel gives back both. Where the
    /// booking itself was stopped between its look at the word and its exchange, and others booked and cancelled meanwhile,
    /// it may give back less by what they did.
    ///
    /// Source of the rule: `src/bucket/cancelled.rs`; it is the prompt rule of `GUARANTEES` section 6 with a memory of
    /// what was cancelled.
    pub fn cancel(self) {
        self.limiter.cancel(&self.booked, None);
    }

    /// [`cancel`](Self::cancel) at a reading of the limiter's clock, which must be no older than any that the limiter has
    /// been asked with since the booking.
    pub fn cancel_at(self, now: Nanos) {
        self.limiter.cancel(&self.booked, Some(now));
    }
}

impl<L: Handle> fmt::Debug for Booking<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Booking").field("due", &self.due()).field("wait", &self.wait()).finish()
    }
}
