//! Outage rules by themselves, without a server.

mod bound;

use super::*;
use crate::quota;

fn share() -> Fallback {
    let rule = Outage::Share { instances: 4 };
    Fallback::new(rule, quota!("4/h burst 42"), Circuit::default()).unwrap()
}

#[test]
fn a_share_is_charged_once_and_goes_on_being_the_same_bucket() {
    let fallback = share();
    assert!(fallback.owed().is_none());
    assert_eq!(fallback.decide(7), Some(Ok(())));
    assert!(fallback.decide(4).unwrap().is_err(), "of 10");
    let lost = fallback.owed().unwrap();
    assert!(fallback.owed().is_none(), "one tells");
    drop(lost);
    let owed = fallback.owed().unwrap();
    assert_eq!(owed.cost(), 7);
    // What is admitted while it is on its way stays due.
    assert_eq!(fallback.decide(2), Some(Ok(())));
    owed.charged();
    assert_eq!(fallback.owed().unwrap().cost(), 2);
    assert!(fallback.decide(2).unwrap().is_err(), "what was charged is not there again");
    let OutageState { admitted, refused, .. } = fallback.state();
    assert_eq!((admitted, refused), (2, 2));
}

#[test]
fn what_refill_has_made_good_is_not_owed() {
    let rule = Outage::Share { instances: 2 };
    let fallback = Fallback::new(rule, quota!("2G/s burst 8"), Circuit::default()).unwrap();
    assert_eq!(fallback.decide(4), Some(Ok(())));
    std::thread::sleep(Duration::from_millis(1));
    assert!(fallback.owed().is_none());
    assert_eq!(fallback.state().uncharged, 0);
}

#[test]
fn a_share_of_nothing_is_refused() {
    let error = |instances| {
        Fallback::new(Outage::Share { instances }, quota!("4/s"), Circuit::default()).unwrap_err()
    };
    assert_eq!(error(5).to_string(), "5 shares of a capacity of 4 tokens: must be from 1 to 4");
    assert_eq!(error(0).to_string(), "0 shares of a capacity of 4 tokens: must be from 1 to 4");
}

#[test]
fn a_call_that_is_given_up_has_no_outcome() {
    let fallback = share();
    (0..5).for_each(|_| fallback.ask().unwrap().failed());
    assert!(fallback.is_failing());
    let CircuitState::Open { retry_in } = fallback.state().circuit else { panic!() };
    assert!(retry_in <= Duration::from_millis(100), "{retry_in:?}");
    std::thread::sleep(Duration::from_millis(101));
    drop(fallback.ask().unwrap());
    let probe = fallback.ask().unwrap();
    assert!(matches!(fallback.ask(), Err(StoreError::NotAsked { .. })));
    probe.answered();
    assert!(!fallback.is_failing());
    assert_eq!(fallback.state().circuit, CircuitState::Closed);
}
