//! What a place can be booked from.

use std::sync::Arc;

use crate::bucket::{Booked, Bucket, Spacing};
use crate::clock::Clock;
use crate::decision::Denied;
use crate::nanos::Nanos;

/// A limiter from which places are booked, by reference or in an [`Arc`]: `&Bucket`, `Arc<Bucket>`, `&Pace`,
/// `Arc<Pace>`.
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

/// A bucket, and how it spaces what it admits.
pub(super) trait Spaced {
    type Clock: Clock;

    const SPACING: Spacing;

    fn bucket(&self) -> &Bucket<Self::Clock>;
}

impl<C: Clock> Spaced for Bucket<C> {
    type Clock = C;

    const SPACING: Spacing = Spacing::Burst;

    fn bucket(&self) -> &Bucket<C> {
        self
    }
}

impl<L: Spaced> Book for L {
    fn book(&self, cost: u64, longest: Nanos, now: Nanos) -> Result<Booked, Denied> {
        self.bucket().take_place(cost, L::SPACING, longest, now)
    }

    fn cancel(&self, booked: &Booked, now: Option<Nanos>) {
        let bucket = self.bucket();
        bucket.give_place_back(booked, L::SPACING, || now.unwrap_or_else(|| bucket.clock().now_ordered()));
    }

    fn refuse_late(&self, cost: u64, now: Nanos) -> Denied {
        self.bucket().refuse_late(cost, L::SPACING, now)
    }

    fn now(&self) -> Nanos {
        self.bucket().clock().now()
    }

    fn paused_until(&self) -> Nanos {
        self.bucket().paused_until()
    }
}

impl<L: Spaced> Spaced for &L {
    type Clock = L::Clock;

    const SPACING: Spacing = L::SPACING;

    fn bucket(&self) -> &Bucket<L::Clock> {
        (**self).bucket()
    }
}

impl<L: Spaced> Spaced for Arc<L> {
    type Clock = L::Clock;

    const SPACING: Spacing = L::SPACING;

    fn bucket(&self) -> &Bucket<L::Clock> {
        (**self).bucket()
    }
}
