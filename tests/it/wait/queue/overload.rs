//! More work than can be done: every entry ends as the rational model says, at the reading that it says.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use proptest::prelude::*;
use tokio::time::{Sleep, sleep_until};
use tollgate::wait::{Queue, Timer};
use tollgate::{Bucket, Clock};

use super::reference::{Call, End, Reference};
use super::{Crowd, Hands};
use crate::oracle::Oracle;
use crate::support::{MS, S, nanos, quota};
use crate::wait::{Paused, in_paused_time};

const RATE: u64 = 100;
const BURST: u64 = 10;
const WAIT: u64 = 2 * S;
const SECONDS: u64 = 60;

struct Tokio;

impl Timer for Tokio {
    type Sleep = Pin<Box<Sleep>>;

    fn sleep(&self, span: Duration) -> Self::Sleep {
        Box::pin(tokio::time::sleep(span))
    }
}

/// Ten calls each 10 ms, where tokens are issued for one. Never at the reading at which one is issued: then either could
/// be first.
fn arrivals() -> impl Iterator<Item = (u64, Call)> {
    let mut random = 1_u64;
    (0..SECONDS * 1000)
        .filter(|ms| *ms == 0 || ms % 10 != 0)
        .flat_map(|ms| [ms].repeat(1 + usize::from(ms % 10 == 5)))
        .map(move |ms| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (class, patience) = ((random >> 33) % 4, 10 + (random >> 40) % 3000);
            (ms * MS, Call { class: class as u8, cost: 1, until: (ms + patience) * MS })
        })
}

/// Sixty seconds at ten times the rate, in tokio's paused time, four classes, deadlines from 10 ms to 3 s.
#[test]
fn ten_times_overload() {
    let queue_of = |bucket: Bucket<Paused>| Queue::new(bucket, nanos(WAIT), Tokio);
    let calls: Vec<_> = arrivals().collect();
    let ends = in_paused_time(quota(RATE, S, BURST), async move |bucket| {
        let Paused(start) = *bucket.clock();
        let queue = queue_of(bucket);
        let ends = Rc::new(RefCell::new(vec![None; calls.len()]));
        for (number, (reading, call)) in calls.into_iter().enumerate() {
            sleep_until(start + nanos(reading)).await;
            let (ends, future) = (Rc::clone(&ends), queue.acquire(call.entry()));
            tokio::task::spawn_local(async move {
                let answer = future.await;
                let reading = Paused(start).now().as_u64();
                assert!(answer.is_err() || reading <= call.until, "{call:?} admitted at {reading}");
                ends.borrow_mut()[number] = Some(End::told(reading, answer));
            });
            tokio::task::yield_now().await;
            assert!(queue.len() <= queue.depth() && queue.age() <= Some(nanos(WAIT)), "{queue:?}");
        }
        while !queue.is_empty() {
            tokio::time::sleep(nanos(MS)).await;
        }
        ends.borrow().clone()
    });
    for (number, (told, expected)) in ends.iter().zip(expected_ends()).enumerate() {
        assert_eq!(*told, expected, "{number}");
    }
    check_shares(&ends);
}

fn expected_ends() -> Vec<Option<End>> {
    let depth = (RATE * WAIT / S) as usize;
    let mut model = Reference::new(Oracle::new(RATE, S.into(), BURST), depth, WAIT);
    arrivals().for_each(|(reading, call)| {
        model.enter(reading, call);
        assert!(model.len() <= depth);
    });
    model.go_to(2 * SECONDS * S);
    model.ends
}

/// Eight, four, two and one of fifteen, while all classes wait; and nothing of the rate is lost.
fn check_shares(ends: &[Option<End>]) {
    let mut served = [0; 4];
    let last = SECONDS * S;
    for ((_, call), end) in arrivals().zip(ends) {
        if matches!(end, Some(End::Admitted(reading)) if *reading <= last) {
            served[usize::from(call.class)] += 1;
        }
    }
    let all: u64 = served.iter().sum();
    assert_eq!(all, BURST + RATE * SECONDS, "{served:?}");
    for (class, served) in served.into_iter().enumerate() {
        let share = all * (8 >> class) / 15;
        assert!(served.abs_diff(share) <= BURST, "class {class}: {served} of {all}, its share is {share}");
    }
}

#[derive(Clone, Debug)]
enum Step {
    Enter { class: u8, cost: u64, patience: u64 },
    Cancel(usize),
}

fn steps() -> impl Strategy<Value = Vec<(u64, Step)>> {
    let patience = prop_oneof![3 => 0..3 * S, 1 => Just(u64::MAX >> 4)];
    let step = prop_oneof![
        6 => (0..8_u8, 1..8_u64, patience)
            .prop_map(|(class, cost, patience)| Step::Enter { class, cost, patience }),
        1 => (0..60_usize).prop_map(Step::Cancel),
    ];
    let span = prop_oneof![2 => Just(0), 3 => 0..100 * MS, 1 => 0..3 * S];
    prop::collection::vec((span, step), 1..60)
}

/// Rates on the exact scale, and what costs must leave of the capacity. With several units a nanosecond a bucket that is
/// emptied as soon as it is full has been full for a part of one; what is lost in that is not known in advance.
fn rates() -> impl Strategy<Value = (u64, u64, u64)> {
    prop_oneof![Just((10, S, 0)), Just((1000, S, 0)), Just((3, S, 1)), Just((7, 6 * S, 1))]
}

proptest! {
    /// Any schedule of entering and giving up, at any reading, on scales that are exact.
    #[test]
    fn every_entry_ends_as_the_model_says(
        (tokens, period, spare) in rates(),
        burst in 7..12_u64,
        depth in 1..12_usize,
        wait in prop_oneof![Just(2 * S), Just(S / 7), Just(100 * S)],
        steps in steps(),
    ) {
        let hands = Hands::default();
        let bucket = Bucket::with_clock(quota(tokens, period, burst), hands.clone());
        let queue = Queue::with_depth(bucket, nanos(wait), depth, hands.clone());
        let mut crowd = Crowd::new((queue, hands));
        let mut model = Reference::new(Oracle::new(tokens, period.into(), burst), depth, wait);
        let mut now = 0;
        for (span, step) in steps {
            now += span;
            crowd.go_to(now);
            match step {
                Step::Enter { class, cost, patience } => {
                    let cost = cost.min(burst - spare);
                    let call = Call { class, cost, until: now + patience };
                    crowd.enter(call.entry());
                    model.enter(now, call);
                }
                Step::Cancel(number) if number < model.ends.len() => {
                    crowd.cancel(number);
                    model.cancel(now, number);
                }
                Step::Cancel(_) => {}
            }
            crowd.settle();
            model.go_to(now);
            prop_assert_eq!(crowd.queue.len(), model.len());
        }
        crowd.finish();
        model.go_to(now + 1000 * S);
        for (number, expected) in model.ends.iter().enumerate() {
            let told = crowd.end(number).map(|(reading, answer)| End::told(*reading, *answer));
            prop_assert_eq!(told, expected.filter(|end| *end != End::Cancelled), "{}", number);
        }
        prop_assert!(crowd.hands.most() <= 1 && crowd.most_wakes() <= 1);
    }
}
