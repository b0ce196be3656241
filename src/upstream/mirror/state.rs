//! All that a mirror holds, under its lock.

use core::time::Duration;
use std::time::SystemTime;

use smallvec::SmallVec;

use super::cell::{Answer, Cell};
use super::cost::Cost;
use super::figures::Origin;
use super::flights::{Flight, Flights};
use super::refused::Refused;
use super::sent::Heard;
use crate::nanos::Nanos;
use crate::upstream::read::{Class, Dimension, Period, Reading, Window};

#[derive(Debug)]
pub(super) struct State {
    pub(super) cells: SmallVec<[Cell; 4]>,
    pub(super) flights: Flights,
    /// All that was ever sent, and that was ever answered; wrapping.
    sent: Cost,
    settled: Cost,
    /// The reading before which nothing is sent.
    pub(super) hold: u64,
    /// How long after its sending a call has been counted, in nanoseconds; none if only its answer tells.
    within: Option<u64>,
    pub(super) terminal: Option<Class>,
    /// When the latest response was made that has been applied, by the upstream's clock.
    dated: Option<SystemTime>,
    /// The latest reading so far. An older one counts as this.
    latest: u64,
}

/// A call that has been answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    number: u64,
    flight: Flight,
    /// What was answered while it was on its way, so that it may or may not be in its figures.
    others: Cost,
}

impl State {
    pub(super) fn new(cells: SmallVec<[Cell; 4]>, within: Option<u64>) -> Self {
        let flights = Flights::default();
        let (sent, settled) = (Cost::default(), Cost::default());
        Self { cells, flights, sent, settled, hold: 0, within, terminal: None, dated: None, latest: 0 }
    }

    /// Lets time pass, and tells the reading that counts.
    pub(super) fn advance(&mut self, now: Nanos) -> u64 {
        self.latest = self.latest.max(now.as_u64());
        self.count_overdue();
        for cell in &mut self.cells {
            cell.roll(self.latest);
        }
        self.latest
    }

    /// Charges calls on their way that must have been counted by now, at the latest time that they can have been.
    fn count_overdue(&mut self) {
        let Some(within) = self.within else { return };
        let Some(sent_by) = self.latest.checked_sub(within) else { return };
        while let Some((number, flight)) = self.flights.next_overdue(sent_by) {
            let at = flight.sent_at.saturating_add(within);
            for cell in &mut self.cells {
                let amount = flight.cost.amount(cell.dimension);
                cell.roll(at);
                cell.settle(at, amount, amount);
            }
            self.settled = self.settled.wrapping_add(&flight.cost);
            self.flights.count(number, &flight.cost);
        }
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
        self.sent = self.sent.wrapping_add(cost);
        let (sent, settled) = (self.sent, self.settled);
        Ok(self.flights.send(Flight { cost: *cost, counted: Cost::default(), sent_at: now, sent, settled }))
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
        let unused = used.map_or(Cost::default(), |used| flight.counted.saturating_sub(used));
        let used = used.map_or(flight.cost, |used| used.saturating_sub(&flight.counted));
        for cell in &mut self.cells {
            cell.explain(unused.amount(cell.dimension));
            cell.settle(now, flight.cost.amount(cell.dimension), used.amount(cell.dimension));
        }
        self.settled = self.settled.wrapping_add(&used);
        Some(flight)
    }

    /// A call is on its way no more, and was never sent.
    pub(super) fn forget(&mut self, number: u64) {
        let Some(flight) = self.flights.land(number) else { return };
        self.sent = self.sent.wrapping_sub(&flight.cost);
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
        let told = Heard::of(reading).is_refusal().then(|| self.flights.of(number)).flatten();
        let told = told.map(|flight| without_told(&flight.cost, reading));
        let Some(flight) = self.land(number, used.or(told.as_ref()), now) else { return Heard::of(reading) };
        let others = settled.wrapping_sub(&flight.settled);
        let call = Call { number, flight, others };
        self.hear(reading, Some(&call), now)
    }

    /// The head of a response has come, and its body is still to come. What the head tells of has been counted by now; what it
    /// does not tell of stays in flight.
    pub(super) fn head(&mut self, number: u64, reading: &Reading<'_>, now: u64) -> Heard {
        let Some(flight) = self.flights.of(number).copied() else { return Heard::of(reading) };
        let counted = flight.cost.wrapping_sub(&without_told(&flight.cost, reading));
        let is_refused = Heard::of(reading).is_refusal();
        for cell in &mut self.cells {
            let amount = counted.amount(cell.dimension);
            cell.settle(now, amount, if is_refused { 0 } else { amount });
        }
        let others = self.settled.wrapping_sub(&flight.settled);
        self.settled = self.settled.wrapping_add(&counted);
        self.flights.count(number, &counted);
        self.hear(reading, Some(&Call { number, flight, others }), now)
    }

    /// Applies what a response says, to a call of this mirror's or of another's.
    pub(super) fn hear(&mut self, reading: &Reading<'_>, call: Option<&Call>, now: u64) -> Heard {
        let heard = Heard::of(reading);
        match heard {
            Heard::Terminal(class) => self.terminal = Some(class),
            Heard::RetryAfter(wait) => self.pause(now.saturating_add(Nanos::from_duration(wait).as_u64())),
            Heard::Limited(None) => self.lower_what_refused(reading, call, now),
            _ => {}
        }
        // What lay in a cache says nothing about now.
        if reading.age().is_none_or(|age| age.is_zero()) {
            self.apply(reading, call, now);
        }
        heard
    }

    /// A refusal without a wait, and without figures that explain it. If only one limit can be it, less than the call's cost was
    /// left of that.
    fn lower_what_refused(&mut self, reading: &Reading<'_>, call: Option<&Call>, now: u64) {
        let Some(cost) = call.map(|call| call.flight.total()) else { return };
        let passed = |cell: &Cell, window: &Window| {
            let enough = window.remaining.is_some_and(|left| left >= cost.amount(cell.dimension));
            enough && window.dimension == cell.dimension
        };
        let is_it = |cell: &&mut Cell| {
            let has_passed = reading.windows().iter().any(|window| passed(cell, window));
            cost.amount(cell.dimension) > 0 && !has_passed
        };
        let mut candidates = self.cells.iter_mut().filter(is_it);
        if let (Some(cell), None) = (candidates.next(), candidates.next()) {
            cell.lacks(now, cost.amount(cell.dimension));
        }
    }

    pub(super) fn pause(&mut self, until: u64) {
        self.hold = self.hold.max(until);
    }

    fn apply(&mut self, reading: &Reading<'_>, call: Option<&Call>, now: u64) {
        let about = self.about(reading, call, now);
        for (at, window) in reading.windows().iter().enumerate() {
            let same = |other: &Window| other.dimension == window.dimension && other.period == window.period;
            // Of several that could be the same limit's, all may lower it, and the first may raise it.
            let is_first = !reading.windows().iter().take(at).any(same);
            let Some(cell) = matching(&mut self.cells, window) else { continue };
            let may_raise = about.may_raise && is_first;
            let origin = call.map_or(about, |call| call.in_dimension(about, cell.dimension));
            cell.apply(window, Origin { may_raise, ..origin });
        }
        for share in self.cells.iter_mut().filter_map(|cell| cell.share.as_mut()) {
            share.answered();
        }
        self.dated = self.dated.max(reading.date());
    }

    /// What is known of a response, but for the costs in each dimension.
    fn about(&self, reading: &Reading<'_>, call: Option<&Call>, now: u64) -> Origin {
        let number = call.map(|call| call.number);
        let is_last = self.flights.last().is_none_or(|last| number.is_some_and(|number| number >= last));
        let is_old = reading.date().is_some_and(|date| Some(date) < self.dated);
        let sent_at = call.map_or(now, |call| call.flight.sent_at);
        let counted_by = self.within.map_or(now, |within| sent_at.saturating_add(within));
        Origin {
            number,
            now,
            sent_at,
            told_by: now.min(counted_by),
            sent: 0,
            others: 0,
            refused: 0,
            is_refused: Heard::of(reading).is_refusal(),
            is_alone: self.flights.last().is_none()
                && call.is_some_and(|call| call.others == Cost::default()),
            may_raise: is_last && !is_old,
        }
    }
}

impl Call {
    /// The same with the costs in one dimension.
    fn in_dimension(&self, about: Origin, dimension: Dimension) -> Origin {
        let refused = if about.is_refused { self.flight.total().amount(dimension) } else { 0 };
        let sent = self.flight.sent.amount(dimension);
        Origin { sent, refused, others: self.others.amount(dimension), ..about }
    }
}

/// What a refused call is charged: whether the upstream counts it is in the figures, where there are any, and otherwise not
/// known.
fn without_told(cost: &Cost, reading: &Reading<'_>) -> Cost {
    let told = reading.windows().iter().filter(|window| window.remaining.is_some());
    told.fold(*cost, |cost, window| cost.with(window.dimension, 0))
}

/// The limit that a window speaks of: of its dimension and length, or else with the same or the nearest figure.
fn matching<'c>(cells: &'c mut [Cell], window: &Window) -> Option<&'c mut Cell> {
    let of_it = |cell: &Cell| {
        cell.dimension == window.dimension
            && window.period.is_none_or(|period| is_of(period, cell.configured.period()))
    };
    let apart = |cell: &Cell| window.limit.map_or(0, |limit| limit.abs_diff(cell.configured.tokens()));
    cells.iter_mut().filter(|cell| of_it(cell)).min_by_key(|cell| apart(cell))
}

/// Whether a window can be so long.
fn is_of(period: Period, length: Duration) -> bool {
    let days = |days: u64| Duration::from_secs(days * 86_400);
    match period {
        Period::Span(span) => span == length,
        Period::Month => (days(28)..=days(31)).contains(&length),
    }
}
