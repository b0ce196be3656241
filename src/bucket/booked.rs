//! Places that are taken now and due later: what `wait` is built on.

use core::cell::Cell;

use crate::bucket::cancelled::{Cancelled, MAX_STRETCHES, Moment, Stretch};
use crate::bucket::{Bucket, Ruled};
use crate::clock::Clock;
use crate::decision::Denied;
use crate::gcra::{Cost, Gcra};
use crate::nanos::Nanos;
use crate::sync::{AtomicU64, Mutex, Ordering, lock};
use crate::word::{Lowered, Unraised};

/// A place: when it is due, and what it takes to give it back.
#[derive(Clone, Copy, Debug)]
pub struct Booked {
    due: Nanos,
    units: u64,
    /// The word that the booking wrote.
    written: u64,
    /// What had been given back before it.
    lowered: Lowered,
}

/// A place on its way back, beside all others that have been cancelled.
pub(crate) struct Return<'c> {
    cancelled: &'c mut Cancelled,
    span: u64,
    last: Cell<Option<(Moment, u64)>>,
}

/// How much may be due at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spacing {
    /// As much as the bucket holds.
    Burst,
    /// One cost, and the next when refill has made good for it.
    Even,
}

/// What lies beside a word on which places are taken.
pub(crate) trait Line {
    /// The arrival point, and what had been lowered by the time it was read, or less.
    fn place_on_axis(&self) -> (u64, Lowered);

    /// A place is about to be taken for this end of a pause.
    fn promise(&self, paused_until: Nanos);
}

/// What is remembered of bookings, beside the word.
#[derive(Debug)]
pub(super) struct Ledger {
    /// Only cancelling comes here.
    cancelled: Mutex<Cancelled>,
    /// The latest end of a pause for which a place was booked. It is raised before the word is, and read after it.
    paused_until: AtomicU64,
}

impl Ledger {
    pub(super) fn new() -> Self {
        Self { cancelled: Mutex::new(Cancelled::new(MAX_STRETCHES)), paused_until: AtomicU64::new(0) }
    }
}

impl Booked {
    /// The reading at which it is due.
    pub(crate) fn due(&self) -> Nanos {
        self.due
    }

    /// Its stretch of the axis that lowering does not shorten.
    fn stretch(&self) -> Stretch {
        let lowered = 0u64.wrapping_sub(self.lowered.until(0));
        let high = self.written.wrapping_add(lowered);
        Stretch { low: high.wrapping_sub(self.units), high, lowered, owed: self.units }
    }
}

impl<'c> Return<'c> {
    pub(crate) fn new(cancelled: &'c mut Cancelled, booked: &Booked, spacing: Spacing, gcra: &Gcra) -> Self {
        cancelled.add(booked.stretch());
        let span = if spacing == Spacing::Even { 0 } else { gcra.one.units + gcra.one.spare };
        Self { cancelled, span, last: Cell::new(None) }
    }

    /// So much may come back, with what could not before.
    #[cfg(feature = "shared-memory")]
    pub(crate) fn most(&self) -> u64 {
        u64::try_from(self.cancelled.owed()).unwrap_or(u64::MAX).max(1)
    }

    /// The lowest arrival point that is right at this moment.
    pub(crate) fn goal(&self, moment: Moment) -> u64 {
        let goal = self.cancelled.goal(moment, self.span);
        self.last.set(Some((moment, goal)));
        goal
    }

    /// The word was lowered to what was last told; this is what is to be remembered.
    pub(crate) fn done(self) -> &'c Cancelled {
        if let Some((seen, goal)) = self.last.get() {
            let given = seen.arrival - goal;
            let lowered = seen.lowered.wrapping_add(given);
            self.cancelled.gave(given, Moment { arrival: goal, lowered, ..seen });
        }
        self.cancelled
    }
}

impl<C: Clock> Bucket<C> {
    /// [`Ruled::take_place`].
    pub(crate) fn take_place(
        &self,
        cost: u64,
        spacing: Spacing,
        longest: Nanos,
        now: Nanos,
    ) -> Result<Booked, Denied> {
        self.ruled().take_place(cost, spacing, longest, now, self)
    }

    /// [`Ruled::refuse_late`].
    pub(crate) fn refuse_late(&self, cost: u64, spacing: Spacing, now: Nanos) -> Denied {
        self.ruled().refuse_late(cost, spacing, now)
    }

    /// Gives a place back, as far as [`Cancelled`] allows. The clock is read anew for each attempt, after the word, as in
    /// [`Charge::undo`](super::Charge::undo).
    pub(crate) fn give_place_back(&self, booked: &Booked, spacing: Spacing, now: impl Fn() -> Nanos) {
        let mut cancelled = lock(&self.ledger.cancelled);
        let return_of = Return::new(&mut cancelled, booked, spacing, &self.gcra);
        let is_lowered = self.word.undo(|arrival, lowered| {
            // What was booked for a pause's end is as good as due: it keeps its time even if the pause is ended early.
            let paused_until = self.ledger.paused_until.load(Ordering::Relaxed);
            let issued = self.gcra.issued(now().as_u64().max(paused_until));
            return_of.goal(Moment { arrival, lowered, issued })
        });
        // Otherwise others gave back at the same moment again and again: then the next one gives this back too.
        if is_lowered {
            return_of.done();
        }
    }

    /// The reading before which a pause admits nothing.
    pub(crate) fn paused_until(&self) -> Nanos {
        Nanos::new(self.word.hold())
    }
}

impl Ruled<'_> {
    /// Takes a place that is due at most `longest` after the reading `now`.
    ///
    /// An admission, but for two things: the test looks at what will have been issued at the latest reading that the
    /// caller accepts, and what asks during a pause asks as of its end, for it will start no earlier. So a place is
    /// never due while the bucket does not hold its cost, and the order of places is that of the word.
    pub(crate) fn take_place(
        self,
        cost: u64,
        spacing: Spacing,
        longest: Nanos,
        now: Nanos,
        line: &impl Line,
    ) -> Result<Booked, Denied> {
        let cost = self.spaced(cost, spacing)?;
        let start = now.max(Nanos::new(self.word.hold()));
        let latest = now.saturating_add(longest);
        if start > latest || !self.gcra.counts(start.as_u64()) {
            return Err(self.refuse_place(self.word.arrival(), start, cost, longest, now));
        }
        if start > now {
            line.promise(start);
        }
        let (issued, at_last) = (self.gcra.issued(start.as_u64()), self.gcra.issued(latest.as_u64()));
        let next = |arrival: u64| {
            self.gcra.admit(arrival, at_last, cost).map(|_| self.gcra.charge(arrival, issued, cost.units))
        };
        loop {
            let (seen, lowered) = line.place_on_axis();
            match self.word.raise_from(seen, next) {
                Ok(written) => {
                    let due = self.due(seen, start, cost);
                    return Ok(Booked { due, units: cost.units, written, lowered });
                }
                Err(Unraised::Declined) => return Err(self.refuse_place(seen, start, cost, longest, now)),
                Err(Unraised::Overtaken(_)) => {}
            }
        }
    }

    /// The refusal of a cost that nobody waits for. Its wait is zero if nothing stands in the way.
    pub(crate) fn refuse_late(self, cost: u64, spacing: Spacing, now: Nanos) -> Denied {
        match self.spaced(cost, spacing) {
            Ok(cost) => self.gcra.not_yet(self.word.arrival(), now.as_u64(), cost, self.word.hold()),
            Err(denied) => denied,
        }
    }

    fn spaced(self, cost: u64, spacing: Spacing) -> Result<Cost, Denied> {
        let cost = self.gcra.cost(cost)?;
        Ok(if spacing == Spacing::Even { Cost { spare: 0, ..cost } } else { cost })
    }

    /// When a cost fits, not before `start`.
    fn due(self, arrival: u64, start: Nanos, cost: Cost) -> Nanos {
        match self.gcra.not_yet(arrival, start.as_u64(), cost, 0) {
            Denied::NotYet(not_yet) => not_yet.ready_at(),
            _ => Nanos::MAX,
        }
    }

    /// It tells when the same booking would be taken: as long before the place would be due as the caller would wait.
    #[cold]
    fn refuse_place(self, arrival: u64, start: Nanos, cost: Cost, longest: Nanos, now: Nanos) -> Denied {
        let due = self.due(arrival, start, cost);
        let taken = if due == Nanos::MAX { due } else { due.saturating_sub(longest) };
        self.gcra.refusal(0, now.as_u64(), taken.as_u64())
    }
}

impl<C: Clock> Line for Bucket<C> {
    /// It tells a place's stretch of the axis. A cancellation that was stopped in the middle is waited for, with its lock.
    ///
    /// The stretch is exact but for threads that were stopped at one of two places: a refund while it lowers the word, or this
    /// one between here and its exchange, while others book and cancel until the word is back. Then the place is taken to
    /// lie lower than it does, and may give back less.
    fn place_on_axis(&self) -> (u64, Lowered) {
        self.word.arrival_and_lowered().unwrap_or_else(|| {
            let _no_cancellation = lock(&self.ledger.cancelled);
            self.word.arrival_and_lowered().unwrap_or_else(|| self.word.arrival_and_lowered_at_least())
        })
    }

    fn promise(&self, paused_until: Nanos) {
        self.ledger.paused_until.fetch_max(paused_until.as_u64(), Ordering::Relaxed);
    }
}
