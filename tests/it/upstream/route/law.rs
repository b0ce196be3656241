//! Whatever happens: a call is charged where it went and nowhere else.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::{HeaderMap, StatusCode};
use proptest::prelude::*;
use tollgate::upstream::{Cost, Dimension, Hop, Hops, Order, Reader, Router};
use tollgate::{Manual, Quota};

use super::support::{OnManual, left, mirror};

const UPSTREAMS: usize = 3;
/// So much that nothing is there again within a test. No response is a 429, of which a mirror makes more than a charge.
const LIMIT: u64 = 40;

#[derive(Clone, Copy, Debug)]
enum Step {
    /// A new call of this cost.
    Call(u64),
    /// One that failed moves on.
    MoveOn(usize),
    /// What becomes of one that is on its way.
    Land(usize, Landing),
    Wait(u64),
}

#[derive(Clone, Copy, Debug)]
enum Landing {
    Answered(u16),
    TimedOut,
    Unreachable,
    NotSent,
    Dropped,
}

/// Two calls of three.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let landing = prop_oneof![
        prop::sample::select(vec![200_u16, 200, 200, 403, 404, 500, 503]).prop_map(Landing::Answered),
        Just(Landing::TimedOut),
        Just(Landing::Unreachable),
        Just(Landing::NotSent),
        Just(Landing::Dropped),
    ];
    let step = prop_oneof![
        (0_u64..6).prop_map(Step::Call),
        any::<usize>().prop_map(Step::MoveOn),
        (any::<usize>(), landing.clone()).prop_map(|(which, landing)| Step::Land(which, landing)),
        (any::<usize>(), landing).prop_map(|(which, landing)| Step::Land(which, landing)),
        (0_u64..3_000_000_000).prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 0..80)
}

struct Call {
    cost: u64,
    hops: Hops<Arc<Manual>>,
    hop: Option<Hop<Arc<Manual>>>,
    /// Where it was tried.
    tried: Vec<usize>,
}

struct World {
    clock: Arc<Manual>,
    router: OnManual,
    calls: Vec<Call>,
    /// What must be missing from each mirror.
    charged: [u64; UPSTREAMS],
}

impl World {
    fn new(order: Order, failures: u32) -> Self {
        let clock = Arc::new(Manual::new());
        let quota = Quota::with_burst(1, Duration::from_secs(366 * 86_400), LIMIT).unwrap();
        let builder = (0..UPSTREAMS).fold(Router::builder(), |builder, _| {
            builder.upstream(mirror(&clock, &[(Dimension::Requests, quota)]))
        });
        let router = builder
            .order(order)
            .failures(failures)
            .slow_start(3, Duration::from_millis(100))
            .build()
            .unwrap();
        Self { clock, router, calls: Vec::new(), charged: [0; UPSTREAMS] }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Call(cost) => {
                let hops = self.router.hops(&Cost::requests(cost));
                self.calls.push(Call { cost, hops, hop: None, tried: Vec::new() });
                self.go(self.calls.len() - 1);
            }
            Step::MoveOn(which) => {
                let idle: Vec<_> = (0..self.calls.len()).filter(|n| self.calls[*n].hop.is_none()).collect();
                if !idle.is_empty() {
                    self.go(idle[which % idle.len()]);
                }
            }
            Step::Land(which, landing) => {
                let away: Vec<_> = (0..self.calls.len()).filter(|n| self.calls[*n].hop.is_some()).collect();
                if !away.is_empty() {
                    self.land(away[which % away.len()], landing);
                }
            }
            Step::Wait(nanos) => self.clock.advance(Duration::from_nanos(nanos)),
        }
    }

    fn go(&mut self, which: usize) {
        let call = &mut self.calls[which];
        match call.hops.try_next() {
            Ok(hop) => {
                assert!(!call.tried.contains(&hop.upstream()), "no upstream is tried twice");
                call.tried.push(hop.upstream());
                assert_eq!(call.hops.tried(), call.tried);
                self.charged[hop.upstream()] += call.cost;
                call.hop = Some(hop);
            }
            Err(refused) => assert!(refused.wait().is_none_or(|wait| !wait.is_zero()), "{refused:?}"),
        }
    }

    fn land(&mut self, which: usize, landing: Landing) {
        let call = &mut self.calls[which];
        let Some(hop) = call.hop.take() else { return };
        let upstream = hop.upstream();
        match landing {
            Landing::Answered(status) => {
                let (status, headers) = (StatusCode::from_u16(status).unwrap(), HeaderMap::new());
                hop.answered(&Reader::new().read(status, &headers, SystemTime::UNIX_EPOCH));
            }
            Landing::TimedOut => hop.timed_out(),
            Landing::Dropped => drop(hop),
            Landing::Unreachable => hop.unreachable(),
            Landing::NotSent => hop.not_sent(),
        }
        if matches!(landing, Landing::Unreachable | Landing::NotSent) {
            self.charged[upstream] -= call.cost;
        }
    }

    fn check(&self) {
        for (upstream, charged) in self.charged.iter().enumerate() {
            assert_eq!(LIMIT - left(&self.router, upstream), *charged, "upstream {upstream}");
        }
    }
}

proptest! {
    #[test]
    fn a_call_is_charged_where_it_went_and_nowhere_else(
        steps in steps(), headroom in any::<bool>(), failures in 1_u32..4,
    ) {
        let order = if headroom { Order::Headroom } else { Order::Preference };
        let mut world = World::new(order, failures);
        for step in steps {
            world.step(step);
            world.check();
        }
    }
}
