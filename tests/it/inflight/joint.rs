//! Rate and work in flight together.

use std::time::Duration;

use tollgate::inflight::{InFlight, Joint, NoPermit, Unjoined};
use tollgate::{Bucket, Denied, Manual, quota};

use super::Task;

fn limits(limit: u32) -> (Bucket<Manual>, InFlight) {
    (Bucket::with_clock(quota!("10/s burst 5"), Manual::new()), InFlight::new(limit).unwrap())
}

#[test]
fn both_or_neither_and_the_one_that_refuses_is_named() {
    let (rate, running) = limits(3);
    let joint = Joint::new(&rate, &running);
    let state = || (rate.peek().available(), running.in_use());
    let permit = joint.try_acquire_n(2, 2).unwrap();
    assert_eq!((permit.weight(), state()), (2, (3, 2)));

    let refused = joint.try_acquire_n(1, 2).unwrap_err();
    assert_eq!(refused, Unjoined::InFlight(NoPermit::InUse { weight: 2, in_use: 2, limit: 3 }));
    assert_eq!(state(), (3, 2), "nothing was charged");

    let refused = joint.try_acquire_n(4, 1).unwrap_err();
    let Unjoined::Rate(denied) = refused else { panic!("{refused}") };
    assert_eq!(denied.wait(), Some(Duration::from_millis(100)));
    assert_eq!(state(), (3, 2), "no permit is kept");

    drop(permit);
    assert_eq!(state(), (3, 0));
    assert!(joint.try_acquire().is_ok());
}

#[test]
fn what_refuses_for_ever_is_named_first() {
    let (rate, running) = limits(1);
    let joint = Joint::new(&rate, &running);
    let never = Unjoined::Rate(Denied::OverCapacity { cost: 6, capacity: 5 });
    assert_eq!(joint.try_acquire_n(6, 1).unwrap_err(), never);
    let held = running.try_acquire().unwrap();
    assert_eq!(joint.try_acquire_n(6, 1).unwrap_err(), never, "although in flight refuses for now");
    assert_eq!(joint.try_acquire_n(0, 1).unwrap_err(), Unjoined::Rate(Denied::ZeroCost));
    let over = Unjoined::InFlight(NoPermit::OverLimit { weight: 2, limit: 1 });
    assert_eq!(joint.try_acquire_n(6, 2).unwrap_err(), over);
    assert_eq!(joint.try_acquire_n(1, 0).unwrap_err(), Unjoined::InFlight(NoPermit::ZeroWeight));
    drop(held);
    assert_eq!((rate.peek().available(), running.in_use()), (5, 0));
}

#[test]
fn a_refusal_by_the_rate_hands_the_permit_to_who_waits() {
    let (rate, running) = limits(1);
    let joint = Joint::new(&rate, &running);
    let held = running.try_acquire().unwrap();
    let mut first = Task::pending(joint.acquire_n(5, 1));
    let mut second = Task::pending(joint.acquire_n(1, 1));
    let mut third = Task::pending(running.acquire());
    assert_eq!(rate.peek().available(), 5, "nothing is charged while it waits");
    drop(held);
    let permit = first.poll().unwrap().unwrap();
    assert_eq!(rate.peek().available(), 0);
    drop(permit);
    assert!(matches!(second.poll().unwrap(), Err(Unjoined::Rate(_))));
    assert!(third.poll().unwrap().is_ok());
}

#[test]
fn what_is_shown_of_it() {
    let (rate, running) = limits(1);
    let joint = Joint::new(&rate, &running);
    let _held = joint.try_acquire();
    let refused = joint.clone().try_acquire().unwrap_err();
    assert_eq!(
        refused.to_string(),
        "refused by the limit on work in flight: 1 of 1 permits are in use: 1 more do not fit now"
    );
    assert!(std::error::Error::source(&refused).is_some());
    let refused = Unjoined::Rate(Denied::ZeroCost);
    assert_eq!(refused.to_string(), "refused by the rate: cost 0 is invalid: a cost is at least 1");
    assert!(std::error::Error::source(&refused).is_some());
    assert!(format!("{joint:?}").starts_with("Joint { rate: Bucket"));
}
