//! Waiting in line for a permit.

use std::sync::Arc;
use std::time::Duration;

use tollgate::inflight::{InFlight, NoPermit};

use super::Task;

#[test]
fn first_come_first_served_and_each_woken_once() {
    let limit = InFlight::new(1).unwrap();
    let mut held = limit.try_acquire().unwrap();
    let mut tasks: Vec<_> = (0..8).map(|_| Task::pending(limit.acquire())).collect();
    assert_eq!(limit.waiting(), 8);
    for turn in 0..8 {
        drop(held);
        assert_eq!((limit.in_use(), limit.waiting()), (1, 7 - turn), "handed over, never free in between");
        let wakes: Vec<u64> = tasks.iter().map(Task::wakes).collect();
        assert_eq!(wakes, (0..8).map(|task| u64::from(task <= turn)).collect::<Vec<_>>());
        assert!(tasks[turn + 1..].iter_mut().all(|task| task.poll().is_none()));
        held = tasks[turn].poll().expect("its turn").unwrap();
    }
    drop(held);
    assert_eq!((limit.in_use(), limit.waiting()), (0, 0));
}

#[test]
fn nobody_goes_ahead_of_those_in_line() {
    let limit = InFlight::new(4).unwrap();
    let held = limit.try_acquire_n(3).unwrap();
    let mut heavy = Task::pending(limit.acquire_n(4));
    let refused = limit.try_acquire().unwrap_err();
    assert_eq!(refused, NoPermit::OthersFirst { weight: 1, in_use: 3, limit: 4 });
    let mut light = Task::pending(limit.acquire());
    drop(held);
    assert!(light.poll().is_none(), "behind the heavy one");
    let all = heavy.poll().expect("all are free").unwrap();
    assert!(light.poll().is_none());
    drop(all);
    assert!(light.poll().is_some());
}

#[test]
fn one_release_serves_all_that_fit() {
    let limit = InFlight::new(6).unwrap();
    let held = limit.try_acquire_n(6).unwrap();
    let mut tasks: Vec<_> = [3, 2, 2, 1].map(|weight| Task::pending(limit.acquire_n(weight))).into();
    drop(held);
    let permits: Vec<_> = tasks.iter_mut().map(Task::poll).collect();
    let answers: Vec<bool> = permits.iter().map(Option::is_some).collect();
    assert_eq!(answers, [true, true, false, false], "the last would fit, but its turn has not come");
    assert_eq!((limit.in_use(), limit.waiting()), (5, 2));
    drop(permits);
    assert_eq!((limit.in_use(), limit.waiting()), (3, 0), "handed over to the other two");
    drop(tasks);
    assert_eq!(limit.in_use(), 0);
}

#[test]
fn a_dropped_permit_of_a_ready_task_comes_back() {
    let limit = InFlight::new(2).unwrap();
    let permit = Task::new(limit.acquire_n(2)).poll().expect("there").unwrap();
    assert_eq!((permit.weight(), limit.in_use()), (2, 2));
    drop(permit);
    assert_eq!(limit.in_use(), 0);
}

#[test]
fn who_leaves_the_line_frees_the_place_and_the_way() {
    let limit = InFlight::new(2).unwrap().max_waiting(2);
    let held = limit.try_acquire().unwrap();
    let heavy = Task::pending(limit.acquire_n(2));
    let mut light = Task::pending(limit.acquire());
    let mut late = Task::new(limit.acquire());
    assert_eq!(late.poll().unwrap().unwrap_err(), NoPermit::LineFull { depth: 2 });
    drop(heavy);
    assert_eq!(light.wakes(), 1, "it was held up by the heavy one alone");
    let permit = light.poll().expect("fits").unwrap();
    let waiting = Task::pending(limit.acquire());
    assert_eq!(limit.waiting(), 1);
    drop((waiting, held, permit));
    assert_eq!((limit.in_use(), limit.waiting()), (0, 0));
    assert!(limit.try_acquire_n(2).is_ok(), "nobody waits any more");
}

#[test]
fn a_permit_handed_to_a_dropped_future_goes_to_the_next_or_back() {
    let limit = InFlight::new(1).unwrap();
    let held = limit.try_acquire().unwrap();
    let (first, mut second) = (Task::pending(limit.acquire()), Task::pending(limit.acquire()));
    drop(held);
    assert_eq!((first.wakes(), second.wakes()), (1, 0));
    drop(first);
    assert_eq!(second.wakes(), 1);
    drop(second.poll().unwrap().unwrap());
    assert_eq!(limit.in_use(), 0);
}

#[test]
fn a_higher_class_comes_sooner_and_takes_the_last_place() {
    let limit = InFlight::new(1).unwrap().max_waiting(3);
    let held = limit.try_acquire().unwrap();
    let mut low: Vec<_> = (0..3).map(|_| Task::pending(limit.acquire().class(3))).collect();
    let mut high = Task::pending(limit.acquire().class(0));
    assert_eq!(low[2].wakes(), 1);
    assert_eq!(low[2].poll().unwrap().unwrap_err(), NoPermit::LineFull { depth: 3 });
    drop(held);
    assert_eq!((high.wakes(), low[0].wakes()), (1, 0));
    drop(high.poll().unwrap());
    assert_eq!((low[0].wakes(), low[1].wakes()), (1, 0), "first come, first served within the class");
    assert_eq!(limit.waiting(), 1);
}

#[test]
fn a_weight_that_can_never_be_is_refused_at_once_or_in_its_turn() {
    let limit = InFlight::new(4).unwrap();
    assert_eq!(Task::new(limit.acquire_n(0)).poll().unwrap().unwrap_err(), NoPermit::ZeroWeight);
    let over = NoPermit::OverLimit { weight: 5, limit: 4 };
    assert_eq!(Task::new(limit.acquire_n(5)).poll().unwrap().unwrap_err(), over);
    let held = limit.try_acquire_n(2).unwrap();
    let mut heavy = Task::pending(limit.acquire_n(4));
    let mut light = Task::pending(limit.acquire());
    limit.set_limit(3).unwrap();
    assert_eq!((heavy.wakes(), light.wakes()), (1, 1), "who can never have it does not hold up the others");
    let refused = heavy.poll().unwrap().unwrap_err();
    assert_eq!(refused, NoPermit::OverLimit { weight: 4, limit: 3 });
    assert!(light.poll().unwrap().is_ok());
    drop((held, heavy, light));
    assert_eq!((limit.in_use(), limit.waiting()), (0, 0));
}

#[test]
fn a_raised_limit_serves_the_line_at_once() {
    let limit = InFlight::new(1).unwrap();
    let _held = limit.try_acquire().unwrap();
    let mut tasks: Vec<_> = (0..4).map(|_| Task::pending(limit.acquire())).collect();
    limit.set_limit(3).unwrap();
    let wakes: Vec<u64> = tasks.iter().map(Task::wakes).collect();
    assert_eq!(wakes, [1, 1, 0, 0]);
    let served: Vec<_> = tasks.iter_mut().filter_map(Task::poll).collect();
    assert_eq!((served.len(), limit.in_use()), (2, 3));
}

#[test]
fn waiting_may_be_ruled_out() {
    let limit = InFlight::new(1).unwrap().max_waiting(0);
    let held = Task::new(limit.acquire()).poll().expect("there").unwrap();
    assert_eq!(Task::new(limit.acquire()).poll().unwrap().unwrap_err(), NoPermit::LineFull { depth: 0 });
    drop(held);
    assert!(limit.try_acquire().is_ok());
}

#[test]
fn the_line_is_bounded_unless_told_otherwise() {
    let limit = InFlight::new(2).unwrap();
    let _held = limit.try_acquire_n(2).unwrap();
    let tasks: Vec<_> = (0..16).map(|_| Task::pending(limit.acquire())).collect();
    assert_eq!(Task::new(limit.acquire()).poll().unwrap().unwrap_err(), NoPermit::LineFull { depth: 16 });
    drop(tasks);
    assert_eq!(limit.waiting(), 0);
}

#[test]
fn the_waker_of_the_last_poll_is_woken() {
    let limit = InFlight::new(1).unwrap();
    let held = limit.try_acquire().unwrap();
    let mut moved = Box::pin(limit.acquire());
    let (before, now) =
        (Task::pending(std::future::pending::<()>()), Task::pending(std::future::pending::<()>()));
    for task in [&before, &before, &now] {
        assert!(task.polls(moved.as_mut()).is_none());
    }
    drop(held);
    assert_eq!((before.wakes(), now.wakes()), (0, 1));
    assert!(now.polls(moved.as_mut()).unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_with_the_callers_own_time() {
    let limit = Arc::new(InFlight::new(1).unwrap());
    let held = limit.try_acquire().unwrap();
    let second = || tokio::time::sleep(Duration::from_secs(1));
    assert_eq!(limit.acquire_until(1, second()).await.unwrap_err(), NoPermit::TimedOut);
    assert!(tokio::time::timeout(Duration::from_secs(1), limit.acquire_owned()).await.is_err());
    assert_eq!((limit.in_use(), limit.waiting()), (1, 0));
    drop(held);
    assert!(limit.acquire_until(1, second()).await.is_ok());
    assert!(limit.acquire_until(1, std::future::ready(())).await.is_ok(), "it is there, and goes first");
    let owned = limit.acquire_owned().await.unwrap();
    let (waiter, ()) = tokio::join!(limit.acquire_until(1, second()), async { drop(owned) });
    assert!(waiter.is_ok());
}

#[test]
fn what_is_shown_of_who_waits() {
    let limit = Arc::new(InFlight::new(1).unwrap());
    let _held = limit.try_acquire().unwrap();
    let (borrowed, owned) = (limit.acquire().class(2), limit.acquire_owned().class(1));
    let text = format!("{borrowed:?} {owned:?}");
    assert!(text.contains("weight: 1, class: 2, is_in_line: false"), "{text}");
    assert!(text.starts_with("Acquire(") && text.contains("AcquireOwned("), "{text}");
    let _waiting = Task::pending(limit.acquire());
    assert!(format!("{limit:?}").contains("someone_waits: true"));
}
