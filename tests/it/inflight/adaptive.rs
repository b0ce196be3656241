//! A limit that finds its own height.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use proptest::prelude::*;
use tollgate::inflight::{
    Adaptive, Aimd, Algorithm, Bounds, Gradient, LimitError, NoPermit, Outcome, Sample, Watched,
};
use tollgate::{Manual, Nanos};

use super::Task;
use super::gradient2::Gradient2;
use super::server::{MS, Point, S, Setup, run};

fn adaptive<A: Algorithm>(algorithm: A, bounds: Bounds) -> Adaptive<A, Arc<Manual>> {
    Adaptive::with_clock(algorithm, bounds, Arc::new(Manual::new()))
}

fn bounds() -> Bounds {
    Bounds::new(4, 20, 200).unwrap()
}

fn sample(latency: u64, in_flight: u32) -> Sample {
    Sample { latency: Duration::from_nanos(latency), in_flight, is_dropped: false }
}

fn dropped(in_flight: u32) -> Sample {
    Sample { is_dropped: true, ..sample(MS, in_flight) }
}

/// `AIMDLimit` of Netflix' concurrency-limits with its defaults, as plainly as it stands there.
struct AimdLimit;

impl Algorithm for AimdLimit {
    fn next(&mut self, estimate: f64, sample: &Sample) -> f64 {
        let limit = estimate as i64;
        let next = if sample.is_dropped || sample.latency.as_secs_f64() > 5.0 {
            1.max((limit - 1).min((limit as f64 * 0.9) as i64))
        } else if i64::from(sample.in_flight) * 2 >= limit {
            limit + 1
        } else {
            limit
        };
        next as f64
    }
}

proptest! {
    #[test]
    fn the_gradient_goes_as_published(
        samples in prop::collection::vec((1..100 * MS, 1..40_u32), 1..400),
    ) {
        let (mut ours, mut theirs, mut estimate) = (Gradient::default(), Gradient2::default(), 20.0);
        for (latency, in_flight) in samples {
            // Both from one estimate: where it is exactly twice what is in flight, a rounding would decide.
            let expected = theirs.next(estimate, &sample(latency, in_flight)).clamp(4.0, 200.0);
            estimate = ours.next(estimate, &sample(latency, in_flight)).clamp(4.0, 200.0);
            prop_assert!((estimate - expected).abs() < 1e-6, "{} {}", estimate, expected);
        }
    }

    #[test]
    fn aimd_goes_as_published(
        samples in prop::collection::vec((1..10 * S, 1..60_u32, prop::bool::weighted(0.1)), 1..400),
    ) {
        let (mut ours, mut estimate, mut expected) = (Aimd::default(), 20.0, 20.0);
        for (latency, in_flight, is_dropped) in samples {
            let sample = Sample { is_dropped, ..sample(latency, in_flight) };
            estimate = ours.next(estimate, &sample).clamp(4.0, 200.0);
            expected = AimdLimit.next(expected, &sample).clamp(4.0, 200.0);
            prop_assert_eq!(estimate, expected);
        }
    }

    /// Whatever happens, and whatever an algorithm says.
    #[test]
    fn the_bounds_are_never_crossed(
        (min, initial, max) in (1..50_u32, 0..50_u32, 0..50_u32).prop_map(|(min, a, b)| (min, min + a, min + a + b)),
        estimates in prop::collection::vec(prop_oneof![any::<f64>(), 0.0..200.0], 1..50),
    ) {
        struct Wild(std::vec::IntoIter<f64>);
        impl Algorithm for Wild {
            fn next(&mut self, _: f64, _: &Sample) -> f64 {
                self.0.next().unwrap_or(f64::NAN)
            }
        }
        let limit = adaptive(Wild(estimates.clone().into_iter()), Bounds::new(min, initial, max).unwrap());
        let mut last = initial;
        for estimate in estimates {
            limit.try_acquire().unwrap().finish(Outcome::Success);
            prop_assert!((min..=max).contains(&limit.limit()));
            last = if estimate.is_nan() { last } else { estimate.clamp(min.into(), max.into()) as u32 };
            prop_assert_eq!(limit.limit(), last);
        }
    }
}

#[test]
fn the_estimate_does_not_wind_up_behind_a_bound() {
    let limit = adaptive(Aimd::default(), Bounds::new(4, 20, 22).unwrap());
    let held: Vec<_> = (0..10).map(|_| limit.try_acquire().unwrap()).collect();
    (0..100).for_each(|_| limit.try_acquire().unwrap().finish(Outcome::Success));
    assert_eq!(limit.limit(), 22);
    limit.try_acquire().unwrap().finish(Outcome::Dropped);
    assert_eq!(limit.limit(), 19, "nine tenths of 22, not of 120");
    drop(held);
}

#[test]
fn a_drop_lowers_and_what_is_ignored_changes_nothing() {
    let clock = Arc::new(Manual::new());
    let limit = Adaptive::with_clock(Aimd::default(), bounds(), Arc::clone(&clock));
    limit.try_acquire().unwrap().finish(Outcome::Ignored);
    drop(limit.try_acquire().unwrap());
    assert_eq!((limit.limit(), limit.in_use()), (20, 0));
    limit.try_acquire().unwrap().finish(Outcome::Success);
    assert_eq!(limit.limit(), 20, "one of twenty in use: nobody needs more");
    limit.try_acquire().unwrap().finish(Outcome::Dropped);
    assert_eq!(limit.limit(), 18);
    let slow = limit.try_acquire().unwrap();
    clock.advance(Duration::from_secs(6));
    assert_eq!(slow.age(), Duration::from_secs(6));
    slow.finish(Outcome::Success);
    assert_eq!(limit.limit(), 16, "above the time-out of 5 s");
    let local = limit.try_acquire().unwrap();
    clock.advance(Duration::from_secs(6));
    local.finish_after(Duration::from_secs(1), Outcome::Success);
    assert_eq!(limit.limit(), 16, "most of it was not the far end's");
    let half: Vec<_> = (0..8).map(|_| limit.try_acquire().unwrap()).collect();
    half.into_iter().for_each(|permit| permit.finish(Outcome::Success));
    assert_eq!((limit.limit(), limit.in_use()), (17, 0), "the eighth saw half of the limit in use");
}

#[test]
fn aimd_at_the_lowest_limits() {
    let mut rule = Aimd::default();
    let limits: Vec<f64> = (1..=12).map(|limit| rule.next(limit.into(), &dropped(limit))).collect();
    assert_eq!(limits, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 9.0, 10.0]);
}

#[test]
fn a_gradient_learns_from_drops_too() {
    let mut rule = Gradient::default();
    let mut estimate = 100.0;
    for _ in 0..10 {
        estimate = rule.next(estimate, &dropped(100));
    }
    assert!((estimate - 100.0 * 0.9_f64.powi(10)).abs() < 1e-9, "{estimate}");
    assert_eq!(Gradient::default().next(20.0, &sample(0, 20)), 20.8, "a latency of nothing is no fault");
}

#[test]
fn parameters_that_cannot_be() {
    let second = Duration::from_secs(1);
    for backoff in [0.49, 1.0, f64::NAN] {
        let error = Aimd::new(backoff, second).unwrap_err();
        assert_eq!(error.to_string(), "`backoff` must be from 0.5 to less than 1");
    }
    assert!(Aimd::new(0.5, Duration::ZERO).unwrap_err().to_string().contains("timeout"));
    assert!(Aimd::new(0.5, Duration::from_nanos(1)).is_ok());
    let gradient = Gradient::default;
    assert!(gradient().queue(0).is_err() && gradient().queue(1).is_ok());
    assert!(gradient().smoothing(0.0).is_err() && gradient().smoothing(1.0).is_ok());
    assert!(gradient().smoothing(1.01).is_err() && gradient().smoothing(f64::NAN).is_err());
    assert!(gradient().tolerance(0.99).is_err() && gradient().tolerance(1.0).is_ok());
    assert!(gradient().tolerance(f64::INFINITY).is_err());
    assert!(gradient().window(9).is_err() && gradient().window(10).is_ok());
    assert_eq!(Bounds::new(0, 1, 2), Err(LimitError::OutOfRange { limit: 0 }));
    for (min, initial, max) in [(2, 1, 3), (1, 4, 3)] {
        let error = Bounds::new(min, initial, max).unwrap_err();
        assert_eq!(error, LimitError::OutOfOrder { min, initial, max });
        assert!(error.to_string().ends_with("it must be min <= initial <= max"), "{error}");
    }
    let bounds = Bounds::new(1, 2, 3).unwrap();
    assert_eq!((bounds.min(), bounds.initial(), bounds.max()), (1, 2, 3));
}

/// Whoever is woken because the limit rose may have work of its own that has ended: no lock is held while it is woken.
#[test]
fn who_is_woken_may_finish_work_at_once() {
    struct Finishes(Mutex<Option<Watched<Aimd, Arc<Manual>>>>);

    impl Wake for Finishes {
        fn wake(self: Arc<Self>) {
            let watched = self.0.lock().unwrap().take();
            watched.expect("it is woken once").finish(Outcome::Success);
        }
    }

    let limit = adaptive(Aimd::default(), Bounds::new(2, 2, 10).unwrap());
    let (first, second) = (limit.try_acquire().unwrap(), limit.try_acquire().unwrap());
    let waker = Waker::from(Arc::new(Finishes(Mutex::new(Some(second)))));
    let mut waiting = Box::pin(limit.acquire());
    assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    first.finish(Outcome::Success);
    assert!(matches!(waiting.as_mut().poll(&mut Context::from_waker(&waker)), Poll::Ready(Ok(_))));
    assert_eq!((limit.limit(), limit.in_use()), (4, 0));
}

#[test]
fn waiting_for_a_limit_that_moves() {
    let limit = adaptive(Aimd::default(), Bounds::new(1, 2, 3).unwrap().max_waiting(2));
    let (one, two) = (limit.try_acquire().unwrap(), limit.clone().try_acquire().unwrap());
    let (mut third, mut fourth) = (Task::pending(limit.acquire()), Task::pending(limit.acquire_n(2)));
    assert_eq!(Task::new(limit.acquire()).poll().unwrap().unwrap_err(), NoPermit::LineFull { depth: 2 });
    assert_eq!((limit.waiting(), limit.available()), (2, 0));
    one.finish(Outcome::Success);
    assert_eq!(limit.limit(), 3);
    let third = third.poll().unwrap().unwrap();
    assert_eq!((third.weight(), limit.in_use()), (1, 2));
    two.finish(Outcome::Ignored);
    assert_eq!(fourth.poll().unwrap().unwrap().weight(), 2);
    drop(third);
    assert_eq!((limit.in_use(), limit.waiting()), (0, 0));
    assert_eq!(limit.try_acquire_n(4).unwrap_err(), NoPermit::OverLimit { weight: 4, limit: 3 });
    assert!(format!("{limit:?}").starts_with("Adaptive { in_flight: InFlight { in_use: 0, limit: 3"));
    assert!(format!("{:?}", limit.try_acquire().unwrap()).starts_with("Watched { weight: 1"));
    assert_eq!(limit.bounds(), Bounds::new(1, 2, 3).unwrap().max_waiting(2));
    assert_eq!(tollgate::Clock::now(limit.clock()), Nanos::ZERO);
}

/// What a span of seconds was like.
#[derive(Debug)]
struct Span {
    least: u32,
    mean: f64,
    most: u32,
    /// Of what the workers could do.
    done: f64,
    /// Of what reached the server.
    rejected: f64,
}

impl Span {
    fn of(points: &[Point], setup: &Setup, from: u64, to: u64) -> Self {
        let at = |seconds: u64| points.iter().position(|point| point.at >= seconds * S).unwrap();
        let points = &points[at(from)..=at(to)];
        let limits = || points.iter().map(|point| point.limit);
        let (first, last) = (points[0], points[points.len() - 1]);
        let (done, rejected) = (last.done - first.done, last.rejected - first.rejected);
        let could = (to - from) * u64::from(setup.workers_at(from * S)) * (S / setup.work);
        Self {
            least: limits().min().unwrap(),
            mean: limits().map(f64::from).sum::<f64>() / points.len() as f64,
            most: limits().max().unwrap(),
            done: done as f64 / could as f64,
            rejected: rejected as f64 / (done + rejected) as f64,
        }
    }
}

/// From one second after each step to the next step.
const SPANS: [(u64, u64); 3] = [(1, 10), (11, 20), (21, 30)];

fn spans(setup: &Setup, algorithm: impl Algorithm) -> [Span; 3] {
    let points = run(setup, &adaptive(algorithm, bounds()), 10 * MS);
    SPANS.map(|(from, to)| Span::of(&points, setup, from, to))
}

/// Where the rule that loses work finds the limit: the workers and the queue.
fn check_found(span: &Span, room: f64) {
    assert!((room - 1.5..=room + 1.5).contains(&span.mean), "{span:?} beside {room}");
    let (least, most) = (f64::from(span.least), f64::from(span.most));
    assert!(least >= room * 0.85 && most <= room * 1.4, "{span:?} beside {room}");
    assert!(span.done >= 0.99 && span.rejected <= 0.3, "{span:?}");
}

#[test]
fn the_limit_follows_a_server_that_rejects() {
    let setup = Setup::down_and_up();
    let rooms = SPANS.map(|(from, _)| f64::from(setup.workers_at(from * S)) + setup.queue as f64);
    for spans in [spans(&setup, Aimd::default()), spans(&setup, Gradient::default())] {
        spans.iter().zip(rooms).for_each(|(span, room)| check_found(span, room));
    }
}

/// A rejection comes back at once, and the published gradient takes it for a fast success.
#[test]
fn the_published_gradient_is_misled_by_rejections() {
    let setup = Setup::down_and_up();
    let theirs = spans(&setup, Gradient2::default());
    assert!(theirs[0].done < 0.7 && theirs[1].rejected > 0.8 && theirs[2].done < 0.7, "{theirs:?}");
    let ours = spans(&setup, Gradient::default());
    assert!(ours.iter().zip(&theirs).all(|(ours, theirs)| ours.done >= theirs.done - 0.001), "{ours:?}");
}

/// A server that never rejects: only latency tells.
#[test]
fn the_limit_follows_a_server_with_a_long_queue() {
    let setup = Setup { queue: usize::MAX, ..Setup::down_and_up() };
    let [before, down, after] = spans(&setup, Gradient::default());
    for span in [&before, &down, &after] {
        assert!(span.done >= 0.95, "{span:?}");
    }
    assert!(down.mean < before.mean / 2.0 && after.mean > 2.0 * down.mean, "{before:?} {down:?} {after:?}");
    let patience = Duration::from_nanos(3 * setup.work);
    let [before, down, after] = spans(&setup, Aimd::new(0.9, patience).unwrap());
    assert!(down.done >= 0.9 && before.done >= 0.75 && after.done >= 0.75, "{before:?} {down:?} {after:?}");
    assert!(down.mean < 3.0 * 10.0 && before.mean < 3.0 * 40.0 && after.mean < 3.0 * 40.0, "{down:?}");
}

/// What its docs say of it: an overload that lasts becomes the new normal, and only the bound holds.
#[test]
fn a_gradient_that_only_sees_latency_drifts_to_its_bound() {
    let setup = Setup { queue: usize::MAX, workers: vec![(0, 10)], ..Setup::down_and_up() };
    let bounds = Bounds::new(4, 20, 60).unwrap();
    let points = run(&setup, &adaptive(Gradient::default(), bounds), 10 * MS);
    assert!(points.iter().any(|point| point.limit == 60));
    assert!(points.iter().all(|point| (4..=60).contains(&point.limit)));
}

/// How long after a step the limit is where it should be.
#[test]
fn a_second_is_enough_to_follow() {
    let setup = Setup::down_and_up();
    for points in [
        run(&setup, &adaptive(Aimd::default(), bounds()), 10 * MS),
        run(&setup, &adaptive(Gradient::default(), bounds()), 10 * MS),
    ] {
        let reached = |from: u64, there: fn(u32) -> bool| {
            let point = points.iter().find(|point| point.at >= from && there(point.limit)).unwrap();
            point.at - from
        };
        let down = reached(10 * S, |limit| limit <= 22);
        let up = reached(20 * S, |limit| limit >= 45);
        println!("down in {} ms, up in {} ms", down / MS, up / MS);
        assert!(down <= 200 * MS && up <= S, "{down} {up}");
    }
}
