//! A mirror that is the only client is never refused, and is no stricter than its provider was when it said so.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::StatusCode;
use proptest::prelude::*;
use tollgate::upstream::{Cost, Dimension, Mirror, MirrorBuilder, Reader, Sent};
use tollgate::{Manual, Nanos, Quota};

use super::provider::{Provider, Rounded, Say, Terms, TokenBucket, Windows};
use super::support::on_manual;

/// No way is longer, in nanoseconds.
const LONGEST_WAY: u64 = 3_000;

/// One attempt to send.
#[derive(Clone, Debug)]
struct Attempt {
    after: u64,
    cost: u64,
    there: u64,
    back: u64,
    say: Say,
    end: End,
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug)]
enum End {
    Answered,
    /// Its response is lost after it has arrived.
    Lost,
    NeverLeft,
}

fn attempt() -> impl Strategy<Value = Attempt> {
    let way = || prop_oneof![3 => 0..20_u64, 2 => 0..LONGEST_WAY];
    let said = || prop::bool::weighted(0.7);
    let say = (said(), said(), said()).prop_map(|(limit, remaining, reset)| Say { limit, remaining, reset });
    let end = prop_oneof![8 => Just(End::Answered), 1 => Just(End::Lost), 1 => Just(End::NeverLeft)];
    let after = prop_oneof![4 => 0..30_u64, 1 => 0..5_000_u64];
    (after, 1..4_u64, way(), way(), say, end).prop_map(|(after, cost, there, back, say, end)| Attempt {
        after,
        cost,
        there,
        back,
        say,
        end,
    })
}

fn terms() -> impl Strategy<Value = Terms> {
    (3..40_u64, 10..2_000_u64).prop_map(|(limit, period)| Terms { limit, period })
}

/// What the numbers of attempts stand for.
#[derive(Clone, Copy, Debug)]
struct Scale {
    dimension: Dimension,
    /// Tokens of a unit of cost.
    cost: u64,
    /// Nanoseconds of a unit of time.
    time: u64,
    /// How many times longer answers take than calls.
    slow: u64,
}

const CALLS: Scale = Scale { dimension: Dimension::Requests, cost: 1, time: 1, slow: 1 };
const SLOW_CALLS: Scale = Scale { slow: 20, ..CALLS };
/// Some hundred tokens, and hundredths of a second.
const TOKENS: Scale = Scale { dimension: Dimension::InputTokens, cost: 371, time: 10_000_000, slow: 1 };

/// What happens next, in the order of time and then of being planned.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Send(usize),
    Arrive(usize),
    Return(usize),
}

struct Play<'a, P> {
    provider: P,
    mirror: Mirror<Arc<Manual>>,
    attempts: &'a [Attempt],
    scale: Scale,
    events: BinaryHeap<Reverse<(u64, usize, Event)>>,
    planned: usize,
    sent: BTreeMap<usize, Sent<Arc<Manual>>>,
    responses: BTreeMap<usize, http::HeaderMap>,
    let_through: usize,
}

impl<P: Provider> Play<'_, P> {
    fn plan(&mut self, at: u64, event: Event) {
        self.planned += 1;
        self.events.push(Reverse((at, self.planned, event)));
    }

    fn happen(&mut self, now: u64, event: Event) {
        match event {
            Event::Send(at) => self.send(now, at),
            Event::Arrive(at) => self.arrive(now, at),
            Event::Return(at) => self.come_back(at),
        }
    }

    fn send(&mut self, now: u64, at: usize) {
        let attempt = &self.attempts[at];
        if let Some(next) = self.attempts.get(at + 1) {
            self.plan(now + next.after * self.scale.time, Event::Send(at + 1));
        }
        let Ok(sent) = self.mirror.try_send(&Cost::of(self.scale.dimension, attempt.cost * self.scale.cost))
        else {
            return;
        };
        self.let_through += 1;
        self.sent.insert(at, sent);
        let event = if matches!(attempt.end, End::NeverLeft) { Event::Return(at) } else { Event::Arrive(at) };
        self.plan(now + attempt.there * self.scale.time, event);
    }

    fn arrive(&mut self, now: u64, at: usize) {
        let attempt = &self.attempts[at];
        assert!(
            self.provider.call(now, attempt.cost * self.scale.cost),
            "refused at {now}: {:?}",
            self.mirror
        );
        self.responses.insert(at, self.provider.fields(now, attempt.say));
        self.plan(now + attempt.back * self.scale.time * self.scale.slow, Event::Return(at));
    }

    fn come_back(&mut self, at: usize) {
        let Some(sent) = self.sent.remove(&at) else { return };
        match self.attempts[at].end {
            End::Answered => {
                let headers = &self.responses[&at];
                sent.answered(&Reader::new().read(StatusCode::OK, headers, SystemTime::UNIX_EPOCH));
            }
            End::Lost => drop(sent),
            End::NeverLeft => sent.not_sent(),
        }
    }
}

/// Plays all attempts, and then tells the last moment and how many were let through.
fn play<P: Provider + Clone>(
    provider: P,
    builder: MirrorBuilder<Arc<Manual>>,
    clock: &Manual,
    attempts: &[Attempt],
    scale: Scale,
) -> Result<usize, TestCaseError> {
    let mirror = builder.build().unwrap();
    let (events, sent, responses) = (BinaryHeap::new(), BTreeMap::new(), BTreeMap::new());
    let mut play =
        Play { provider, mirror, attempts, scale, events, planned: 0, sent, responses, let_through: 0 };
    play.plan(attempts[0].after, Event::Send(0));
    let mut last = 0;
    while let Some(Reverse((now, _, event))) = play.events.pop() {
        clock.set(Nanos::new(now));
        play.happen(now, event);
        last = now;
    }
    no_stricter_after_silence(&mut play, clock, last)?;
    Ok(play.let_through)
}

/// Once all is answered the mirror has at least what the provider had some time ago, to the whole token, and no more than
/// it has now.
fn no_stricter_after_silence<P: Provider + Clone>(
    play: &mut Play<'_, P>,
    clock: &Manual,
    last: u64,
) -> Result<(), TestCaseError> {
    prop_assert_eq!(play.mirror.in_flight(), 0);
    for silence in [0, 10, 500, 10_000].map(|silence| silence * play.scale.time) {
        let was = play.provider.clone().left(last + silence);
        let now = last + silence + play.provider.late() + 2 * LONGEST_WAY * play.scale.time;
        clock.set(Nanos::new(now));
        let is = play.mirror.level(play.scale.dimension).unwrap().available();
        prop_assert!(is + play.provider.slack() >= was, "{} of {} after {} of silence", is, was, silence);
        prop_assert!(is <= play.provider.clone().left(now), "{} at {}", is, now);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn with_a_bucket_it_is_never_refused(
        terms in terms(),
        attempts in prop::collection::vec(attempt(), 1..60),
    ) {
        let (clock, builder) = on_manual();
        let let_through = play(TokenBucket::new(terms), bucket(builder, terms), &clock, &attempts, CALLS)?;
        prop_assert!(let_through > 0);
    }

    #[test]
    fn with_windows_it_is_never_refused(
        terms in terms(),
        ahead in 0..2_000_u64,
        attempts in prop::collection::vec(attempt(), 1..60),
    ) {
        let (clock, builder) = on_manual();
        let provider = Windows::new(terms, ahead % terms.period);
        play(provider, windows(builder, terms), &clock, &attempts, CALLS)?;
    }

    #[test]
    fn nor_where_figures_are_rounded(
        terms in terms(),
        attempts in prop::collection::vec(attempt(), 1..60),
    ) {
        let terms = Terms { limit: terms.limit * 1_000, period: terms.period * 10_000_000 };
        let (clock, builder) = on_manual();
        let quota = Quota::new(terms.limit, Duration::from_nanos(terms.period)).unwrap();
        let builder = builder.limit(Dimension::InputTokens, quota);
        play(Rounded(TokenBucket::new(terms)), builder, &clock, &attempts, TOKENS)?;
    }

    #[test]
    fn nor_where_calls_are_counted_long_before_they_are_answered(
        terms in terms(),
        ahead in 0..2_000_u64,
        attempts in prop::collection::vec(attempt(), 1..60),
    ) {
        let within = Duration::from_nanos(LONGEST_WAY);
        let (clock, builder) = on_manual();
        play(TokenBucket::new(terms), bucket(builder, terms).counted_within(within), &clock, &attempts, SLOW_CALLS)?;
        let (clock, builder) = on_manual();
        let provider = Windows::new(terms, ahead % terms.period);
        play(provider, windows(builder, terms).counted_within(within), &clock, &attempts, SLOW_CALLS)?;
    }
}

fn bucket(builder: MirrorBuilder<Arc<Manual>>, terms: Terms) -> MirrorBuilder<Arc<Manual>> {
    let quota = Quota::new(terms.limit, Duration::from_nanos(terms.period)).unwrap();
    builder.limit(Dimension::Requests, quota)
}

fn windows(builder: MirrorBuilder<Arc<Manual>>, terms: Terms) -> MirrorBuilder<Arc<Manual>> {
    builder.window(Dimension::Requests, terms.limit, Duration::from_nanos(terms.period))
}
