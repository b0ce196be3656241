//! Levels, looked at when they are told.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tollgate::metrics::{Flights, Lease, Places};
use tollgate::{Bucket, Manual, quota};

use super::support::Recorded;

#[test]
fn what_a_bucket_holds_and_owes() {
    let recorded = Recorded::new();
    let bucket = Arc::new(Bucket::with_clock(quota!("1/s burst 10"), Manual::new()));
    let looked = Arc::clone(&bucket);
    recorded.take(|meters| meters.level("api", move || looked.peek()));
    let seen = || recorded.values("api", ["available_tokens", "debt_tokens", "paused_seconds"]);
    assert_eq!(seen(), [10.0, 0.0, 0.0]);
    bucket.charge(14);
    bucket.pause_for(Duration::from_millis(2500));
    assert_eq!(seen(), [0.0, 4.0, 2.5]);
    bucket.clock().advance(Duration::from_secs(6));
    assert_eq!(seen(), [2.0, 0.0, 0.0]);
}

#[test]
fn what_any_limit_tells_of_itself() {
    let recorded = Recorded::new();
    let state = Arc::new(Mutex::new((Flights::default(), Places::default(), Lease::default())));
    recorded.take(|meters| {
        let looked = [Arc::clone(&state), Arc::clone(&state), Arc::clone(&state)];
        let [flights, places, lease] = looked;
        meters.in_flight("own", move || flights.lock().unwrap().0);
        meters.queue("own", move || places.lock().unwrap().1);
        meters.lease("own", move || lease.lock().unwrap().2);
    });
    let names = [
        "in_flight",
        "in_flight_limit",
        "in_flight_waiting",
        "queue_length",
        "queue_places",
        "queue_age_seconds",
        "leased",
        "lease_remaining_seconds",
    ];
    assert_eq!(recorded.values("own", names), [0.0; 8]);
    *state.lock().unwrap() = (
        Flights { in_use: 3, limit: 4, waiting: 2 },
        Places { taken: 7, all: 9, age: Some(Duration::from_millis(1250)) },
        Lease { held: 5, remaining: Duration::from_secs(30) },
    );
    assert_eq!(recorded.values("own", names), [3.0, 4.0, 2.0, 7.0, 9.0, 1.25, 5.0, 30.0]);
}

/// A look may use the meters: no lock is held.
#[test]
fn a_look_may_measure_something_itself() {
    let recorded = Recorded::new();
    recorded.take(|meters| {
        let more = meters.clone();
        meters.queue("first", move || {
            drop(more.meter("found while looking"));
            Places::default()
        });
    });
    assert_eq!(recorded.values("first", ["queue_length"]), [0.0]);
}

#[cfg(feature = "inflight")]
#[test]
fn permits_in_use_and_those_who_wait() {
    use std::pin::pin;
    use std::task::{Context, Waker};

    use tollgate::inflight::InFlight;

    let recorded = Recorded::new();
    let limit = Arc::new(InFlight::new(3).unwrap());
    let looked = Arc::clone(&limit);
    recorded.take(|meters| meters.in_flight("workers", move || Flights::from(&*looked)));
    let seen = || recorded.values("workers", ["in_flight", "in_flight_limit", "in_flight_waiting"]);
    let permit = limit.try_acquire_n(2).unwrap();
    assert_eq!(seen(), [2.0, 3.0, 0.0]);
    let mut context = Context::from_waker(Waker::noop());
    let mut turn = pin!(limit.acquire_n(2));
    assert!(turn.as_mut().poll(&mut context).is_pending());
    assert_eq!(seen(), [2.0, 3.0, 1.0]);
    drop(permit);
    assert_eq!(seen(), [2.0, 3.0, 0.0], "handed over");
    limit.set_limit(1).unwrap();
    assert_eq!(seen(), [2.0, 1.0, 0.0]);
    assert!(turn.as_mut().poll(&mut context).is_ready());
    assert_eq!(seen(), [0.0, 1.0, 0.0]);
}

#[cfg(feature = "wait")]
#[test]
fn entries_in_a_queue_and_how_long_the_oldest_waits() {
    use std::task::{Context, Waker};

    use tollgate::wait::{Entry, Queue};

    use super::support::Never;

    let (recorded, clock) = (Recorded::new(), Arc::new(Manual::new()));
    let bucket = Bucket::with_clock(quota!("1/h"), Arc::clone(&clock));
    let queue = Queue::with_depth(bucket, Duration::from_secs(100_000), 5, Never);
    let looked = queue.clone();
    recorded.take(|meters| meters.queue("batch", move || Places::from(&looked)));
    let seen = || recorded.values("batch", ["queue_length", "queue_places", "queue_age_seconds"]);
    let mut context = Context::from_waker(Waker::noop());
    let mut entries = [(); 3].map(|()| Box::pin(queue.acquire(Entry::new(1))));
    for (at, entry) in entries.iter_mut().enumerate() {
        assert_eq!(entry.as_mut().poll(&mut context).is_ready(), at == 0);
        clock.advance(Duration::from_millis(1500));
    }
    assert_eq!(seen(), [2.0, 5.0, 3.0]);
    let [_served, oldest, last] = entries;
    drop(oldest);
    assert_eq!(seen(), [1.0, 5.0, 1.5]);
    drop(last);
    assert_eq!(seen(), [0.0, 5.0, 0.0]);
}
