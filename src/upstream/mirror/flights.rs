//! Calls that are on their way, in the order of sending.

use std::collections::BTreeMap;

use super::cost::Cost;

/// Calls on their way. All of it costs the logarithm of how many they are.
#[derive(Debug, Default)]
pub(super) struct Flights {
    open: BTreeMap<u64, Flight>,
    sent: u64,
    /// All calls up to this number have been taken as counted, if they are on their way.
    overdue: u64,
}

/// What is remembered of a call on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    /// What of it is still to come: nobody has counted it yet.
    pub(super) cost: Cost,
    /// What the head of its response has shown to be counted.
    pub(super) counted: Cost,
    /// The reading at which it was sent.
    pub(super) sent_at: u64,
    /// All that had been sent by then, with itself; wrapping.
    pub(super) sent: Cost,
    /// What had been answered by then, wrapping.
    pub(super) settled: Cost,
}

impl Flight {
    /// The cost that it was sent with.
    pub(super) fn total(&self) -> Cost {
        self.cost.wrapping_add(&self.counted)
    }
}

impl Flights {
    /// Sends a call and tells its number; later calls have higher ones, from 1 on.
    pub(super) fn send(&mut self, flight: Flight) -> u64 {
        self.sent += 1;
        self.open.insert(self.sent, flight);
        self.sent
    }

    /// A call on its way.
    pub(super) fn of(&self, number: u64) -> Option<&Flight> {
        self.open.get(&number)
    }

    /// A call stays on its way, with less to come.
    pub(super) fn count(&mut self, number: u64, counted: &Cost) {
        if let Some(flight) = self.open.get_mut(&number) {
            flight.cost = flight.cost.wrapping_sub(counted);
            flight.counted = flight.counted.wrapping_add(counted);
            flight.settled = flight.settled.wrapping_add(counted);
        }
    }

    /// The next call, in the order of sending, that was sent by the reading `sent_by` and has not been told by this before.
    pub(super) fn next_overdue(&mut self, sent_by: u64) -> Option<(u64, Flight)> {
        let (number, flight) = self.open.range(self.overdue + 1..).next()?;
        let overdue = (*number, *flight);
        (flight.sent_at <= sent_by).then(|| {
            self.overdue = overdue.0;
            overdue
        })
    }

    /// Takes a call out.
    pub(super) fn land(&mut self, number: u64) -> Option<Flight> {
        self.open.remove(&number)
    }

    /// The number of the call that was sent last and is on its way.
    pub(super) fn last(&self) -> Option<u64> {
        self.open.last_key_value().map(|(number, _)| *number)
    }

    pub(super) fn len(&self) -> usize {
        self.open.len()
    }
}
