//! What can be one of several limits.

use crate::bucket::{Bucket, Charge};
use crate::budget::reserve::{Account, Budget, Late, Reservation, Settled};
use crate::budget::run::{Call, Calling, FanOut, Planned};
use crate::clock::Clock;
use crate::decision::Denied;
use crate::nanos::Nanos;

use super::refused::Reason;

/// A reading of a limit's own clock; limits without a clock have none.
pub type Reading = Option<Nanos>;

/// The time at which several limits are asked: a reading of [`Monotonic`](crate::Monotonic) serves all that have such a clock,
/// for there is one time in a process; other clocks are read each.
#[derive(Debug, Default)]
pub struct CallTime {
    of_the_process: Option<Nanos>,
}

impl CallTime {
    /// A reading of the clock.
    #[inline]
    pub fn by(&mut self, clock: &impl Clock) -> Nanos {
        if clock.is_of_the_process() {
            *self.of_the_process.get_or_insert_with(|| clock.now())
        } else {
            clock.now()
        }
    }
}

/// Something that admits or refuses, and can take an admission back that has just been made.
///
/// Implemented for [`Bucket`], [`Budget`], the calls of a run ([`Calling`], [`FanOut`]) and, with their features, `inflight::InFlight`, `sharded::Sharded` and the limits of
/// `window`. A limit of your own may be one of several too:
///
/// * [`look`](Self::look) and [`take`](Self::take) with the same cost and reading agree if nothing else happens between;
/// * [`undo`](Self::undo) leaves the limit as if nothing had been taken, or stricter.
pub trait Limit {
    /// What is given out.
    type Held<'a>: Grant
    where
        Self: 'a;

    /// A reading of its clock, if it has one.
    fn reading(&self, time: &mut CallTime) -> Reading;

    /// Whether the cost would be admitted, without taking it.
    ///
    /// # Errors
    ///
    /// The reason for which it would be refused.
    fn look(&self, cost: u64, now: Reading) -> Result<(), Reason>;

    /// Takes the cost, or nothing.
    ///
    /// # Errors
    ///
    /// The reason for which it is refused.
    fn take(&self, cost: u64, now: Reading) -> Result<Self::Held<'_>, Reason>;

    /// Takes back what has just been given out, because another limit refused.
    fn undo(&self, held: Self::Held<'_>);
}

/// What a limit has given out.
pub trait Grant {
    /// Closes it with what the work has cost, as far as it is not final. It tells what came of that where it is known: for a
    /// reservation.
    fn settle(self, actual: u64) -> Option<Result<Settled, Late>>;
}

/// An undo gives back by the prompt rule; see [`Charge::undo`].
impl<C: Clock> Limit for Bucket<C> {
    type Held<'a>
        = Charge<'a, C>
    where
        Self: 'a;

    #[inline]
    fn reading(&self, time: &mut CallTime) -> Reading {
        Some(time.by(self.clock()))
    }

    #[inline]
    fn look(&self, cost: u64, now: Reading) -> Result<(), Reason> {
        let now = now.unwrap_or_else(|| self.clock().now());
        self.would_admit_at(cost, now).map_err(Reason::Denied)
    }

    #[inline]
    fn take(&self, cost: u64, now: Reading) -> Result<Charge<'_, C>, Reason> {
        let now = now.unwrap_or_else(|| self.clock().now());
        self.try_charge_at(cost, now).map_err(Reason::Denied)
    }

    fn undo(&self, held: Charge<'_, C>) {
        held.undo();
    }
}

/// An undo gives back exactly what refill has not made good.
impl<C: Clock> Limit for Budget<C> {
    type Held<'a>
        = Reservation<&'a Self>
    where
        Self: 'a;

    #[inline]
    fn reading(&self, time: &mut CallTime) -> Reading {
        Some(time.by(self.clock()))
    }

    #[inline]
    fn look(&self, cost: u64, now: Reading) -> Result<(), Reason> {
        let now = now.unwrap_or_else(|| self.clock().now());
        self.would_admit_at(cost, now).map_err(Reason::Denied)
    }

    #[inline]
    fn take(&self, cost: u64, now: Reading) -> Result<Reservation<&Self>, Reason> {
        let now = now.unwrap_or_else(|| self.clock().now());
        self.reserve_at(cost, now).map_err(Reason::Denied)
    }

    fn undo(&self, held: Reservation<&Self>) {
        // Closed in time or at its deadline: in either case it is closed.
        let _released = held.release();
    }
}

/// A cost is the estimate in tokens. An undo gives back exactly what was taken. A look at a call that can
/// never fit ends the run.
impl Limit for Calling<'_> {
    type Held<'a>
        = Call
    where
        Self: 'a;

    fn reading(&self, _: &mut CallTime) -> Reading {
        None
    }

    fn look(&self, cost: u64, _: Reading) -> Result<(), Reason> {
        self.look(cost).map_err(Reason::from)
    }

    fn take(&self, cost: u64, _: Reading) -> Result<Call, Reason> {
        self.take(cost).map_err(Reason::from)
    }

    fn undo(&self, held: Call) {
        held.release();
    }
}

/// A cost is a number of calls. An undo gives back exactly what was taken. A look at calls that can never fit
/// ends the run.
impl Limit for FanOut<'_> {
    type Held<'a>
        = Vec<Call>
    where
        Self: 'a;

    fn reading(&self, _: &mut CallTime) -> Reading {
        None
    }

    fn look(&self, cost: u64, _: Reading) -> Result<(), Reason> {
        self.look(planned(self, cost)?).map_err(Reason::from)
    }

    fn take(&self, cost: u64, _: Reading) -> Result<Vec<Call>, Reason> {
        self.take(planned(self, cost)?).map_err(Reason::from)
    }

    fn undo(&self, held: Vec<Call>) {
        held.into_iter().for_each(Call::release);
    }
}

/// With the tokens that the call has used, and the money that was estimated; [`Call::settle`] takes both.
impl Grant for Call {
    fn settle(self, actual: u64) -> Option<Result<Settled, Late>> {
        let estimate = self.estimate();
        Self::settle(self, actual, estimate.spend);
        Some(Ok(Settled {
            charged: actual,
            given_back: estimate.tokens.saturating_sub(actual),
            withheld: 0,
            overrun: actual.saturating_sub(estimate.tokens),
        }))
    }
}

/// One figure does not tell what each of them has used: they are kept at their estimates.
impl Grant for Vec<Call> {
    fn settle(self, _: u64) -> Option<Result<Settled, Late>> {
        None
    }
}

/// It is final.
impl<C: Clock> Grant for Charge<'_, C> {
    fn settle(self, _: u64) -> Option<Result<Settled, Late>> {
        None
    }
}

impl<A: Account> Grant for Reservation<A> {
    fn settle(self, actual: u64) -> Option<Result<Settled, Late>> {
        Some(Self::settle(self, actual))
    }
}

/// As many of the planned calls as it costs.
fn planned<'r>(fan_out: &FanOut<'r>, cost: u64) -> Result<&'r [Planned<'r>], Reason> {
    if cost == 0 {
        return Err(Reason::Denied(Denied::ZeroCost));
    }
    let capacity = u64::try_from(fan_out.len()).unwrap_or(u64::MAX);
    fan_out.first(cost).ok_or(Reason::Denied(Denied::OverCapacity { cost, capacity }))
}

#[cfg(feature = "inflight")]
mod in_flight {
    use super::{CallTime, Grant, Limit, Reading, Reason};
    use crate::budget::reserve::{Late, Settled};
    use crate::inflight::{InFlight, Permit};

    /// A cost is a weight. An undo drops the permit, so it is back exactly.
    impl Limit for InFlight {
        type Held<'a> = Permit<'a>;

        #[inline]
        fn reading(&self, _: &mut CallTime) -> Reading {
            None
        }

        #[inline]
        fn look(&self, cost: u64, _: Reading) -> Result<(), Reason> {
            self.would_admit(weight(cost)).map_err(Reason::NoPermit)
        }

        #[inline]
        fn take(&self, cost: u64, _: Reading) -> Result<Permit<'_>, Reason> {
            self.try_acquire_n(weight(cost)).map_err(Reason::NoPermit)
        }

        fn undo(&self, held: Permit<'_>) {
            drop(held);
        }
    }

    /// The work has ended.
    impl Grant for Permit<'_> {
        fn settle(self, _: u64) -> Option<Result<Settled, Late>> {
            None
        }
    }

    /// A cost beyond any weight is above every limit.
    fn weight(cost: u64) -> u32 {
        u32::try_from(cost).unwrap_or(u32::MAX)
    }
}
