//! `Pace`: even spacing, also from a full bucket.

use std::time::Duration;

use proptest::prelude::*;
use tollgate::wait::Pace;
use tollgate::{Denied, Fill, Manual};

use crate::support::{MS, S, at, nanos, quota, wait_of};

const FOREVER: Duration = Duration::MAX;

fn pace(tokens: u64, period: u64, burst: u64) -> Pace<Manual> {
    Pace::with_clock(quota(tokens, period, burst), Manual::new())
}

#[test]
fn a_full_bucket_makes_no_burst() {
    let pace = pace(2, S, 3);
    let due: Vec<_> = (0..3).map(|_| pace.book(1, FOREVER).unwrap().due().as_u64()).collect();
    assert_eq!(due, [0, 500 * MS, S]);
    let idle = pace.book_at(1, FOREVER, at(100 * S)).unwrap().due();
    let next = pace.book_at(1, FOREVER, at(100 * S)).unwrap().due();
    assert_eq!((idle, next), (at(100 * S), at(100 * S + 500 * MS)), "nor does an idle one");
}

#[test]
fn the_gap_is_that_of_the_cost_before_it() {
    let pace = pace(2, S, 3);
    let due: Vec<_> = [3, 1, 2, 1].map(|cost| pace.book(cost, FOREVER).unwrap().due().as_u64()).into();
    assert_eq!(due, [0, 1500 * MS, 2 * S, 3 * S]);
    assert_eq!(pace.book(4, FOREVER).unwrap_err(), Denied::OverCapacity { cost: 4, capacity: 3 });
}

#[test]
fn it_refuses_as_a_bucket_does() {
    let quota = quota(2, S, 3).fill(Fill::Empty).unwrap();
    let pace = Pace::with_clock(quota, Manual::new());
    assert_eq!(pace.try_acquire_n(3), Ok(()), "there is no filling up to wait for");
    assert_eq!(wait_of(pace.try_acquire_n(1).unwrap_err()), 1500 * MS);
    assert_eq!(wait_of(pace.book(1, nanos(S)).unwrap_err()), 500 * MS);
    pace.pause_until(at(9 * S));
    assert_eq!(pace.book(1, FOREVER).unwrap().due(), at(9 * S));
    pace.resume();
    assert_eq!((pace.quota().capacity(), pace.clock().advance(nanos(1))), (3, ()));
}

#[test]
fn cancelled_places_come_back_from_the_end() {
    let pace = pace(1, S, 1);
    let mut places: Vec<_> = (0..4).map(|_| pace.book(1, FOREVER).unwrap()).collect();
    places.remove(1).cancel();
    assert_eq!(pace.book(1, FOREVER).unwrap().due(), at(4 * S), "others stand behind it");
    let pace = self::pace(1, S, 1);
    let places: Vec<_> = (0..4).map(|_| pace.book(1, FOREVER).unwrap()).collect();
    let order = [1, 3, 2];
    let mut places: Vec<_> = places.into_iter().map(Some).collect();
    order.into_iter().for_each(|place| places[place].take().unwrap().cancel());
    assert_eq!(pace.book(1, FOREVER).unwrap().due(), at(S));
}

proptest! {
    /// Whatever is cancelled, what stands is as far apart as its costs ask.
    #[test]
    fn what_stands_is_spaced(steps in prop::collection::vec((1..=3_u64, 0..10_u64, any::<u16>(), any::<bool>()), 1..60)) {
        let pace = pace(1, 4, 3);
        let (mut now, mut standing, mut open) = (0, Vec::new(), Vec::new());
        for (cost, later, which, cancels) in steps {
            now += later;
            if cancels && !open.is_empty() {
                let (index, booking): (usize, tollgate::wait::Booking<&Pace<Manual>>) =
                    open.remove(usize::from(which) % open.len());
                booking.cancel_at(at(now));
                standing[index] = None;
            } else if let Ok(booking) = pace.book_at(cost, nanos(60), at(now)) {
                standing.push(Some((booking.due().as_u64(), cost)));
                open.push((standing.len() - 1, booking));
            }
            let kept: Vec<_> = standing.iter().flatten().collect();
            for pair in kept.windows(2) {
                prop_assert!(pair[1].0 >= pair[0].0 + 4 * pair[0].1, "{:?}", kept);
            }
        }
    }
}
