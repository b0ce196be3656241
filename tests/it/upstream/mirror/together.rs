//! Clients that share a credential without knowing of each other.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderValue, StatusCode};
use tollgate::upstream::{Cost, Dimension, Mirror, MirrorBuilder, Reader, Refused, Sent};
use tollgate::{Manual, Nanos, Quota};

use super::provider::{Provider, Say, Terms, TokenBucket, Windows};

const MILLI: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MILLI;
const END: u64 = 60 * SECOND;
const ALL: Say = Say { limit: true, remaining: true, reset: true };

type OnManual = Mirror<Arc<Manual>>;

enum Event {
    /// A client that has more to send than it may wakes up.
    Wake(usize),
    /// A client is idle for two seconds.
    Rest(usize),
    Arrive(usize, Sent<Arc<Manual>>),
    Return(usize, Sent<Arc<Manual>>, StatusCode, HeaderMap),
}

struct Play<P> {
    provider: P,
    clock: Arc<Manual>,
    mirrors: Vec<OnManual>,
    /// Time and place of what is planned; the events themselves have no order.
    order: BinaryHeap<Reverse<(u64, usize)>>,
    events: Vec<Option<Event>>,
    /// The time that each client sleeps until.
    asleep: Vec<u64>,
    trip: u64,
    random: u64,
    served: Vec<u64>,
    refused: u64,
}

impl<P> fmt::Display for Play<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "served {:?}, {} refused", self.served, self.refused)
    }
}

impl<P: Provider> Play<P> {
    fn new(provider: P, trip: u64, builder: &MirrorBuilder, clients: usize) -> Self {
        let clock = Arc::new(Manual::new());
        Self {
            provider,
            mirrors: (0..clients)
                .map(|_| builder.clone().clock(Arc::clone(&clock)).build().unwrap())
                .collect(),
            clock,
            order: BinaryHeap::new(),
            events: Vec::new(),
            asleep: vec![u64::MAX; clients],
            trip: trip * MILLI,
            random: 88_172_645_463_325_252,
            served: vec![0; clients],
            refused: 0,
        }
    }

    /// Plans that each client in turn is idle for two seconds, every five.
    fn with_rests(mut self) -> Self {
        for second in (5..60).step_by(5) {
            self.plan(second * SECOND, Event::Rest(second as usize / 5 % self.mirrors.len()));
        }
        self
    }

    /// Plays a minute, in which every client always has something to send.
    fn play(mut self) -> Self {
        for client in 0..self.mirrors.len() {
            let at = self.below(10 * MILLI);
            self.plan(at, Event::Wake(client));
        }
        while let Some(Reverse((now, at))) = self.order.pop().filter(|Reverse((now, _))| *now < END) {
            self.clock.set(Nanos::new(now));
            let Some(event) = self.events[at].take() else { continue };
            self.happen(now, event);
        }
        self
    }

    fn happen(&mut self, now: u64, event: Event) {
        match event {
            Event::Rest(client) => self.mirrors[client].pause_for(Duration::from_secs(2)),
            Event::Wake(client) => {
                if self.asleep[client] <= now {
                    self.asleep[client] = u64::MAX;
                }
                self.send_all(now, client);
            }
            Event::Arrive(client, sent) => {
                let is_served = self.provider.call(now, 1);
                let mut headers = self.provider.fields(now, ALL);
                let status = if is_served { StatusCode::OK } else { StatusCode::TOO_MANY_REQUESTS };
                if is_served {
                    self.served[client] += 1;
                } else {
                    self.refused += 1;
                    headers.insert("retry-after", HeaderValue::from_static("1"));
                }
                let back = self.trip / 2 + self.below(self.trip / 5);
                self.plan(now + back, Event::Return(client, sent, status, headers));
            }
            Event::Return(client, sent, status, headers) => {
                sent.answered(&Reader::new().read(status, &headers, SystemTime::UNIX_EPOCH));
                self.send_all(now, client);
            }
        }
    }

    fn send_all(&mut self, now: u64, client: usize) {
        loop {
            match self.mirrors[client].try_send(&Cost::requests(1)) {
                Ok(sent) => {
                    let there = self.trip / 2 + self.below(self.trip / 5);
                    self.plan(now + there, Event::Arrive(client, sent));
                }
                Err(Refused::NotYet { wait, .. } | Refused::Paused { wait }) => {
                    let at = now + wait.as_nanos() as u64 + self.below(MILLI / 2);
                    if at < self.asleep[client] {
                        self.asleep[client] = at;
                        self.plan(at, Event::Wake(client));
                    }
                    return;
                }
                Err(other) => panic!("{other}"),
            }
        }
    }

    fn plan(&mut self, at: u64, event: Event) {
        self.order.push(Reverse((at, self.events.len())));
        self.events.push(Some(event));
    }

    /// A number below `end` (xorshift).
    fn below(&mut self, end: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % end.max(1)
    }

    fn all_served(&self) -> u64 {
        self.served.iter().sum()
    }

    /// Parts per thousand of the calls that were refused.
    fn refused_per_mille(&self) -> u64 {
        self.refused * 1000 / (self.refused + self.all_served())
    }
}

const PER_SECOND: Terms = Terms { limit: 100, period: SECOND };
const PER_MINUTE: Terms = Terms { limit: 6_000, period: 60 * SECOND };

fn bucket(terms: Terms) -> MirrorBuilder {
    let quota = Quota::new(terms.limit, Duration::from_nanos(terms.period)).unwrap();
    Mirror::builder().limit(Dimension::Requests, quota)
}

fn windowed(terms: Terms) -> MirrorBuilder {
    Mirror::builder().window(Dimension::Requests, terms.limit, Duration::from_nanos(terms.period))
}

/// What is offered in the minute, with what is there at first.
fn offered(terms: Terms) -> u64 {
    terms.limit + terms.limit * (END / terms.period)
}

#[test]
fn equal_clients_use_all_of_a_bucket_and_are_hardly_ever_refused() {
    for (terms, trip) in [(PER_SECOND, 2), (PER_SECOND, 20), (PER_SECOND, 100), (PER_MINUTE, 20)] {
        let played = Play::new(TokenBucket::new(terms), trip, &bucket(terms).shared(), 3).play();
        let shown = format!("{terms:?}, {trip} ms: {played}");
        assert!(played.refused_per_mille() < 20, "{shown}");
        assert!(played.all_served() * 100 >= 95 * offered(terms), "{shown}");
        // Who was there first takes more of what was there at first.
        let first = if terms.limit > 100 { terms.limit } else { 0 };
        let later = played.all_served() - first;
        assert!(played.served.iter().all(|served| *served * 5 > later), "{shown}");
    }
}

#[test]
fn equal_clients_use_all_of_windows_and_are_hardly_ever_refused() {
    for (terms, trip) in [(PER_SECOND, 2), (PER_SECOND, 20), (PER_SECOND, 100), (PER_MINUTE, 20)] {
        let provider = Windows::new(terms, terms.period / 3);
        let played = Play::new(provider, trip, &windowed(terms).shared(), 3).play();
        let shown = format!("{terms:?}, {trip} ms: {played}");
        assert!(played.refused_per_mille() < 20, "{shown}");
        // Of a window of ten round trips a little more is lost, before anybody knows that it has begun.
        let least = if trip == 100 { 90 } else { 95 };
        assert!(played.all_served() * 100 >= least * terms.limit * (END / terms.period), "{shown}");
    }
}

#[test]
fn one_that_comes_back_finds_the_others_at_work() {
    for trip in [2, 20] {
        let play = Play::new(TokenBucket::new(PER_SECOND), trip, &bucket(PER_SECOND).shared(), 3);
        let played = play.with_rests().play();
        assert!(played.refused_per_mille() < 20, "{trip} ms: {played}");
        assert!(played.all_served() * 100 >= 95 * offered(PER_SECOND), "{trip} ms: {played}");
    }
}

#[test]
fn without_a_share_each_takes_all_of_it_and_most_are_refused() {
    let played = Play::new(TokenBucket::new(PER_SECOND), 20, &bucket(PER_SECOND), 3).play();
    assert!(played.refused_per_mille() > 300, "{played}");
}

#[test]
fn one_alone_has_all_of_it() {
    for builder in [bucket(PER_SECOND), bucket(PER_SECOND).shared()] {
        let played = Play::new(TokenBucket::new(PER_SECOND), 20, &builder, 1).play();
        assert_eq!(played.refused, 0, "{played}");
        assert!(played.all_served() >= 5_950, "{played}");
    }
}
