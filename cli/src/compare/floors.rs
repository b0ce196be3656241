//! The parts of a decision, each alone: what no limiter that needs them can undercut.

use std::fmt;

use serde::Serialize;
use tollgate_bench::floors::{AdmissionFloor, ClockRead, CompareExchange, Load};
use tollgate_bench::loops::back_to_back;
use tollgate_bench::rounds::{Lap, Plan, Row, Table, measure};
use tollgate_bench::scenario::Audit;
use tollgate_bench::{Decide, thread, timed};

/// Nanoseconds on one thread.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Floors {
    /// One reading of the time-stamp counter.
    pub(crate) clock_ns: f64,
    /// One uncontended compare-exchange.
    pub(crate) cas_ns: f64,
    /// Reading, load and compare-exchange.
    pub(crate) clock_cas_ns: f64,
    /// A relaxed load.
    pub(crate) load_ns: f64,
    /// What the timed calls show when nothing is called.
    pub(crate) timer_ns: f64,
}

impl fmt::Display for Floors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { clock_ns, cas_ns, clock_cas_ns, load_ns, timer_ns } = self;
        write!(
            f,
            "floors on one thread: clock {clock_ns:.2} ns, compare-exchange {cas_ns:.2} ns, both and a load \
             {clock_cas_ns:.2} ns, load {load_ns:.2} ns; timing a call adds {timer_ns:.0} ns"
        )
    }
}

const PLAN: Plan = Plan { blocks: 9, rounds: 9, sample_nanos: 100_000 };

impl Floors {
    /// Measures on a pinned thread of its own.
    pub(crate) fn measure() -> Self {
        std::thread::scope(|scope| {
            let measured = scope.spawn(|| {
                thread::pin_to(0);
                Self::here()
            });
            measured.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn here() -> Self {
        let (clock, exchange) = (ClockRead, CompareExchange::default());
        let (both, load) = (AdmissionFloor::default(), Load::default());
        let mut rows =
            [row("clock", &clock), row("exchange", &exchange), row("both", &both), row("load", &load)];
        let table: Table = measure(&mut rows, PLAN);
        Self {
            clock_ns: table.nanos("clock"),
            cas_ns: table.nanos("exchange"),
            clock_cas_ns: table.nanos("both"),
            load_ns: table.nanos("load"),
            timer_ns: timed::floor(),
        }
    }
}

fn row<'a>(name: &str, floor: &'a impl Decide) -> Row<'a> {
    Row::new(name, Audit::All, move |calls| Lap::of(calls, || back_to_back(floor, calls)))
}
