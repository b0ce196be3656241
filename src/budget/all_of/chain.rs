//! Limits one after the other, as `(first, (second, (third, ())))`: what holds for any number is written once.

use super::limit::{CallTime, Limit, Reading};
use super::refused::{Reason, Worst};

/// A tuple of `N` limits. It is out of reach from outside.
pub trait Together<const N: usize>: Copy {
    /// What they give out.
    type Held;

    fn take_all(self, costs: [u64; N]) -> Result<Self::Held, Worst>;
}

/// A chain of limits.
pub(super) trait Chain: Copy {
    type Costs: Copy;
    type Readings: Copy;
    type Held;

    fn now(self, time: &mut CallTime) -> Self::Readings;

    /// Adds what each would answer, the first of them at `place`.
    fn look(self, costs: Self::Costs, readings: Self::Readings, place: usize, worst: &mut Worst);

    /// Takes from all, or tells which one refused, with nothing taken.
    fn take(
        self,
        costs: Self::Costs,
        readings: Self::Readings,
        place: usize,
    ) -> Result<Self::Held, (usize, Reason)>;
}

/// Takes from all limits of the chain or from none, all asked at one time.
pub(super) fn take_all<T: Chain>(limits: T, costs: T::Costs) -> Result<T::Held, Worst> {
    let readings = limits.now(&mut CallTime::default());
    let mut worst = Worst::default();
    limits.look(costs, readings, 0, &mut worst);
    if worst.is_refusal() {
        return Err(worst);
    }
    limits.take(costs, readings, 0).map_err(|(place, reason)| {
        // Overtaken since the look. Others may refuse by now too, and the largest wait counts.
        let mut worst = Worst::default();
        worst.add(place, reason);
        limits.look(costs, readings, 0, &mut worst);
        worst
    })
}

impl<'a, L: Limit, T: Chain> Chain for (&'a L, T) {
    type Costs = (u64, T::Costs);
    type Readings = (Reading, T::Readings);
    type Held = (L::Held<'a>, T::Held);

    #[inline]
    fn now(self, time: &mut CallTime) -> Self::Readings {
        (self.0.reading(time), self.1.now(time))
    }

    #[inline]
    fn look(self, costs: Self::Costs, readings: Self::Readings, place: usize, worst: &mut Worst) {
        if let Err(reason) = self.0.look(costs.0, readings.0) {
            worst.add(place, reason);
        }
        self.1.look(costs.1, readings.1, place + 1, worst);
    }

    #[inline]
    fn take(
        self,
        costs: Self::Costs,
        readings: Self::Readings,
        place: usize,
    ) -> Result<Self::Held, (usize, Reason)> {
        let held = self.0.take(costs.0, readings.0).map_err(|reason| (place, reason))?;
        match self.1.take(costs.1, readings.1, place + 1) {
            Ok(rest) => Ok((held, rest)),
            Err(refused) => {
                self.0.undo(held);
                Err(refused)
            }
        }
    }
}

impl Chain for () {
    type Costs = ();
    type Readings = ();
    type Held = ();

    #[inline]
    fn now(self, _: &mut CallTime) {}

    #[inline]
    fn look(self, (): (), (): (), _: usize, _: &mut Worst) {}

    #[inline]
    fn take(self, (): (), (): (), _: usize) -> Result<(), (usize, Reason)> {
        Ok(())
    }
}
