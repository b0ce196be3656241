//! A simulated server: so many workers, a short queue before them, and rejection behind it. Its capacity steps.
//!
//! `benches/src/bin/adaptive.rs` draws what it does; so it uses nothing but the crate.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;

use tollgate::inflight::{Adaptive, Algorithm, Outcome, Watched};
use tollgate::{Manual, Nanos};

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const S: u64 = 1_000 * MS;

/// What the server can do, and what is asked of it.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    /// From which time on, in nanoseconds, there are so many workers.
    pub(crate) workers: Vec<(u64, u32)>,
    /// How many requests may wait before the workers; beyond that they are rejected at once.
    pub(crate) queue: usize,
    /// Nanoseconds of work a request, give or take a fifth.
    pub(crate) work: u64,
    /// Nanoseconds from one request to the next, give or take a fifth.
    pub(crate) between: u64,
    /// When it ends, in nanoseconds.
    pub(crate) end: u64,
}

impl Setup {
    /// Forty workers, ten from the tenth to the twentieth second, then forty again; a queue of ten; more requests than
    /// the forty can do.
    pub(crate) fn down_and_up() -> Self {
        let workers = vec![(0, 40), (10 * S, 10), (20 * S, 40)];
        Self { workers, queue: 10, work: 20 * MS, between: S / 4_000, end: 30 * S }
    }

    /// How many workers there are at a time.
    pub(crate) fn workers_at(&self, now: u64) -> u32 {
        self.workers.iter().take_while(|(from, _)| *from <= now).last().map_or(0, |&(_, workers)| workers)
    }
}

/// How it stands at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    /// In nanoseconds.
    pub(crate) at: u64,
    pub(crate) limit: u32,
    /// Requests done, rejected by the server, and held back by the limit, all since the start.
    pub(crate) done: u64,
    pub(crate) rejected: u64,
    pub(crate) held_back: u64,
}

type Permit<A> = Watched<A, Arc<Manual>>;

struct Server<'a, A> {
    setup: &'a Setup,
    limit: &'a Adaptive<A, Arc<Manual>>,
    now: u64,
    busy: BTreeMap<u64, Permit<A>>,
    ends: BinaryHeap<Reverse<(u64, u64)>>,
    queue: VecDeque<Permit<A>>,
    started: u64,
    random: u64,
    point: Point,
}

/// Runs the server, and tells how it stands every `every` nanoseconds.
pub(crate) fn run<A: Algorithm>(setup: &Setup, limit: &Adaptive<A, Arc<Manual>>, every: u64) -> Vec<Point> {
    let point = Point { at: 0, limit: limit.limit(), done: 0, rejected: 0, held_back: 0 };
    let mut server = Server {
        setup,
        limit,
        now: 0,
        busy: BTreeMap::new(),
        ends: BinaryHeap::new(),
        queue: VecDeque::new(),
        started: 0,
        random: 1,
        point,
    };
    let mut points = Vec::new();
    let mut arrival = 0;
    for at in (0..=setup.end).step_by(every as usize) {
        while server.next_end().min(arrival) <= at {
            if server.next_end() <= arrival {
                server.end_one();
            } else {
                server.arrive(arrival);
                arrival += server.about(setup.between);
            }
        }
        points.push(Point { at, limit: limit.limit(), ..server.point });
    }
    points
}

impl<A: Algorithm> Server<'_, A> {
    fn next_end(&self) -> u64 {
        self.ends.peek().map_or(u64::MAX, |Reverse((end, _))| *end)
    }

    fn set(&mut self, now: u64) {
        self.now = now;
        self.limit.clock().set(Nanos::new(now));
    }

    fn arrive(&mut self, now: u64) {
        self.set(now);
        self.start_waiting();
        match self.limit.try_acquire() {
            Err(_) => self.point.held_back += 1,
            Ok(permit) if self.has_free_worker() => self.start(permit),
            Ok(permit) if self.queue.len() < self.setup.queue => self.queue.push_back(permit),
            Ok(permit) => {
                self.point.rejected += 1;
                permit.finish(Outcome::Dropped);
            }
        }
    }

    fn end_one(&mut self) {
        let Some(Reverse((end, number))) = self.ends.pop() else { return };
        self.set(end);
        if let Some(permit) = self.busy.remove(&number) {
            self.point.done += 1;
            permit.finish(Outcome::Success);
        }
        self.start_waiting();
    }

    fn start_waiting(&mut self) {
        while self.has_free_worker() {
            let Some(permit) = self.queue.pop_front() else { return };
            self.start(permit);
        }
    }

    fn start(&mut self, permit: Permit<A>) {
        let end = self.now + self.about(self.setup.work);
        self.started += 1;
        self.busy.insert(self.started, permit);
        self.ends.push(Reverse((end, self.started)));
    }

    fn has_free_worker(&self) -> bool {
        (self.busy.len() as u32) < self.setup.workers_at(self.now)
    }

    /// So much, give or take a fifth (a linear congruential generator, Knuth's constants).
    fn about(&mut self, mean: u64) -> u64 {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        mean * 4 / 5 + (self.random >> 33) % (mean * 2 / 5)
    }
}
