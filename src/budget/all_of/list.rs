//! Any number of limits, known at run time.

use super::limit::{CallTime, Grant, Limit, Reading};
use super::refused::{Reason, Refused, Worst};
use crate::budget::reserve::{Late, Settled};

/// What is asked of one limit of a list.
#[derive(Clone, Copy)]
pub struct Demand<'n, 'a> {
    /// The name of the limit, for refusals.
    pub name: &'n str,
    /// The limit.
    pub limit: &'a dyn AnyLimit,
    /// How much is asked for.
    pub cost: u64,
}

/// A [`Limit`] whose kind is known at run time. Every limit is one.
pub trait AnyLimit {
    /// As [`Limit::reading`].
    fn any_reading(&self, time: &mut CallTime) -> Reading;

    /// As [`Limit::look`].
    ///
    /// # Errors
    ///
    /// As [`Limit::look`].
    fn any_look(&self, cost: u64, now: Reading) -> Result<(), Reason>;

    /// As [`Limit::take`].
    ///
    /// # Errors
    ///
    /// As [`Limit::take`].
    fn any_take(&self, cost: u64, now: Reading) -> Result<Box<dyn AnyGrant + '_>, Reason>;
}

/// What a limit of a list has given out. Dropping it drops what it stands for.
pub trait AnyGrant {
    /// As [`Grant::settle`].
    fn settle(self: Box<Self>, actual: u64) -> Option<Result<Settled, Late>>;

    /// As [`Limit::undo`].
    fn undo(self: Box<Self>);
}

/// Takes from all limits of a list or from none, as [`AllOf`](super::AllOf) does; what is given out is in the order of the list.
/// It allocates one box for each limit.
///
/// ```
/// use tollgate::budget::{Budget, Demand, acquire_all};
/// use tollgate::{Bucket, quota};
///
/// let (requests, tokens) = (Bucket::new(quota!("300/min")), Budget::new(quota!("300k/min")));
/// let demands = [
///     Demand { name: "requests", limit: &requests, cost: 1 },
///     Demand { name: "tokens", limit: &tokens, cost: 5_000 },
/// ];
/// for (grant, actual) in acquire_all(&demands)?.into_iter().zip([1, 1_200]) {
///     grant.settle(actual).transpose()?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`Refused`] names the limit that refused, and tells the largest wait of all that refuse.
pub fn acquire_all<'n, 'a>(demands: &[Demand<'n, 'a>]) -> Result<Vec<Box<dyn AnyGrant + 'a>>, Refused<'n>> {
    let name = |place: usize| demands.get(place).map_or("", |demand| demand.name);
    take_each(demands).map_err(|worst| worst.named(name))
}

/// One of several limits that are asked as one, with what is asked of it.
pub(in crate::budget) trait Ask {
    /// What is given out.
    type Given;

    fn reading(&self, time: &mut CallTime) -> Reading;
    fn look(&self, now: Reading) -> Result<(), Reason>;
    fn take(&self, now: Reading) -> Result<Self::Given, Reason>;
    fn undo(given: Self::Given);
}

/// Takes from each or from none.
pub(in crate::budget) fn take_each<A: Ask>(asked: &[A]) -> Result<Vec<A::Given>, Worst> {
    let mut time = CallTime::default();
    let readings: Vec<_> = asked.iter().map(|one| one.reading(&mut time)).collect();
    let mut worst = Worst::default();
    look_at_each(asked, &readings, &mut worst);
    if worst.is_refusal() {
        return Err(worst);
    }
    let mut held = Vec::with_capacity(asked.len());
    for (place, (one, &now)) in asked.iter().zip(&readings).enumerate() {
        match one.take(now) {
            Ok(given) => held.push(given),
            Err(reason) => {
                held.into_iter().rev().for_each(A::undo);
                let mut worst = Worst::default();
                worst.add(place, reason);
                look_at_each(asked, &readings, &mut worst);
                return Err(worst);
            }
        }
    }
    Ok(held)
}

fn look_at_each<A: Ask>(asked: &[A], readings: &[Reading], worst: &mut Worst) {
    for (place, (one, &now)) in asked.iter().zip(readings).enumerate() {
        if let Err(reason) = one.look(now) {
            worst.add(place, reason);
        }
    }
}

impl<'a> Ask for Demand<'_, 'a> {
    type Given = Box<dyn AnyGrant + 'a>;

    fn reading(&self, time: &mut CallTime) -> Reading {
        self.limit.any_reading(time)
    }

    fn look(&self, now: Reading) -> Result<(), Reason> {
        self.limit.any_look(self.cost, now)
    }

    fn take(&self, now: Reading) -> Result<Self::Given, Reason> {
        self.limit.any_take(self.cost, now)
    }

    fn undo(given: Self::Given) {
        given.undo();
    }
}

/// A grant, and whom to give it back to.
struct Given<'a, L: Limit> {
    limit: &'a L,
    held: L::Held<'a>,
}

impl<L: Limit> AnyLimit for L {
    fn any_reading(&self, time: &mut CallTime) -> Reading {
        self.reading(time)
    }

    fn any_look(&self, cost: u64, now: Reading) -> Result<(), Reason> {
        self.look(cost, now)
    }

    fn any_take(&self, cost: u64, now: Reading) -> Result<Box<dyn AnyGrant + '_>, Reason> {
        Ok(Box::new(Given { limit: self, held: self.take(cost, now)? }))
    }
}

impl<L: Limit> AnyGrant for Given<'_, L> {
    fn settle(self: Box<Self>, actual: u64) -> Option<Result<Settled, Late>> {
        self.held.settle(actual)
    }

    fn undo(self: Box<Self>) {
        self.limit.undo(self.held);
    }
}
