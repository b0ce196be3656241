//! Charges that are taken back: by the rule of a bucket in the process, and when others are at it or have died in it.

use proptest::prelude::*;
use tollgate::shared_memory::{Region, SharedBucket, SharedCharge};
use tollgate::{Bucket, Charge, Clock, Manual, quota};

use super::Place;
use crate::support::{MS, S, at};

#[derive(Clone, Copy, Debug)]
enum Verb {
    TryCharge(u64),
    Charge(u64),
    Acquire(u64),
    Undo(usize),
    Refund(u64),
    Reset,
    Drain,
}

fn verbs() -> impl Strategy<Value = Verb> {
    prop_oneof![
        4 => (1..9_u64).prop_map(Verb::TryCharge),
        2 => (0..30_u64).prop_map(Verb::Charge),
        3 => (1..9_u64).prop_map(Verb::Acquire),
        4 => (0..4_usize).prop_map(Verb::Undo),
        2 => (1..9_u64).prop_map(Verb::Refund),
        1 => Just(Verb::Reset),
        1 => Just(Verb::Drain),
    ]
}

/// A bucket in the file and one in the process, with charges of both that may be undone.
struct Both<'a> {
    shared: &'a SharedBucket,
    own: &'a Bucket<Manual>,
    open: Vec<(SharedCharge<'a>, Charge<'a, Manual>)>,
}

impl Both<'_> {
    fn go(&mut self, verb: Verb, now: u64) {
        let now = at(now);
        match verb {
            Verb::TryCharge(cost) => {
                match (self.shared.try_charge_at(cost, now), self.own.try_charge_at(cost, now)) {
                    (Ok(shared), Ok(own)) => self.open.push((shared, own)),
                    (shared, own) => assert_eq!(shared.err(), own.err()),
                }
            }
            Verb::Charge(cost) => {
                self.open.push((self.shared.charge_at(cost, now), self.own.charge_at(cost, now)));
            }
            Verb::Acquire(cost) => {
                assert_eq!(self.shared.try_acquire_n_at(cost, now), self.own.try_acquire_n_at(cost, now));
            }
            Verb::Undo(which) if which < self.open.len() => {
                let (shared, own) = self.open.swap_remove(which);
                shared.undo_at(now);
                own.undo_at(now);
            }
            Verb::Undo(_) => {}
            Verb::Refund(cost) => {
                self.shared.refund_at(cost, now);
                self.own.refund_at(cost, now);
            }
            Verb::Reset => {
                self.shared.reset_at(now);
                self.own.reset_at(now);
            }
            Verb::Drain => assert_eq!(self.shared.drain_at(now), self.own.drain_at(now)),
        }
        assert_eq!(self.shared.peek_at(now), self.own.peek_at(now), "{verb:?} at {now:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn all_verbs_do_what_those_of_a_bucket_do(
        schedule in proptest::collection::vec((verbs(), 0..3_000 * MS), 1..60),
    ) {
        let place = Place::new();
        let quota = quota!("1/s burst 20");
        let (shared, own) = (place.bucket(quota), Bucket::with_clock(quota, Manual::new()));
        let mut now = 1_000 * S;
        let mut both = Both { shared: &shared, own: &own, open: Vec::new() };
        both.go(Verb::Reset, now);
        for (verb, passed) in schedule {
            now += passed;
            both.go(verb, now);
        }
    }
}

#[test]
fn a_charge_is_undone_from_any_opening_of_the_file() {
    let place = Place::new();
    let (first, second) = (place.bucket(quota!("1/h burst 10")), place.bucket(quota!("1/h burst 10")));
    let (of_first, of_second) = (first.try_charge(4).unwrap(), second.charge(9));
    assert_eq!(first.peek().debt(), 3);
    assert_eq!(format!("{of_first:?}"), "SharedCharge { tokens: 4 }");
    of_first.undo();
    assert_eq!(second.peek().available(), 1);
    of_second.undo();
    assert_eq!(first.peek().available(), 10);
    drop(first.try_charge(3));
    assert_eq!(second.peek().available(), 7, "dropped, it stays");
}

#[test]
fn an_undo_does_not_wait_for_one_that_was_stopped() {
    let place = Place::new();
    let region = place.open();
    let buckets = ["stopped", "other"].map(|name| region.bucket(name, quota!("1/h burst 10")).unwrap());
    let [stopped, other] = buckets.each_ref();
    let file = place.locked();
    stopped.charge(5).undo();
    other.charge(5).undo();
    assert_eq!([stopped, other].map(|bucket| bucket.peek().available()), [5, 10]);
    // It goes on, and ends.
    drop(file);
    stopped.charge(3).undo();
    assert_eq!(stopped.peek().available(), 5);
}

/// They have to be done, so they do without the lock.
#[test]
fn a_refund_and_a_reset_do_not_wait_for_an_undo_that_was_stopped() {
    let place = Place::new();
    let bucket = place.bucket(quota!("1/h burst 10"));
    let stopped = place.locked();
    let charge = bucket.charge(8);
    bucket.refund(5);
    assert_eq!(bucket.peek().available(), 7);
    bucket.reset();
    assert_eq!(bucket.peek().available(), 10);
    assert_eq!(bucket.try_acquire_n(4), Ok(()));
    drop(stopped);
    charge.undo();
    assert_eq!(bucket.peek().available(), 6, "what was refunded and reset is not undone too");
}

mod stress {
    use std::thread;

    use super::*;

    /// As a bucket in the process: undos mint nothing for each other, whoever asks beside them.
    #[test]
    fn what_is_undone_beside_admissions_is_within_the_bound() {
        let place = Place::new();
        // No refill to speak of: what is admitted and not undone is within the capacity.
        let quota = quota!("1/day burst 1k");
        let kept: u64 = thread::scope(|scope| {
            let workers: Vec<_> =
                (0..3).map(|_| scope.spawn(|| undo_the_most(&place.bucket(quota)))).collect();
            workers.into_iter().map(|worker| worker.join().unwrap()).sum()
        });
        let left = Region::open(place.path()).unwrap().bucket("requests", quota).unwrap();
        let begin = left.clock().now();
        assert!(kept + left.peek_at(begin).available() <= 1_000, "{kept} and {left:?}");
    }

    /// What was charged and not undone.
    fn undo_the_most(bucket: &SharedBucket) -> u64 {
        let mut kept = 0;
        for call in 0..2_000 {
            match bucket.try_charge(1 + call % 3) {
                Ok(_) if call % 40 == 0 => kept += 1 + call % 3,
                Ok(charge) => charge.undo(),
                Err(_) => {}
            }
        }
        kept
    }
}

#[cfg(feature = "budget")]
#[test]
fn a_shared_bucket_is_one_of_several_limits() {
    use tollgate::budget::{AllOf, Limit};

    let place = Place::new();
    let shared = place.bucket(quota!("1/h burst 10"));
    let own = Bucket::new(quota!("1/h burst 5"));
    let both = AllOf::new(["shared", "own"], (&shared, &own));
    assert!(both.try_acquire([4, 4]).is_ok());
    assert_eq!(both.try_acquire([4, 4]).unwrap_err().name(), "own");
    assert_eq!(both.try_acquire([7, 1]).unwrap_err().name(), "shared");
    // As a call does that finds itself overtaken after the look.
    shared.undo(shared.take(4, None).unwrap());
    assert_eq!((shared.peek().available(), own.peek().available()), (6, 1));
}
