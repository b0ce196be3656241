//! Undoing a charge by the prompt rule of `GUARANTEES` section 6: the bucket never holds more than if the charge had not
//! been made. Where it may hold less, the outcomes say how much.

use std::collections::BTreeSet;

use tollgate::{Charge, Manual};
use tollgate_loom_tests::{Bucket, at, bucket, bucket_filled, explore, missing, race2, race3};

type Charged = Charge<'static, &'static Manual>;

/// A bucket of ten, and that many tokens charged at 0.
fn charged(cost: u64) -> (&'static Bucket, Charged) {
    let bucket = bucket(10);
    (bucket, charge(bucket, cost))
}

fn charge(bucket: &'static Bucket, cost: u64) -> Charged {
    bucket.try_charge_at(cost, at(0)).expect("so many are there")
}

/// Moves the clock and takes tokens at that reading.
fn move_and_take(bucket: &'static Bucket, now: u64, cost: u64) -> bool {
    bucket.clock().set(at(now));
    bucket.try_acquire_n(cost).is_ok()
}

#[test]
fn what_is_undone_is_there_for_one() {
    let outcomes = explore("undo_is_there_for_one", || {
        let (bucket, charge) = charged(10);
        let ask = move || bucket.try_acquire_n(4).is_ok();
        let ((), admitted) = race2(move || charge.undo(), ask);
        (admitted, missing(bucket, 0))
    });
    assert_eq!(outcomes, BTreeSet::from([(true, 4), (false, 0)]));
}

#[test]
fn a_debt_meanwhile_stays() {
    let outcomes = explore("undo_and_debt", || {
        let (bucket, charge) = charged(4);
        let debt = move || {
            bucket.charge(12);
        };
        race2(move || charge.undo(), debt);
        missing(bucket, 0)
    });
    assert_eq!(outcomes, BTreeSet::from([12]));
}

/// Four charged at 0 have been refilled at 4, so nothing of them is due once an admission at 4 has been made; the undo
/// must not overlook that by a reading older than the admission's.
#[test]
fn refill_that_an_admission_has_seen_counts() {
    let outcomes = explore("undo_sees_an_admissions_refill", || {
        let (bucket, charge) = charged(4);
        let ((), admitted) = race2(move || charge.undo(), move || move_and_take(bucket, 4, 4));
        (admitted, missing(bucket, 4))
    });
    assert_eq!(outcomes, BTreeSet::from([(true, 4)]));
}

/// The same with the clock moved by a third: nobody can tell whose reading is older.
#[test]
fn refill_that_an_admission_has_seen_counts_whoever_moves_the_clock() {
    let outcomes = explore("undo_sees_an_admissions_refill_by_a_third", || {
        let (bucket, charge) = charged(4);
        let ask = move || bucket.try_acquire_n(4).is_ok();
        let ((), admitted, ()) = race3(move || charge.undo(), ask, move || bucket.clock().set(at(4)));
        (admitted, missing(bucket, 4))
    });
    // Admitted at 0: the word is 4 if that was undone in time, else 8.
    assert_eq!(outcomes, BTreeSet::from([(true, 0), (true, 4)]));
}

/// Between the look of one undo and its compare-exchange another undo lowers the word, time passes, and an admission
/// brings it back to where it was. Without the two charges, 4 are missing at 4.
#[test]
fn two_undos_and_an_admission_that_restores_the_word() {
    let outcomes = explore("undo_word_comes_back", || {
        let (bucket, first) = charged(4);
        let second = charge(bucket, 4);
        let other = move || {
            second.undo();
            move_and_take(bucket, 4, 4)
        };
        let ((), admitted) = race2(move || first.undo(), other);
        (admitted, missing(bucket, 4))
    });
    assert_eq!(outcomes, BTreeSet::from([(true, 4)]));
}

/// Without the two charges the admission is granted and 10 are missing at 2. Refused, it came before the undos, which
/// give back all or, if the second charge was undone first, leave the first to refill.
#[test]
fn two_undos_and_an_admission_at_the_refill_boundary() {
    let outcomes = explore("undo_twice_and_admission", || {
        let (bucket, first) = charged(4);
        let second = charge(bucket, 4);
        let ask = move || move_and_take(bucket, 2, 10);
        let ((), (), admitted) = race3(move || first.undo(), move || second.undo(), ask);
        (admitted, missing(bucket, 2))
    });
    assert_eq!(outcomes, BTreeSet::from([(true, 10), (false, 0), (false, 2)]));
}

/// A refund that is under way when the charge is made, an admission after refill, then the undo. What the refund has
/// given back before the admission, the undo must not give back again.
#[test]
fn a_refund_under_way_at_the_charge_counts() {
    let outcomes = explore("undo_refund_under_way_at_charge", || {
        let bucket = bucket(10);
        charge(bucket, 4);
        let charge_take_undo = move || {
            let charge = charge(bucket, 4);
            bucket.clock().set(at(4));
            let before = missing(bucket, 0);
            let admitted = bucket.try_acquire_n(4).is_ok();
            charge.undo();
            (before, admitted)
        };
        let ((), (before, admitted)) = race2(move || bucket.refund_at(4, at(0)), charge_take_undo);
        (before, admitted, missing(bucket, 4))
    });
    // The refund came before the admission: without the charge, 4 are missing. It came after: nothing is, or 4 where
    // the undo could not tell.
    assert_eq!(outcomes, BTreeSet::from([(4, true, 4), (8, true, 0), (8, true, 4)]));
}

/// The refund gives back three of the four charged, an admission follows, and the undo must see the refund in time.
/// Without the charge the refund finds the bucket full, and 5 are missing.
#[test]
fn a_refund_before_an_admission_counts() {
    let outcomes = explore("undo_refund_before_admission", || {
        let (bucket, charge) = charged(4);
        let look_and_take = move || {
            let before = missing(bucket, 0);
            (before, bucket.try_acquire_n(5).is_ok())
        };
        let ((), (), (before, admitted)) =
            race3(move || charge.undo(), move || bucket.refund(3), look_and_take);
        (before, admitted, missing(bucket, 0))
    });
    // One missing: only the refund came before the look, so it did before the admission too. Else it may come last and
    // give back three of the admission's tokens.
    let all = [(0, true, 2), (0, true, 5), (1, true, 5), (4, true, 2), (4, true, 5)];
    assert_eq!(outcomes, BTreeSet::from(all));
}

/// The same with the refund and the admission by one thread.
#[test]
fn a_refund_meanwhile_counts() {
    let outcomes = explore("undo_refund_meanwhile", || {
        let (bucket, charge) = charged(4);
        let refund_and_take = move || {
            bucket.refund(4);
            bucket.try_acquire_n(5).is_ok()
        };
        let ((), admitted) = race2(move || charge.undo(), refund_and_take);
        (admitted, missing(bucket, 0))
    });
    assert_eq!(outcomes, BTreeSet::from([(true, 5)]));
}

/// Two that step back from a joint admission. Each may keep the other out, and one that charges while the other's undo
/// is under way cannot tell whether that gave back its own token: it keeps the charge.
#[test]
fn two_that_step_back() {
    let outcomes = explore("undo_two_that_step_back", || {
        let bucket = bucket(1);
        let step_back = move || match bucket.try_charge(1) {
            Ok(charge) => {
                charge.undo();
                true
            }
            Err(_) => false,
        };
        (race2(step_back, step_back), missing(bucket, 0))
    });
    let one = [((true, false), 0), ((false, true), 0)];
    let both = [((true, true), 0), ((true, true), 1)];
    assert_eq!(outcomes, one.into_iter().chain(both).collect());
}

/// A reset to three tokens forgets the charge, so its undo has nothing to give back.
#[test]
fn a_reset_forgets_the_charge() {
    let outcomes = explore("undo_after_reset", || {
        let bucket = bucket_filled(10, 3);
        bucket.refund_at(1, at(0));
        let charge = charge(bucket, 4);
        race2(move || charge.undo(), move || bucket.reset());
        missing(bucket, 0)
    });
    assert_eq!(outcomes, BTreeSet::from([7]));
}

/// Without the charge the reset leaves nothing missing, and the admission 8. The undo may find the word as it was before
/// the reset, brought back by the admission; then it gives back four, no more than the reset itself gave.
#[test]
fn a_reset_and_an_admission_that_restores_the_word() {
    let outcomes = explore("undo_reset_and_word_comes_back", || {
        let (bucket, charge) = charged(4);
        assert!(bucket.try_acquire_n(4).is_ok());
        let reset_and_take = move || {
            bucket.reset();
            bucket.try_acquire_n(8).is_ok()
        };
        let ((), admitted) = race2(move || charge.undo(), reset_and_take);
        (admitted, missing(bucket, 0))
    });
    assert_eq!(outcomes, BTreeSet::from([(true, 8), (true, 4)]));
}
