//! A simulated upstream that says nothing of its limit but "no", and callers that want more than it allows.
//!
//! It counts in floats, and shares nothing with the crate. `examples/adaptation.rs` draws what it does; so it uses nothing but
//! the crate.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use tollgate::upstream::{AdaptiveRate, Trial};
use tollgate::{Manual, Nanos};

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const S: u64 = 1_000 * MS;

/// How the upstream counts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// A bucket of so many requests.
    Bucket(f64),
    /// So many windows a second, each with its part of a second's requests.
    Windows(u64),
}

/// What the upstream allows, and what is asked of it.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) kind: Kind,
    /// From which time on, in nanoseconds, it allows so many requests a second.
    pub(crate) limits: Vec<(u64, f64)>,
    /// Nanoseconds from a request to its answer, up to a fifth more.
    pub(crate) latency: u64,
    /// Nanoseconds from one request that is wanted to the next, give or take a fifth.
    pub(crate) between: u64,
    /// When it ends, in nanoseconds.
    pub(crate) end: u64,
    pub(crate) seed: u64,
}

impl Setup {
    /// A hundred a second, forty from the twentieth to the fortieth second, then a hundred again; half as much again is
    /// wanted, and an answer takes 50 ms.
    pub(crate) fn down_and_up(kind: Kind) -> Self {
        let limits = vec![(0, 100.0), (20 * S, 40.0), (40 * S, 100.0)];
        Self { kind, limits, latency: 50 * MS, between: S / 150, end: 60 * S, seed: 1 }
    }

    /// What is allowed at a time, a second.
    pub(crate) fn limit_at(&self, now: u64) -> f64 {
        self.limits.iter().take_while(|(from, _)| *from <= now).last().map_or(0.0, |&(_, limit)| limit)
    }
}

/// What happened until a time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Point {
    /// In nanoseconds.
    pub(crate) at: u64,
    /// The rate in force, in parts per thousand of the base.
    pub(crate) permille: u32,
    /// Requests accepted and refused by the upstream and held back by the limiter, since the start, by the time of sending.
    pub(crate) accepted: u64,
    pub(crate) refused: u64,
    pub(crate) held_back: u64,
}

type Rate = AdaptiveRate<Arc<Manual>>;

struct Run<'a> {
    setup: &'a Setup,
    rate: &'a Rate,
    upstream: Upstream,
    answers: BinaryHeap<Reverse<(u64, u64)>>,
    calls: BTreeMap<u64, (Trial<Arc<Manual>>, bool)>,
    sent: u64,
    random: u64,
    point: Point,
}

/// Runs it, and tells how it stands every `every` nanoseconds.
pub(crate) fn run(setup: &Setup, rate: &Rate, every: u64) -> Vec<Point> {
    let mut run = Run {
        setup,
        rate,
        upstream: Upstream::new(setup.kind),
        answers: BinaryHeap::new(),
        calls: BTreeMap::new(),
        sent: 0,
        random: setup.seed,
        point: Point::default(),
    };
    let (mut points, mut wanted) = (Vec::new(), 0);
    for at in (0..=setup.end).step_by(every as usize) {
        while run.next_answer().min(wanted) <= at {
            if run.next_answer() <= wanted {
                run.answer();
            } else {
                run.want(wanted);
                wanted += setup.between * 4 / 5 + run.below(setup.between * 2 / 5);
            }
        }
        points.push(Point { at, permille: rate.permille(), ..run.point });
    }
    points
}

impl Run<'_> {
    fn next_answer(&self) -> u64 {
        self.answers.peek().map_or(u64::MAX, |Reverse((at, _))| *at)
    }

    fn want(&mut self, now: u64) {
        self.rate.clock().set(Nanos::new(now));
        let Ok(call) = self.rate.try_send() else {
            self.point.held_back += 1;
            return;
        };
        let is_accepted = self.upstream.accepts(now, self.setup.limit_at(now));
        *(if is_accepted { &mut self.point.accepted } else { &mut self.point.refused }) += 1;
        let at = now + self.setup.latency + self.below(self.setup.latency / 5);
        self.answers.push(Reverse((at, self.sent)));
        self.calls.insert(self.sent, (call, is_accepted));
        self.sent += 1;
    }

    fn answer(&mut self) {
        let Some(Reverse((now, number))) = self.answers.pop() else { return };
        self.rate.clock().set(Nanos::new(now));
        match self.calls.remove(&number) {
            Some((call, true)) => call.succeeded(),
            Some((call, false)) => call.refused(None),
            None => {}
        }
    }

    /// A number below another, by a generator of Knuth's.
    fn below(&mut self, end: u64) -> u64 {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.random >> 33) * end) >> 31
    }
}

struct Upstream {
    kind: Kind,
    last: u64,
    tokens: f64,
    window: u64,
    used: f64,
}

impl Upstream {
    fn new(kind: Kind) -> Self {
        let tokens = if let Kind::Bucket(burst) = kind { burst } else { 0.0 };
        Self { kind, last: 0, tokens, window: 0, used: 0.0 }
    }

    fn accepts(&mut self, now: u64, limit: f64) -> bool {
        match self.kind {
            Kind::Bucket(burst) => {
                self.tokens = (self.tokens + (now - self.last) as f64 / 1e9 * limit).min(burst);
                self.last = now;
                let fits = self.tokens >= 1.0;
                self.tokens -= if fits { 1.0 } else { 0.0 };
                fits
            }
            Kind::Windows(a_second) => {
                let window = now * a_second / S;
                if window != self.window {
                    (self.window, self.used) = (window, 0.0);
                }
                let fits = self.used + 1.0 <= limit / a_second as f64;
                self.used += if fits { 1.0 } else { 0.0 };
                fits
            }
        }
    }
}
