//! An adaptive rate: one probe at the end of a pause, and one decrease an event.

use std::collections::BTreeSet;
use std::time::Duration;

use tollgate::upstream::{AdaptiveRate, HeldBack, Trial};
use tollgate::{Manual, quota};
use tollgate_loom_tests::{at, explore, leak, race2, race3};

type Rate = AdaptiveRate<&'static Manual>;

/// A token every ten nanoseconds at the lowest rate.
fn rate() -> &'static Rate {
    leak(
        AdaptiveRate::builder(quota!("1/ns burst 100"))
            .build_with_clock(leak(Manual::new()))
            .expect("a base"),
    )
}

/// At whose reading of 10 a pause ends.
fn paused() -> &'static Rate {
    let rate = rate();
    sent(rate, 0).refused_at(Some(Duration::from_nanos(10)), at(0));
    rate
}

fn sent(rate: &'static Rate, now: u64) -> Trial<&'static Manual> {
    rate.try_send_at(at(now)).expect("nothing stands in the way")
}

/// Kept until the model's end, so that no probe is lost.
fn ask(rate: &'static Rate) -> impl FnOnce() -> Result<Trial<&'static Manual>, HeldBack> {
    || rate.try_send_at(at(20))
}

/// Whether it is out; if not, it must be for the probe.
fn is_out(asked: &Result<Trial<&'static Manual>, HeldBack>) -> bool {
    assert!(matches!(asked, Ok(_) | Err(HeldBack::Probing { .. })), "{asked:?}");
    asked.is_ok()
}

#[test]
fn one_probe_of_two() {
    let outcomes = explore("adapt_one_probe_of_two", || {
        let rate = paused();
        let (a, b) = race2(ask(rate), ask(rate));
        (is_out(&a), is_out(&b))
    });
    assert_eq!(outcomes, BTreeSet::from([(true, false), (false, true)]));
}

#[test]
fn one_probe_of_three() {
    let outcomes = explore("adapt_one_probe_of_three", || {
        let rate = paused();
        let (a, b, c) = race3(ask(rate), ask(rate), ask(rate));
        [&a, &b, &c].into_iter().filter(|asked| is_out(asked)).count()
    });
    assert_eq!(outcomes, BTreeSet::from([1]));
}

/// The probe succeeds beside two who ask: one, both or none of them come after it.
#[test]
fn a_probe_succeeds_beside_two() {
    let outcomes = explore("adapt_probe_succeeds", || {
        let rate = paused();
        let probe = sent(rate, 20);
        let late = move || rate.try_send_at(at(60));
        let ((), a, b) = race3(move || probe.succeeded_at(at(50)), late, late);
        (is_out(&a), is_out(&b))
    });
    let all = [(false, false), (true, false), (false, true), (true, true)];
    assert_eq!(outcomes, BTreeSet::from(all));
}

/// The probe is dropped beside two who ask: none of them is the next one, or just one.
#[test]
fn a_probe_is_lost_beside_two() {
    let outcomes = explore("adapt_probe_lost", || {
        let rate = paused();
        let probe = sent(rate, 20);
        let late = move || rate.try_send_at(at(60));
        let ((), a, b) = race3(move || drop(probe), late, late);
        (is_out(&a), is_out(&b))
    });
    assert_eq!(outcomes, BTreeSet::from([(false, false), (true, false), (false, true)]));
}

/// A time-out and a refusal of calls that were out together, beside a third that is sent: one decrease, by the half.
#[test]
fn one_event_of_two_signs() {
    let outcomes = explore("adapt_one_event", || {
        let rate = rate();
        let (first, second) = (sent(rate, 0), sent(rate, 0));
        race2(move || first.timed_out_at(at(1)), move || second.refused_at(None, at(1)));
        rate.permille()
    });
    assert_eq!(outcomes, BTreeSet::from([500]));
}
