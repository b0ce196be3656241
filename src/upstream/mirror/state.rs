//! All that a mirror holds, under its lock.

use core::time::Duration;
use std::time::SystemTime;

use smallvec::SmallVec;

use super::cell::{Answer, Cell};
use super::cost::Cost;
use super::figures::Heard as Figures;
use super::flights::{Flight, Flights};
use super::refused::Refused;
use super::sent::Heard;
use crate::nanos::Nanos;
use crate::upstream::read::{Class, Reading, Window};

#[derive(Debug)]
pub(super) struct State {
    pub(super) cells: SmallVec<[Cell; 4]>,
    pub(super) flights: Flights,
    /// All that was ever answered, wrapping.
    settled: Cost,
    /// The reading before which nothing is sent.
    pub(super) hold: u64,
    pub(super) terminal: Option<Class>,
    /// When the latest response was made that has been applied.
    dated: Option<SystemTime>,
    /// The latest reading so far. An older one counts as this.
    latest: u64,
}

impl State {
    pub(super) fn new(cells: SmallVec<[Cell; 4]>) -> Self {
        let flights = Flights::default();
        Self { cells, flights, settled: Cost::default(), hold: 0, terminal: None, dated: None, latest: 0 }
    }

    /// Lets time pass, and tells the reading that counts.
    pub(super) fn advance(&mut self, now: Nanos) -> u64 {
        self.latest = self.latest.max(now.as_u64());
        self.latest
    }

    /// Whether another one that is built alike would decide the same.
    pub(super) fn is_as_new(&self, now: u64) -> bool {
        let is_full =
            |cell: &Cell| cell.quota == cell.configured && cell.full_at(now) <= now && cell.ration.is_none();
        self.flights.len() == 0
            && self.hold <= now
            && self.terminal.is_none()
            && self.cells.iter().all(is_full)
    }

    pub(super) fn send(&mut self, cost: &Cost, now: u64) -> Result<u64, Refused> {
        self.ask(cost, now)?;
        for cell in &mut self.cells {
            cell.in_flight = cell.in_flight.saturating_add(cost.amount(cell.dimension));
        }
        Ok(self.flights.send(Flight { cost: *cost, settled: self.settled }))
    }

    /// Whether `cost` can be sent now.
    pub(super) fn ask(&self, cost: &Cost, now: u64) -> Result<(), Refused> {
        if let Some(class) = self.terminal {
            return Err(Refused::Terminal(class));
        }
        let mut latest = None;
        for cell in &self.cells {
            let dimension = cell.dimension;
            match cell.ask(now, cost.amount(dimension)) {
                Answer::Never(capacity) => return Err(Refused::OverCapacity { dimension, capacity }),
                Answer::At(at) if latest.is_none_or(|(_, other)| at > other) => {
                    latest = Some((dimension, at))
                }
                _ => {}
            }
        }
        let until = |at: u64| Duration::from_nanos(at.saturating_sub(now));
        match latest {
            _ if self.hold > now => {
                let at = latest.map_or(self.hold, |(_, at)| at.max(self.hold));
                Err(Refused::Paused { wait: until(at) })
            }
            Some((dimension, at)) => Err(Refused::NotYet { dimension, wait: until(at) }),
            None => Ok(()),
        }
    }

    /// A call is on its way no more: it is charged `used`, or what was expected.
    pub(super) fn land(&mut self, number: u64, used: Option<&Cost>, now: u64) -> Option<Flight> {
        let flight = self.flights.land(number)?;
        for cell in &mut self.cells {
            let amount = flight.cost.amount(cell.dimension);
            cell.in_flight = cell.in_flight.saturating_sub(amount);
            cell.charge(now, used.map_or(amount, |used| used.amount(cell.dimension)));
        }
        self.settled = self.settled.wrapping_add(used.unwrap_or(&flight.cost));
        Some(flight)
    }

    /// A call is on its way no more, and was never sent.
    pub(super) fn forget(&mut self, number: u64) {
        let Some(flight) = self.flights.land(number) else { return };
        for cell in &mut self.cells {
            cell.in_flight = cell.in_flight.saturating_sub(flight.cost.amount(cell.dimension));
        }
    }

    /// Applies the answer of a call.
    pub(super) fn answer(
        &mut self,
        number: u64,
        reading: &Reading<'_>,
        used: Option<&Cost>,
        now: u64,
    ) -> Heard {
        let settled = self.settled;
        let Some(flight) = self.land(number, used, now) else { return Heard::of(reading) };
        let others = settled.wrapping_sub(&flight.settled);
        self.hear(reading, Some(number), &others, now)
    }

    /// Applies what a response says; `others` is what was answered while it was on its way.
    pub(super) fn hear(
        &mut self,
        reading: &Reading<'_>,
        number: Option<u64>,
        others: &Cost,
        now: u64,
    ) -> Heard {
        let heard = Heard::of(reading);
        match heard {
            Heard::Terminal(class) => self.terminal = Some(class),
            Heard::RetryAfter(wait) => self.pause(now.saturating_add(Nanos::from_duration(wait).as_u64())),
            _ => {}
        }
        if reading.age().is_none_or(|age| age.is_zero()) {
            self.apply(reading, number, others, now);
        }
        heard
    }

    pub(super) fn pause(&mut self, until: u64) {
        self.hold = self.hold.max(until);
    }

    fn apply(&mut self, reading: &Reading<'_>, number: Option<u64>, others: &Cost, now: u64) {
        let is_last = self.flights.last().is_none_or(|last| number.is_some_and(|number| number > last));
        let is_old = self.dated.is_some_and(|dated| reading.made_at() < dated);
        for window in reading.windows() {
            let Some(cell) = matching(&mut self.cells, window) else { continue };
            let others = others.amount(cell.dimension);
            cell.apply(window, Figures { number, now, may_raise: is_last && !is_old, others });
        }
        self.dated = self.dated.max(Some(reading.made_at()));
    }
}

/// The limit that a window speaks of: of its dimension and length, or else with the same or the nearest figure.
fn matching<'c>(cells: &'c mut [Cell], window: &Window) -> Option<&'c mut Cell> {
    let of_it = |cell: &Cell| {
        let same = window.period.is_none_or(|period| period.longest() == cell.configured.period());
        cell.dimension == window.dimension && same
    };
    let apart = |cell: &Cell| window.limit.map_or(0, |limit| limit.abs_diff(cell.configured.tokens()));
    cells.iter_mut().filter(|cell| of_it(cell)).min_by_key(|cell| apart(cell))
}
