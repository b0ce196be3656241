//! C103 to C105: metrics.

use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use tollgate::inflight::InFlight;
use tollgate::keyed::Keyed;
use tollgate::metrics::Flights;
use tollgate::quota;

use crate::metrics::support::{Recorded, refused};

/// 100 000 distinct denied keys: the number of series is unchanged.
#[test]
fn c103_refused_keys_make_no_series() {
    const KEYS: u32 = 100_000;
    let recorded = Recorded::new();
    let clients = Keyed::<u32>::new(quota!("1/h")).unwrap();
    let (meter, shadow) = recorded.take(|meters| (meters.meter("clients"), meters.shadow_meter("trial")));
    assert!(meter.count(1, clients.try_acquire(&0)).is_ok());
    assert!(meter.count(1, clients.try_acquire(&0)).is_err());
    let before = recorded.series();
    // With the recorder at hand, should anything look for it.
    recorded.take(|_| {
        for key in 1..=KEYS {
            assert!(clients.try_acquire(&key).is_ok());
            let denied = clients.try_acquire(&key);
            shadow.count(1, denied);
            assert!(meter.count(1, denied).is_err());
        }
    });
    let after = recorded.series();
    assert!(after == before, "{} series, and {} before", after.len(), before.len());
    assert_eq!(recorded.value(&refused("clients", "not_yet")), f64::from(KEYS + 1));
}

/// 50 requests begin, all are dropped mid-flight, and one panics: the gauge equals the permits in use at all times.
#[test]
fn c104_what_is_in_flight_is_what_the_permits_say() {
    let recorded = Recorded::new();
    let limit = Arc::new(InFlight::new(60).unwrap());
    let looked = Arc::clone(&limit);
    let calls = recorded.take(|meters| {
        meters.in_flight("api", move || Flights::from(&*looked));
        meters.calls("api")
    });
    let in_flight = |expected: u32| {
        assert_eq!(limit.in_use(), expected);
        assert_eq!(recorded.values("api", ["in_flight", "downstream_in_flight"]), [f64::from(expected); 2]);
    };
    let request = || {
        let (limit, calls) = (Arc::clone(&limit), calls.clone());
        async move {
            let _call = calls.start(limit.try_acquire_owned().unwrap());
            pending::<()>().await;
        }
    };
    let mut context = Context::from_waker(Waker::noop());
    let mut requests: Vec<Pin<Box<dyn Future<Output = ()>>>> = Vec::new();
    for begun in 1..=50 {
        requests.push(Box::pin(request()));
        assert!(requests.last_mut().unwrap().as_mut().poll(&mut context).is_pending());
        in_flight(begun);
    }
    let panics = || {
        let _call = calls.start(limit.try_acquire_owned().unwrap());
        in_flight(51);
        panic!("on purpose");
    };
    assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    for left in (0..50).rev() {
        drop(requests.pop());
        in_flight(left);
    }
    let ended = |outcome| {
        recorded.value(&format!("tollgate_downstream_seconds_count{{limit=\"api\",outcome=\"{outcome}\"}}"))
    };
    assert_eq!([ended("dropped"), ended("panicked"), ended("succeeded")], [50.0, 1.0, 0.0]);
}

/// 10 of 10 in flight, then 100 refusals: the gauge still tells 10.
#[test]
fn c105_refusals_do_not_wear_a_gauge_down() {
    let recorded = Recorded::new();
    let limit = Arc::new(InFlight::new(10).unwrap());
    let looked = Arc::clone(&limit);
    let meter = recorded.take(|meters| {
        meters.in_flight("api", move || Flights::from(&*looked));
        meters.meter("api")
    });
    let permits: Vec<_> = (0..10).map(|_| meter.count(1, limit.try_acquire()).unwrap()).collect();
    for refusals in 0..=100 {
        assert_eq!(recorded.values("api", ["in_flight", "in_flight_limit", "admitted_total"]), [10.0; 3]);
        assert_eq!(recorded.value(&refused("api", "in_use")), f64::from(refusals));
        assert!(meter.count(1, limit.try_acquire()).is_err());
    }
    drop(permits);
    assert_eq!(recorded.values("api", ["in_flight", "admitted_total"]), [0.0, 10.0]);
}
