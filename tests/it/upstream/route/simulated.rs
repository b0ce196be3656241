//! One of two upstreams dies and comes back, under load, on a clock that is moved by hand.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use tollgate::upstream::{Backoff, Hop, Hops, NoRoute};
use tollgate::{Clock, Manual, Nanos, quota};

use super::support::{ONE, OnManual, SECOND, answer, routers};

/// A call each millisecond.
const BETWEEN: u64 = 1_000_000;
const S: u64 = 1_000_000_000;
/// How long a response takes.
const LATENCY: u64 = 50_000_000;
const RAMP: Duration = Duration::from_secs(5);
/// When the first upstream is dead, and when it all ends.
const DEAD: Range<u64> = 2 * S..12 * S;
const END: u64 = 22;

/// How an upstream is dead.
#[derive(Clone, Copy, Debug)]
enum Death {
    /// It answers with 503.
    Refuses,
    /// Connections fail.
    Unreachable,
    /// It says nothing, and calls time out after this many nanoseconds.
    Silent(u64),
}

struct Call {
    arrived: u64,
    hops: Hops<Arc<Manual>>,
    hop: Option<Hop<Arc<Manual>>>,
    moves: usize,
    served: Option<(u64, usize)>,
}

/// What is to happen, in order of time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    /// A call looks for its next hop.
    Go(usize),
    /// What it was waiting for has come.
    Land(usize),
}

struct Simulation {
    clock: Arc<Manual>,
    router: OnManual,
    death: Death,
    calls: Vec<Call>,
    events: BinaryHeap<Reverse<(u64, Event)>>,
    /// When a call went to the first upstream.
    to_first: Vec<u64>,
}

/// Twenty-two seconds of a thousand calls a second. The first upstream is dead from 2 s to 12 s.
fn simulate(death: Death) -> Simulation {
    let (clock, builder) = routers(&[quota!("2000/s burst 4000"); 2]);
    let router = builder.ramp(RAMP).probe(SECOND).cooling(Backoff::new(SECOND, 4 * SECOND)).build().unwrap();
    let mut simulation = Simulation {
        clock,
        death,
        calls: Vec::new(),
        events: BinaryHeap::new(),
        to_first: Vec::new(),
        router,
    };
    for nth in 0..END * S / BETWEEN {
        let call = Call {
            arrived: nth * BETWEEN,
            hops: simulation.router.hops(&ONE),
            hop: None,
            moves: 0,
            served: None,
        };
        simulation.calls.push(call);
        simulation.events.push(Reverse((nth * BETWEEN, Event::Go(nth as usize))));
    }
    simulation.run();
    simulation
}

impl Simulation {
    fn run(&mut self) {
        while let Some(Reverse((at, event))) = self.events.pop() {
            self.clock.set(Nanos::new(at));
            match event {
                Event::Go(which) => self.go(which, at),
                Event::Land(which) => self.land(which, at),
            }
        }
    }

    fn go(&mut self, which: usize, at: u64) {
        let call = &mut self.calls[which];
        match call.hops.try_next() {
            Ok(hop) => {
                let is_first = hop.upstream() == 0;
                if is_first {
                    self.to_first.push(at);
                }
                call.moves += 1;
                call.hop = Some(hop);
                let silence = match self.death {
                    Death::Silent(nanos) if is_first && DEAD.contains(&at) => nanos,
                    _ => LATENCY,
                };
                self.events.push(Reverse((at + silence, Event::Land(which))));
            }
            Err(NoRoute::NotYet { wait, .. }) => {
                self.events.push(Reverse((at + wait.as_nanos() as u64, Event::Go(which))));
            }
            // It has failed: every upstream that takes it was tried.
            Err(_) => {}
        }
    }

    fn land(&mut self, which: usize, at: u64) {
        let call = &mut self.calls[which];
        let hop = call.hop.take().unwrap();
        let upstream = hop.upstream();
        if upstream == 0 && DEAD.contains(&at) {
            match self.death {
                Death::Refuses => drop(answer(hop, 503, &[])),
                Death::Unreachable => hop.unreachable(),
                Death::Silent(_) => hop.timed_out(),
            }
            self.events.push(Reverse((at, Event::Go(which))));
        } else {
            answer(hop, 200, &[]);
            call.served = Some((at, upstream));
        }
    }

    /// Of the calls that arrived then, how many thousandths pass the test.
    fn share(&self, arrived: Range<u64>, test: impl Fn(&Call) -> bool) -> usize {
        let calls: Vec<_> = self.calls.iter().filter(|call| arrived.contains(&call.arrived)).collect();
        assert!(!calls.is_empty());
        calls.iter().filter(|call| test(call)).count() * 1_000 / calls.len()
    }
}

fn within_one_hop(call: &Call) -> bool {
    call.served.is_some() && call.moves == 1
}

/// Must show 4: all three ways of being dead.
#[test]
fn one_of_two_dies_and_comes_back() {
    for death in [Death::Refuses, Death::Unreachable, Death::Silent(500_000_000)] {
        let simulation = simulate(death);
        assert!(simulation.calls.iter().all(|call| call.served.is_some()), "{death:?}: none is lost");
        assert_eq!(
            simulation.share(0..DEAD.start - LATENCY, |call| call.served.unwrap().1 == 0),
            1_000,
            "by preference"
        );
        // From one second after its death on, and in each second of it; while it ramps too, and after.
        let within = simulation.share(DEAD.start + S..END * S, within_one_hop);
        assert!(within >= 990, "{death:?}: {within} of 1000");
        for second in DEAD.start / S + 1..END {
            let within = simulation.share(second * S..(second + 1) * S, within_one_hop);
            assert!(within >= 990, "{death:?}: {within} of 1000 in second {second}");
        }
        simulation.check_probes(death);
        simulation.check_ramp(death);
        simulation.check_waits(death);
    }
}

impl Simulation {
    /// After the first second the dead one gets probes alone: one at a time, at doubling distances.
    fn check_probes(&self, death: Death) {
        let probes: Vec<_> =
            self.to_first.iter().filter(|at| (DEAD.start + S..DEAD.end).contains(*at)).collect();
        assert_eq!(probes.len(), 3, "{death:?}: {probes:?}");
        let gaps: Vec<_> = probes.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.windows(2).all(|pair| pair[1] >= pair[0] * 3 / 2), "{death:?}: {gaps:?}");
        assert!(gaps.iter().all(|gap| *gap >= S), "{death:?}: {gaps:?}");
    }

    /// From the probe that is answered on, each tenth of the ramp brings the first one a tenth more of the calls, to the
    /// rounding, up to all.
    fn check_ramp(&self, death: Death) {
        let probe = *self.to_first.iter().find(|at| **at + LATENCY >= DEAD.end).unwrap();
        let (back, tenth) = (probe + LATENCY, RAMP.as_nanos() as u64 / 10);
        let to_first = |range: Range<u64>| {
            let sent = self.to_first.iter().filter(|at| range.contains(*at)).count() as u64;
            sent * 1_000 * BETWEEN / (range.end - range.start)
        };
        let shares: Vec<_> =
            (0..10).map(|nth| to_first(back + nth * tenth..back + (nth + 1) * tenth)).collect();
        for (nth, share) in (0..).zip(&shares) {
            let expected = 100 * nth + 50;
            assert!(share.abs_diff(expected) <= 4, "{death:?}: {shares:?}");
        }
        assert_eq!(to_first(back + RAMP.as_nanos() as u64..(END - 1) * S), 1_000, "{death:?}");
    }

    /// Nobody waits long for the flow to the second one to grow: not two seconds at its death, not at all afterwards.
    fn check_waits(&self, death: Death) {
        let spent = |call: &Call| call.served.unwrap().0 - call.arrived;
        let longest = self.calls.iter().map(spent).max().unwrap();
        assert!(longest < 2 * S, "{death:?}: {longest}");
        let later = self.calls.iter().filter(|call| call.arrived >= DEAD.start + 2 * S && call.moves == 1);
        assert_eq!(later.map(spent).max(), Some(LATENCY), "{death:?}");
    }
}

/// The clock of a simulation stands where it ended, and nothing is on its way.
#[test]
fn a_simulation_runs_to_its_end() {
    let simulation = simulate(Death::Refuses);
    assert!(simulation.clock.now() >= Nanos::new((END - 1) * S));
    let in_flight = [0, 1].map(|upstream| simulation.router.mirror(upstream).unwrap().in_flight());
    assert_eq!(in_flight, [0, 0]);
}
