//! C52, C54, C56, C109, C110: a queue of callers, some of whom give up.

use tollgate::wait::Entry;

use crate::support::{MS, S, quota};
use crate::wait::queue::{Crowd, drained, held};

const ONE: Entry = Entry::new(1);

/// The case, and every other cost of the big one: it is admitted when its tokens are there, and the small ones after it.
#[test]
fn c52_cheap_calls_do_not_starve_an_expensive_one() {
    for big in 1..=10 {
        let mut crowd = Crowd::new(drained(quota(10, S, 10), 100 * S, 100));
        crowd.enter_all([Entry::new(big), ONE, ONE, ONE]);
        crowd.finish();
        let times = [big, big + 1, big + 2, big + 3].map(|tenths| Some(tenths * 100 * MS));
        assert_eq!(crowd.all_admitted(), times, "cost {big}");
    }
}

/// One cheap call each 100 ms, of the same class or of a higher one, for as long as it takes.
#[test]
fn c52_nor_do_cheap_calls_that_keep_coming() {
    for class in [0, 3, 7] {
        let mut crowd = Crowd::new(drained(quota(10, S, 10), 1000 * S, 10_000));
        let big = crowd.enter(Entry::new(10).class(class));
        for tenth in 0..5_000 {
            crowd.go_to(tenth * 100 * MS);
            crowd.enter(ONE);
        }
        crowd.finish();
        // Ten tokens of class k let 10 * 2^k of class 0 pass, one of them with an equal place.
        let ahead = if class == 0 { 0 } else { 10 << class };
        assert_eq!(crowd.admitted(big), Some((ahead + 10) * 100 * MS), "class {class}");
    }
}

#[test]
fn c54_a_cancelled_waiter_frees_its_place_at_once() {
    for class in 0..8 {
        let mut crowd = Crowd::new(drained(quota(1, S, 1), 100 * S, 1));
        let first = crowd.enter(ONE.class(class));
        crowd.cancel(first);
        let second = crowd.enter(ONE.class(class));
        assert_eq!((crowd.queue.len(), crowd.end(second)), (1, None));
        crowd.finish();
        assert_eq!(crowd.admitted(second), Some(S));
    }
}

/// The first is called at 1 s and dropped before it is polled, at once or later.
#[test]
fn c56_a_turn_that_is_not_taken_goes_to_the_next() {
    for dropped in [S, S + 1, S + S / 2, 2 * S - 1] {
        let mut crowd = Crowd::new(drained(quota(1, S, 1), 100 * S, 10));
        let [first, second, third] = crowd.enter_all([ONE; 3]);
        crowd.hands.go_to(S);
        assert_eq!(crowd.end(first), None);
        crowd.hands.go_to(dropped);
        crowd.cancel(first);
        crowd.settle();
        assert_eq!(crowd.admitted(second), Some(dropped), "dropped at {dropped}");
        crowd.finish();
        assert_eq!(crowd.admitted(third), Some(dropped + S));
        let outcomes = crowd.queue.outcomes();
        assert_eq!((outcomes.admitted, outcomes.cancelled), (2, 1));
    }
}

/// A large turn that is not taken serves many small ones.
#[test]
fn c56_all_of_it() {
    let mut crowd = Crowd::new(drained(quota(10, S, 10), 100 * S, 100));
    let big = crowd.enter(Entry::new(10));
    for _ in 0..12 {
        crowd.enter(ONE);
    }
    crowd.hands.go_to(S);
    crowd.cancel(big);
    crowd.finish();
    let mut times = vec![None];
    times.extend([Some(S); 10]);
    times.extend([Some(1100 * MS), Some(1200 * MS)]);
    assert_eq!(crowd.all_admitted(), times);
}

#[test]
fn c109_six_callers_of_one_queue_are_all_served() {
    let mut crowd = Crowd::new(held(quota(1, S, 1), 100 * S));
    crowd.enter_all([ONE; 6]);
    // Each is polled again by somebody else, with another waker in between.
    crowd.go_to(S / 2);
    (0..6).for_each(|caller| crowd.poll(caller));
    crowd.finish();
    assert_eq!(crowd.all_admitted(), [0, 1, 2, 3, 4, 5].map(|second| Some(second * S)));
}

/// Whatever is cancelled in the moment it is called, the token is there for the next call.
#[test]
fn c110_nothing_is_lost_when_all_are_cancelled_as_they_are_called() {
    let mut crowd = Crowd::new(drained(quota(1, S, 1), 100 * S, 10));
    for round in 1..1000 {
        let caller = crowd.enter(ONE);
        crowd.hands.go_to(round * S);
        crowd.cancel(caller);
        assert_eq!((crowd.queue.len(), crowd.queue.bucket().peek().available()), (0, 1));
        crowd.queue.bucket().drain();
    }
}
