//! Rows measured in interleaved rounds: every round runs every row once, so that whatever the machine does to one row it
//! does to its floor as well, and the ratio of the two in the same round is what can be trusted.

use crate::decide::Contender;
use crate::scenario::{Account, Audit, Fault};
use crate::stats::{least_block_median, median};
use crate::thread::preemptions;
use std::time::{Duration, Instant};

/// What one pass over a loop gave.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lap {
    /// Time of the calls alone.
    pub nanos: u64,
    /// Tokens asked for.
    pub offered: u64,
    /// Tokens admitted.
    pub admitted: u64,
    /// Whether the kernel took the thread off its core meanwhile.
    pub preempted: bool,
}

impl Lap {
    /// Times `work`, which returns the tokens it was admitted, and watches whether the thread kept its core.
    #[inline(always)]
    pub fn of(offered: u64, work: impl FnOnce() -> u64) -> Self {
        let before = preemptions();
        let start = Instant::now();
        let admitted = work();
        let nanos = start.elapsed().as_nanos() as u64;
        Self { nanos, offered, admitted, preempted: preemptions() != before }
    }
}

/// One lap after the other, with whatever came between them left out.
impl std::ops::Add for Lap {
    type Output = Self;

    fn add(self, next: Self) -> Self {
        Self {
            nanos: self.nanos + next.nanos,
            offered: self.offered + next.offered,
            admitted: self.admitted + next.admitted,
            preempted: self.preempted || next.preempted,
        }
    }
}

/// A sample that a preemption or a starved limiter spoilt is taken again, at most so often.
const RETAKES: u32 = 2_000;

/// One row: a loop over one limiter, and what its answers must satisfy.
pub struct Row<'a> {
    name: String,
    calls: u64,
    audit: Audit,
    run: Box<dyn FnMut(u64) -> Lap + 'a>,
    now: Box<dyn Fn() -> u64 + 'a>,
    retaken: u32,
}

/// A sample: nanoseconds a call.
type Sample = f64;

impl<'a> Row<'a> {
    /// A row over anything; `run` makes so many calls.
    pub fn new(name: impl Into<String>, audit: Audit, run: impl FnMut(u64) -> Lap + 'a) -> Self {
        Self { name: name.into(), calls: 0, audit, run: Box::new(run), now: Box::new(|| 0), retaken: 0 }
    }

    /// A row over a limiter whose own clock measures the time of the audit.
    pub fn over<C: Contender>(
        name: impl Into<String>,
        audit: Audit,
        limiter: &'a C,
        run: impl FnMut(u64) -> Lap + 'a,
    ) -> Self {
        Self { now: Box::new(|| limiter.now()), ..Self::new(name, audit, run) }
    }

    /// The row's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A sample is so many calls, however long they take.
    pub fn of_calls(self, calls: u64) -> Self {
        Self { calls, ..self }
    }

    /// Chooses the number of calls so that a sample takes about so long, unless the number is set.
    pub fn calibrate(&mut self, sample_nanos: u64) {
        if self.calls > 0 {
            return;
        }
        self.calls = 256;
        loop {
            let nanos = (self.run)(self.calls).nanos;
            if nanos >= sample_nanos / 2 {
                let scaled = u128::from(self.calls) * u128::from(sample_nanos) / u128::from(nanos);
                self.calls = (scaled as u64).max(1);
                return;
            }
            self.calls *= 2;
        }
    }

    /// One sample that no preemption and no starvation spoilt, audited.
    ///
    /// # Panics
    ///
    /// If more was admitted than the bound, or if no sample could be had.
    pub fn sample(&mut self) -> Sample {
        self.undisturbed(self.calls) as f64 / self.calls as f64
    }

    /// The time that so many calls take, summed over undisturbed samples.
    ///
    /// # Panics
    ///
    /// As [`Row::sample`].
    pub fn time(&mut self, calls: u64) -> Duration {
        let (full, rest) = (calls / self.calls, calls % self.calls);
        let mut nanos: u64 = (0..full).map(|_| self.undisturbed(self.calls)).sum();
        if rest > 0 {
            nanos += self.undisturbed(rest);
        }
        Duration::from_nanos(nanos)
    }

    fn undisturbed(&mut self, calls: u64) -> u64 {
        for _ in 0..RETAKES {
            match self.attempt(calls) {
                Some(Ok(nanos)) => return nanos,
                Some(Err(fault @ Fault::Over { .. })) => panic!("{}: {fault}", self.name),
                Some(Err(Fault::Under { .. })) | None => self.retaken += 1,
            }
        }
        panic!("{}: no undisturbed sample that admits its share in {RETAKES} tries", self.name);
    }

    fn attempt(&mut self, calls: u64) -> Option<Result<u64, Fault>> {
        let start = (self.now)();
        let lap = (self.run)(calls);
        let elapsed_nanos = (self.now)() - start;
        let account = Account { offered: lap.offered, admitted: lap.admitted, elapsed_nanos };
        let verdict = self.audit.check(account);
        if lap.preempted && !matches!(verdict, Err(Fault::Over { .. })) {
            return None;
        }
        Some(verdict.map(|()| lap.nanos))
    }
}

/// How long to measure.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Blocks over the whole run; the least block median is reported.
    pub blocks: usize,
    /// Rounds in a block.
    pub rounds: usize,
    /// About how long one sample takes.
    pub sample_nanos: u64,
}

impl Plan {
    /// One pass: 7 blocks of 15 rounds, a quarter of a millisecond a sample.
    pub const PASS: Self = Self { blocks: 7, rounds: 15, sample_nanos: 250_000 };
}

/// Measures the rows round by round. Each round starts one row further, so that no row always follows the same one.
pub fn measure(rows: &mut [Row<'_>], plan: Plan) -> Table {
    rows.iter_mut().for_each(|row| row.calibrate(plan.sample_nanos));
    let mut samples = vec![Vec::new(); rows.len()];
    for round in 0..plan.blocks * plan.rounds {
        for step in 0..rows.len() {
            let index = (round + step) % rows.len();
            samples[index].push(rows[index].sample());
        }
    }
    let names = rows.iter().map(|row| row.name.clone()).collect();
    let retaken = rows.iter().map(|row| row.retaken).sum();
    Table { names, samples, block: plan.rounds, retaken }
}

/// All samples of a run, by row and round.
pub struct Table {
    names: Vec<String>,
    samples: Vec<Vec<Sample>>,
    block: usize,
    /// Samples thrown away and taken again.
    pub retaken: u32,
}

impl Table {
    /// The names of the rows, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Nanoseconds a call: the least over blocks of the block's median.
    pub fn nanos(&self, row: &str) -> f64 {
        least_block_median(self.row(row), self.block)
    }

    /// As [`Table::nanos`], less what the row `idle` took in the same round.
    pub fn net_nanos(&self, row: &str, idle: &str) -> f64 {
        least_block_median(&self.net(row, idle), self.block)
    }

    /// The median over rounds of one row to another in the same round.
    pub fn ratio(&self, row: &str, floor: &str) -> f64 {
        median_ratio(self.row(row), self.row(floor))
    }

    /// As [`Table::ratio`], with the row `idle` of the same round taken off both.
    pub fn net_ratio(&self, row: &str, floor: &str, idle: &str) -> f64 {
        median_ratio(&self.net(row, idle), &self.net(floor, idle))
    }

    fn net(&self, row: &str, idle: &str) -> Vec<Sample> {
        self.row(row).iter().zip(self.row(idle)).map(|(sample, idle)| sample - idle).collect()
    }

    fn row(&self, name: &str) -> &[Sample] {
        let index = self.names.iter().position(|known| known == name);
        &self.samples[index.unwrap_or_else(|| panic!("no row is named {name}"))]
    }
}

/// Several tables of the same rows, each taken over limiters built anew. Where in memory a limiter happens to lie can cost
/// a tenth in one table of twelve; the median over tables leaves that out.
pub struct Passes(Vec<Table>);

impl Passes {
    /// Takes so many tables.
    pub fn taken(passes: usize, table: impl FnMut(usize) -> Table) -> Self {
        Self((0..passes).map(table).collect())
    }

    /// The names of the rows, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.first().into_iter().flat_map(Table::names)
    }

    /// The least of [`Table::nanos`].
    pub fn nanos(&self, row: &str) -> f64 {
        self.0.iter().map(|table| table.nanos(row)).fold(f64::INFINITY, f64::min)
    }

    /// The least of [`Table::net_nanos`].
    pub fn net_nanos(&self, row: &str, idle: &str) -> f64 {
        self.0.iter().map(|table| table.net_nanos(row, idle)).fold(f64::INFINITY, f64::min)
    }

    /// The median of [`Table::ratio`].
    pub fn ratio(&self, row: &str, floor: &str) -> f64 {
        self.median(|table| table.ratio(row, floor))
    }

    /// The median of [`Table::net_ratio`].
    pub fn net_ratio(&self, row: &str, floor: &str, idle: &str) -> f64 {
        self.median(|table| table.net_ratio(row, floor, idle))
    }

    /// Samples thrown away and taken again.
    pub fn retaken(&self) -> u32 {
        self.0.iter().map(|table| table.retaken).sum()
    }

    fn median(&self, figure: impl Fn(&Table) -> f64) -> f64 {
        median(&self.0.iter().map(figure).collect::<Vec<_>>())
    }
}

fn median_ratio(upper: &[Sample], lower: &[Sample]) -> f64 {
    let ratios: Vec<f64> = upper.iter().zip(lower).map(|(upper, lower)| upper / lower).collect();
    median(&ratios)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    const PLAN: Plan = Plan { blocks: 2, rounds: 3, sample_nanos: 1_000 };

    fn constant(name: &str, nanos_a_call: u64) -> Row<'static> {
        let lap = move |calls| Lap {
            nanos: calls * nanos_a_call,
            offered: calls,
            admitted: calls,
            preempted: false,
        };
        Row::new(name, Audit::All, lap)
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        let table = measure(&mut [constant("idle", 1), constant("floor", 3), constant("row", 5)], PLAN);
        assert_eq!(table.nanos("row"), 5.0);
        assert_eq!(table.net_nanos("row", "idle"), 4.0);
        assert_eq!(table.ratio("row", "floor"), 5.0 / 3.0);
        assert_eq!(table.net_ratio("row", "floor", "idle"), 2.0);
    }

    #[test]
    fn one_unlucky_pass_of_three_is_voted_out() {
        let table =
            |pass| measure(&mut [constant("floor", 3), constant("row", if pass == 1 { 9 } else { 3 })], PLAN);
        let passes = Passes::taken(3, table);
        assert_eq!((passes.ratio("row", "floor"), passes.nanos("row")), (1.0, 3.0));
    }

    #[test]
    #[should_panic(expected = "more than the bound of 0")]
    fn an_over_admission_stops_the_run() {
        let leaky = |calls| Lap { nanos: calls, offered: calls, admitted: 1, preempted: true };
        measure(&mut [Row::new("leaky", Audit::Nothing, leaky)], PLAN);
    }

    #[test]
    fn a_starved_or_preempted_sample_is_retaken() {
        let taken = Cell::new(0);
        let now_and_then_spoilt = |calls| {
            taken.set(taken.get() + 1);
            let starved = u64::from(taken.get() % 3 == 0);
            Lap { nanos: calls, offered: calls, admitted: calls - starved, preempted: taken.get() % 5 == 0 }
        };
        let table = measure(&mut [Row::new("spoilt", Audit::All, now_and_then_spoilt)], PLAN);
        assert!(table.retaken >= 3, "{}", table.retaken);
    }
}
