//! One queue, step by step, at exact readings.

use tollgate::Denied;
use tollgate::quota as fixed;
use tollgate::wait::{Entry, Outcomes, Refused, Rest};

use super::{Crowd, drained, expected, held};
use crate::support::{MS, S, at, nanos, quota};

const ONE: Entry = Entry::new(1);

#[test]
fn the_default_depth_is_throughput_times_wait() {
    for (quota, wait, depth) in [
        (fixed!("100/s burst 10"), 2 * S, 200),
        (fixed!("100/s burst 10"), 2 * S + 1, 201),
        (fixed!("1/min"), S, 1),
        (fixed!("1/s"), 0, 1),
        (fixed!("10000000000/s"), u64::MAX, usize::MAX),
    ] {
        let (queue, _) = held(quota, wait);
        assert!(queue.depth() == depth || depth == usize::MAX && queue.depth() > 1 << 60, "{queue:?}");
        assert_eq!((queue.len(), queue.age(), queue.longest_wait()), (0, None, nanos(wait)));
    }
}

#[test]
fn nobody_waits_while_tokens_are_there() {
    let mut crowd = Crowd::new(held(quota(10, S, 10), S));
    let callers = crowd.enter_all([1, 4, 5].map(Entry::new));
    assert_eq!(callers.map(|caller| crowd.admitted(caller)), [Some(0); 3]);
    assert_eq!((crowd.hands.made(), crowd.most_wakes()), (0, 0));
    assert_eq!(crowd.queue.outcomes(), Outcomes { admitted: 3, ..Outcomes::default() });
}

/// Ten waiters on 1/s (C48), and a thousand on 10/s (C58): each admitted to the nanosecond, woken once.
#[test]
fn each_is_admitted_in_its_turn_and_woken_once() {
    for (count, tokens, last) in [(10, 1, 9 * S), (1000, 10, 99_900 * MS)] {
        let mut crowd = Crowd::new(held(quota(tokens, S, 1), 200 * S));
        for _ in 0..count {
            crowd.enter(ONE);
        }
        crowd.finish();
        let times: Vec<_> = (0..count).map(|nth| Some(nth * S / tokens)).collect();
        assert_eq!((crowd.all_admitted(), times.last()), (times.clone(), Some(&Some(last))));
        assert_eq!((crowd.hands.most(), crowd.most_wakes()), (1, 1));
        assert!(crowd.hands.made() as u64 <= count, "{} timers", crowd.hands.made());
    }
}

#[test]
fn a_deadline_that_cannot_be_met_is_refused_at_once_and_costs_nothing() {
    let mut crowd = Crowd::new(held(quota(1, S, 1), 100 * S));
    crowd.enter(ONE);
    let [late, by, exactly] =
        crowd.enter_all([ONE.within(nanos(S / 2)), ONE.until(at(S - 1)), ONE.within(nanos(S))]);
    for refused in [late, by] {
        let (reading, refused) = crowd.refused(refused).unwrap();
        assert!(matches!(refused, Refused::Hopeless(_)), "{refused:?}");
        assert_eq!((reading, refused.wait(), refused.retry_after()), (0, Some(nanos(S)), Some(nanos(S))));
    }
    crowd.go_to(S);
    assert_eq!(crowd.admitted(exactly), Some(S));
}

#[test]
fn an_elapsed_deadline_takes_nothing() {
    let mut crowd = Crowd::new(held(quota(1, S, 1), 100 * S));
    crowd.go_to(S);
    let elapsed = crowd.enter(ONE.until(at(S - 1)));
    let just = crowd.enter(ONE.within(nanos(0)));
    assert!(matches!(crowd.refused(elapsed), Some((S, Refused::Hopeless(_)))));
    assert_eq!(crowd.admitted(just), Some(S));
}

#[test]
fn what_never_fits_is_told_apart() {
    let mut crowd = Crowd::new(held(quota(1, S, 5), 100 * S));
    let [none, much] = crowd.enter_all([0, 6].map(Entry::new));
    let never = |caller| crowd.refused(caller).map(|(_, refused)| refused);
    assert_eq!(never(none), Some(Refused::Never(Denied::ZeroCost)));
    assert_eq!(never(much), Some(Refused::Never(Denied::OverCapacity { cost: 6, capacity: 5 })));
    assert_eq!(never(much).unwrap().wait(), None);
    assert_eq!(crowd.queue.outcomes(), Outcomes { never: 2, ..Outcomes::default() });
}

/// Ten callers on 3/min with at most 70 s of waiting (C51): three at once, three later, and four would need 80 s.
#[test]
fn the_wait_is_bounded() {
    let mut crowd = Crowd::new(held(quota(3, 60 * S, 3), 70 * S));
    for _ in 0..10 {
        crowd.enter(ONE);
    }
    for caller in 6..10 {
        let (reading, refused) = crowd.refused(caller).unwrap();
        assert!(matches!(refused, Refused::Full(_)), "{refused:?}");
        assert_eq!((reading, expected(&refused)), (0, 80 * S));
    }
    crowd.finish();
    let times = [0, 0, 0, 20, 40, 60].map(|second| Some(second * S));
    assert_eq!(crowd.all_admitted()[..6], times);
}

#[test]
fn the_depth_is_bounded() {
    let mut crowd = Crowd::new(drained(quota(1, S, 1), 100 * S, 2));
    let [.., third] = crowd.enter_all([ONE; 3]);
    let (reading, refused) = crowd.refused(third).unwrap();
    assert!(matches!(refused, Refused::Full(_)), "{refused:?}");
    assert_eq!((reading, expected(&refused), crowd.queue.len()), (0, 3 * S, 2));
}

/// Two below come first; two above come in before the second of them, which is then hopeless, and is told so at once.
#[test]
fn who_is_overtaken_until_it_is_hopeless_learns_it_at_once() {
    let mut crowd = Crowd::new(drained(quota(1, S, 1), 100 * S, 10));
    let [_, below] = crowd.enter_all([ONE.class(1), ONE.class(1).within(nanos(3 * S))]);
    crowd.go_to(S / 2);
    let above = crowd.enter(ONE);
    assert_eq!(crowd.end(below), None);
    crowd.enter(ONE);
    crowd.settle();
    let (reading, refused) = crowd.refused(below).unwrap();
    assert!(matches!(refused, Refused::Hopeless(_)), "{refused:?}");
    assert_eq!((reading, expected(&refused)), (S / 2, 4 * S));
    crowd.finish();
    assert_eq!(crowd.admitted(above), Some(S));
}

#[test]
fn a_full_queue_makes_room_for_a_turn_that_comes_earlier() {
    let mut crowd = Crowd::new(drained(quota(1, S, 1), 100 * S, 2));
    let [first, second] = crowd.enter_all([ONE.class(2); 2]);
    let above = crowd.enter(ONE);
    crowd.settle();
    let (reading, refused) = crowd.refused(second).unwrap();
    assert!(matches!(refused, Refused::Full(_)), "{refused:?}");
    assert_eq!((reading, expected(&refused)), (0, 3 * S));
    crowd.finish();
    assert_eq!([above, first].map(|caller| crowd.admitted(caller)), [Some(S), Some(2 * S)]);
}

/// The bucket is full when a pause ends, and no fuller: who comes second then has to wait for refill.
#[test]
fn a_pause_is_known_in_advance() {
    let mut crowd = Crowd::new(held(quota(1, S, 5), 100 * S));
    crowd.queue.bucket().pause_until(at(10 * S));
    let early = crowd.enter(ONE.within(nanos(10 * S - 1)));
    let first = crowd.enter(Entry::new(5));
    let behind = crowd.enter(Entry::new(5).within(nanos(15 * S - 1)));
    let [second, small] = crowd.enter_all([Entry::new(5).within(nanos(15 * S)), ONE]);
    let refused = |caller| crowd.refused(caller).map(|(reading, refused)| (reading, expected(&refused)));
    assert_eq!([refused(early), refused(behind)], [Some((0, 10 * S)), Some((0, 15 * S))]);
    crowd.finish();
    let times = [first, second, small].map(|caller| crowd.admitted(caller));
    assert_eq!(times, [Some(10 * S), Some(15 * S), Some(16 * S)]);
}

/// Whoever asks the bucket directly barges in: the one whose turn it was waits on, ahead of the others.
#[test]
fn who_was_called_in_vain_keeps_its_turn() {
    let mut crowd = Crowd::new(drained(quota(1, S, 1), 100 * S, 10));
    let [first, second] = crowd.enter_all([ONE; 2]);
    crowd.hands.go_to(S);
    assert!(crowd.queue.bucket().try_acquire().is_ok());
    crowd.finish();
    assert_eq!([first, second].map(|caller| crowd.admitted(caller)), [Some(2 * S), Some(3 * S)]);
    assert_eq!(crowd.most_wakes(), 2);
}

/// A refund is noticed when the queue is told to look.
#[test]
fn a_refund_is_noticed_when_it_looks() {
    let mut crowd = Crowd::new(drained(quota(1, S, 1), 100 * S, 10));
    let first = crowd.enter(ONE);
    crowd.go_to(S / 2);
    crowd.queue.bucket().refund(1);
    crowd.go_to(S / 2 + 1);
    assert_eq!(crowd.admitted(first), None);
    crowd.queue.refresh();
    crowd.settle();
    assert_eq!(crowd.admitted(first), Some(S / 2 + 1));
}

/// A caller that is woken and never polled holds up nobody: others come in their own time.
#[test]
fn who_does_not_come_holds_up_nobody() {
    let mut crowd = Crowd::new(drained(quota(1, S, 1), 100 * S, 10));
    let [absent, second, third] = crowd.enter_all([ONE; 3]);
    crowd.hands.go_to(3 * S);
    crowd.poll(second);
    crowd.poll(third);
    // One token is there after three seconds, for whoever comes first.
    assert_eq!([second, third].map(|caller| crowd.admitted(caller)), [Some(3 * S), None]);
    let mut crowd = Crowd::new(drained(quota(1, S, 1), 100 * S, 10));
    crowd.enter_all([ONE; 3]);
    for (caller, second) in [(second, 2), (third, 3)] {
        crowd.hands.go_to(second * S);
        crowd.poll(caller);
        assert_eq!(crowd.admitted(caller), Some(second * S));
    }
    crowd.poll(absent);
    crowd.go_to(10 * S);
    assert_eq!(crowd.admitted(absent), Some(4 * S));
}

/// Called in time, but too late in coming.
#[test]
fn nobody_is_admitted_after_its_deadline() {
    let mut crowd = Crowd::new(drained(quota(1, S, 1), 100 * S, 10));
    let [late, next] = crowd.enter_all([ONE.within(nanos(S)), ONE]);
    crowd.hands.go_to(S + 1);
    crowd.settle();
    assert!(matches!(crowd.refused(late), Some((reading, Refused::Hopeless(_))) if reading == S + 1));
    assert_eq!(crowd.admitted(next), Some(S + 1));
}

#[test]
fn a_closed_queue_drains() {
    let mut crowd = Crowd::new(drained(quota(1, S, 1), 100 * S, 10));
    let waiting = crowd.enter_all([ONE; 2]);
    crowd.queue.close(Rest::Drain);
    let late = crowd.enter(ONE);
    crowd.finish();
    assert_eq!(waiting.map(|caller| crowd.admitted(caller)), [Some(S), Some(2 * S)]);
    assert_eq!(crowd.refused(late), Some((0, Refused::Closed)));
    assert!(crowd.queue.is_closed() && crowd.queue.is_empty());
    assert_eq!(crowd.queue.outcomes(), Outcomes { admitted: 2, closed: 1, ..Outcomes::default() });
}

#[test]
fn a_closed_queue_refuses_the_rest_but_not_who_was_called() {
    let mut crowd = Crowd::new(drained(quota(1, S, 1), 100 * S, 10));
    let [called, waiting] = crowd.enter_all([ONE; 2]);
    crowd.hands.go_to(S);
    crowd.queue.close(Rest::Refuse);
    crowd.finish();
    assert_eq!(crowd.admitted(called), Some(S));
    assert_eq!(crowd.refused(waiting), Some((S, Refused::Closed)));
    assert_eq!(crowd.hands.next(), None);
}

#[test]
fn length_age_and_outcomes_are_seen() {
    let mut crowd = Crowd::new(drained(quota(1, S, 1), 3 * S, 3));
    crowd.go_to(S / 4);
    let first = crowd.enter(ONE);
    crowd.go_to(S / 2);
    crowd.enter(ONE);
    crowd.enter(ONE.within(nanos(MS)));
    assert_eq!((crowd.queue.len(), crowd.queue.age()), (2, Some(nanos(S / 4))));
    crowd.cancel(first);
    assert_eq!((crowd.queue.len(), crowd.queue.age()), (1, Some(nanos(0))));
    crowd.enter_all([ONE; 3]);
    crowd.finish();
    assert_eq!((crowd.queue.len(), crowd.queue.age()), (0, None));
    let outcomes = Outcomes { admitted: 3, cancelled: 1, full: 1, hopeless: 1, ..Outcomes::default() };
    assert_eq!(crowd.queue.outcomes(), outcomes);
    assert!(format!("{:?}", crowd.queue).contains("admitted: 3"));
}

#[test]
fn refusals_are_told_in_words() {
    let mut crowd = Crowd::new(drained(quota(1, S, 1), S, 1));
    let [_, full, hopeless, never] = crowd.enter_all([ONE, ONE, ONE.within(nanos(MS)), Entry::new(2)]);
    crowd.queue.close(Rest::Drain);
    let closed = crowd.enter(ONE);
    let told = [full, hopeless, never, closed].map(|caller| crowd.refused(caller).unwrap().1.to_string());
    assert_eq!(
        told,
        [
            "the queue is full: capacity is expected in 2s",
            "the deadline cannot be met: capacity is expected in 2s",
            "cost 2 is above the capacity of 1 and will never be admitted",
            "the queue is closed",
        ]
    );
}
