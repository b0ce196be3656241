//! Reservations by id: bounded, settled once.

use std::time::Duration;

use tollgate::Manual;
use tollgate::budget::{Budget, ById, NotReserved, NotSettled, Unsettled};

use super::{available, built, set};
use crate::support::{S, quota};

fn calls(max_open: usize) -> ById<u32, Manual> {
    let builder = Budget::builder(quota(1, 3600 * S, 100)).overdue(Unsettled::Observed);
    ById::new(built(builder.time_limit(Duration::from_secs(10))), max_open)
}

#[test]
fn an_id_is_settled_once() {
    let calls = calls(10);
    assert_eq!(calls.settle(&1, 5), Err(NotSettled::Unknown));
    assert_eq!(calls.reserve(1, 60), Ok(()));
    assert_eq!(calls.reserve(1, 10), Err(NotReserved::Duplicate));
    assert_eq!(calls.settle(&1, 5).map(|settled| settled.given_back), Ok(55));
    assert_eq!(calls.settle(&1, 5), Err(NotSettled::Unknown));
    assert_eq!(calls.reserve(1, 10), Ok(()), "it may be used again");
    assert_eq!(calls.fail(&1).map(|settled| settled.charged), Ok(10));
    assert_eq!(available(calls.budget()), 85);
    assert!(matches!(calls.reserve(2, 86), Err(NotReserved::Denied(_))));
    assert_eq!(calls.settle(&2, 0), Err(NotSettled::Unknown), "the refused one left nothing");
}

#[test]
fn only_so_many_are_remembered_and_what_is_overdue_makes_room() {
    let calls = calls(2);
    assert_eq!((calls.reserve(1, 10), calls.reserve(2, 10)), (Ok(()), Ok(())));
    assert!(calls.observe(&1, 4) && !calls.observe(&3, 4));
    assert_eq!(calls.reserve(3, 10), Err(NotReserved::NoRoom { max_open: 2 }));
    assert_eq!(available(calls.budget()), 80, "nothing is charged for the one without room");
    set(calls.budget(), 10 * S);
    let late = calls.settle(&1, 9).unwrap_err();
    assert!(matches!(late, NotSettled::Late(late) if (late.kept, late.overrun) == (4, 5)), "{late:?}");
    assert_eq!((calls.reserve(3, 10), calls.reserve(4, 10)), (Ok(()), Ok(())));
    assert_eq!(calls.settle(&2, 1), Err(NotSettled::Unknown), "it has made room");
    assert_eq!(available(calls.budget()), 100 - 9 - 10 - 20);
}
