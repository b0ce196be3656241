//! Charges that are undone while others charge, undo and move the clock.

use tollgate::Clock;
use tollgate_loom_tests::{Admission, Bucket, any_below, at, bucket_of, each, sample, within};

const PERIOD: u64 = 3;
const CAPACITY: u64 = 5;

/// Moves the clock on by up to two refills.
fn advance(bucket: &Bucket) {
    let now = bucket.clock().now().as_u64();
    bucket.clock().set(at(now + any_below(2 * PERIOD)));
}

/// Charges up to three tokens, does something else, and undoes it or not. Returns what was kept.
fn charge_and_undo_some(bucket: &'static Bucket, calls: u64) -> Vec<Admission> {
    let mut kept = Vec::new();
    let mut held = None;
    for _ in 0..calls {
        let (now, cost) = (bucket.clock().now(), 1 + any_below(3));
        let charged = bucket.try_charge_at(cost, now).ok();
        if any_below(2) == 0 {
            if let Some(charge) = std::mem::replace(&mut held, charged) {
                charge.undo();
            }
        } else if charged.is_some() {
            kept.push(Admission { at: now.as_u64(), cost });
        }
    }
    if let Some(charge) = held {
        charge.undo();
    }
    kept
}

/// What was undone counts as never charged, and with that the bound holds in every interval.
fn what_was_kept_is_within_the_bound(threads: u64, calls: u64) {
    let bucket = bucket_of(PERIOD, CAPACITY);
    let kept = each(threads, move |thread| {
        if thread > 0 {
            return charge_and_undo_some(bucket, calls);
        }
        (0..calls).for_each(|_| advance(bucket));
        Vec::new()
    });
    let (mut kept, end) = (kept.concat(), bucket.clock().now());
    kept.push(Admission { at: end.as_u64(), cost: bucket.drain_at(end) });
    assert!(within(PERIOD, CAPACITY, &kept), "{kept:?}");
}

#[test]
fn three_threads_of_four() {
    sample("undo_three_threads_of_four", 20_000, || what_was_kept_is_within_the_bound(3, 4));
}

#[test]
fn eight_threads_of_eight() {
    sample("undo_eight_threads_of_eight", 10_000, || what_was_kept_is_within_the_bound(8, 8));
}

/// Each thread charges and steps back, over and over, with nobody keeping anything: the bucket is full again after the
/// time to fill it, and nobody was charged into debt.
#[test]
fn all_step_back() {
    sample("undo_all_step_back", 5_000, || {
        let bucket = bucket_of(PERIOD, CAPACITY);
        let admitted = each(4, move |_| {
            let step_back = |_: &u32| bucket.try_charge(2).map(|charge| charge.undo()).is_ok();
            (0..4).filter(step_back).count()
        });
        assert!(admitted.iter().sum::<usize>() >= 2);
        assert_eq!(bucket.peek().debt(), 0);
        assert_eq!(bucket.peek_at(at(PERIOD * CAPACITY)).available(), CAPACITY);
    });
}
