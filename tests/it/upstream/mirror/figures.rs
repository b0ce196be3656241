//! What one response makes of a mirror.

use tollgate::quota;
use tollgate::upstream::{Cost, Dimension, Heard, Refused};

use super::support::{OnManual, SECOND, answer, on_manual, told};

const ONE: Cost = Cost::requests(1);

fn available(mirror: &OnManual) -> u64 {
    mirror.level(Dimension::Requests).unwrap().available()
}

#[test]
fn time_to_full_becomes_the_arrival_point() {
    let (clock, builder) = on_manual();
    let mirror = builder.limit(Dimension::Requests, quota!("60/min")).build().unwrap();
    let sent = mirror.try_send(&ONE).unwrap();
    assert_eq!(available(&mirror), 59, "in flight counts");
    assert_eq!(told(sent, 60, 40, "20s"), Heard::Fine);
    assert_eq!(available(&mirror), 40);
    assert_eq!(mirror.level(Dimension::Requests).unwrap().time_to_full(), 20 * SECOND);
    clock.advance(5 * SECOND);
    assert_eq!(available(&mirror), 45);
}

#[test]
fn what_is_in_flight_is_subtracted() {
    let (_clock, builder) = on_manual();
    let mirror = builder.limit(Dimension::Requests, quota!("60/min")).build().unwrap();
    let sent: Vec<_> = (0..10).map(|_| mirror.try_send(&ONE).unwrap()).collect();
    let last = mirror.try_send(&ONE).unwrap();
    told(last, 60, 50, "10s");
    assert_eq!(available(&mirror), 40);
    drop(sent);
    assert_eq!(available(&mirror), 40, "they stay charged");
}

#[test]
fn a_call_that_never_left_gives_all_back() {
    let (clock, builder) = on_manual();
    let mirror = builder.limit(Dimension::Requests, quota!("60/min")).build().unwrap();
    let sent = mirror.try_send(&Cost::requests(60)).unwrap();
    assert!(matches!(mirror.try_send(&ONE), Err(Refused::NotYet { wait: SECOND, .. })));
    clock.advance(30 * SECOND);
    sent.not_sent();
    assert_eq!(available(&mirror), 60);
}

#[test]
fn retry_after_pauses_everybody() {
    let (clock, builder) = on_manual();
    let mirror = builder.limit(Dimension::Requests, quota!("60/min")).build().unwrap();
    let sent = mirror.try_send(&ONE).unwrap();
    assert_eq!(answer(sent, 429, &[("retry-after", "20")]), Heard::RetryAfter(20 * SECOND));
    assert_eq!(mirror.clone().try_send(&ONE).unwrap_err(), Refused::Paused { wait: 20 * SECOND });
    clock.advance(20 * SECOND);
    assert!(mirror.try_send(&ONE).is_ok());
}
