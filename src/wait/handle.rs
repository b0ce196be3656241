//! What a place can be booked from.

use core::ops::Deref;

use crate::bucket::{Booked, Bucket, Spacing};
use crate::clock::Clock;
use crate::decision::Denied;
use crate::nanos::Nanos;

/// A limiter from which places are booked, by reference or in an [`Arc`](std::sync::Arc): `&Bucket`, `Arc<Bucket>`, `&Pace`,
/// `Arc<Pace>`; with `shared-memory` a `SharedBucket` too.
///
/// What holds a reference borrows the limiter; what holds an `Arc` can go anywhere. The trait is sealed.
pub trait Handle: Book {}

impl<L: Book> Handle for L {}

/// What a limiter does for a booking. It is out of reach from outside.
pub trait Book {
    fn book(&self, cost: u64, longest: Nanos, now: Nanos) -> Result<Booked, Denied>;
    fn cancel(&self, booked: &Booked, now: Option<Nanos>);
    /// The refusal of a caller who is too late to wait at all.
    fn refuse_late(&self, cost: u64, now: Nanos) -> Denied;
    fn now(&self) -> Nanos;
    fn paused_until(&self) -> Nanos;
}

/// By way of a reference, an [`Arc`](std::sync::Arc) or another pointer.
impl<P: Deref<Target: Book>> Book for P {
    fn book(&self, cost: u64, longest: Nanos, now: Nanos) -> Result<Booked, Denied> {
        (**self).book(cost, longest, now)
    }

    fn cancel(&self, booked: &Booked, now: Option<Nanos>) {
        (**self).cancel(booked, now);
    }

    fn refuse_late(&self, cost: u64, now: Nanos) -> Denied {
        (**self).refuse_late(cost, now)
    }

    fn now(&self) -> Nanos {
        (**self).now()
    }

    fn paused_until(&self) -> Nanos {
        (**self).paused_until()
    }
}

impl<C: Clock> Book for Bucket<C> {
    fn book(&self, cost: u64, longest: Nanos, now: Nanos) -> Result<Booked, Denied> {
        self.take_place(cost, Spacing::Burst, longest, now)
    }

    fn cancel(&self, booked: &Booked, now: Option<Nanos>) {
        self.give_place_back(booked, Spacing::Burst, at_or_now(now, self.clock()));
    }

    fn refuse_late(&self, cost: u64, now: Nanos) -> Denied {
        self.refuse_late(cost, Spacing::Burst, now)
    }

    fn now(&self) -> Nanos {
        self.clock().now()
    }

    fn paused_until(&self) -> Nanos {
        self.paused_until()
    }
}

/// The reading that was given; or at each call one of the clock, in order with what the thread has seen.
pub(crate) fn at_or_now<C: Clock>(now: Option<Nanos>, clock: &C) -> impl Fn() -> Nanos {
    move || now.unwrap_or_else(|| clock.now_ordered())
}
