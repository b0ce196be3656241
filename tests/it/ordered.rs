//! A clock whose plain readings come a little early, as a processor's counter may tell them. What must be read no earlier
//! than what has been seen is read in order.

use tollgate::{Bucket, Clock, Manual, Nanos, quota};

use crate::support::{S, at};

/// A plain reading is early by half a second.
struct Early(Manual);

impl Early {
    fn new() -> Self {
        Self(Manual::new())
    }
}

impl Clock for Early {
    fn now(&self) -> Nanos {
        self.now_ordered().saturating_sub(at(S / 2))
    }

    fn now_ordered(&self) -> Nanos {
        self.0.now()
    }
}

#[test]
fn an_undo_gives_nothing_back_that_refill_has_made_good() {
    let limit = Bucket::with_clock(quota!("1/s burst 1"), Early::new());
    let charge = limit.try_charge_at(1, at(0)).unwrap();
    limit.clock().0.set(at(S));
    assert_eq!(limit.try_acquire_at(at(S)), Ok(()));
    charge.undo();
    assert_eq!(limit.peek_at(at(S)).time_to_full().as_nanos(), u128::from(S));
}

#[cfg(feature = "adjust")]
#[test]
fn a_change_does_not_count_time_twice() {
    use tollgate::adjust::{Adjustable, Held};

    let limit = Adjustable::with_clock(quota!("1/s burst 10 empty"), Early::new());
    limit.clock().0.set(at(S));
    limit.adjust(quota!("10/s burst 10"), Held::Tokens);
    assert_eq!(limit.acquire_up_to_at(10, at(S)), 1);
}

#[cfg(all(feature = "adjust", feature = "keyed"))]
#[test]
fn a_change_of_keys_does_not_count_time_twice() {
    use tollgate::adjust::Held;
    use tollgate::keyed::Keyed;

    let limit =
        Keyed::<u64, _>::builder(quota!("1/s burst 10")).max_keys(4).clock(Early::new()).build().unwrap();
    assert_eq!(limit.try_acquire_n_at(&1, 10, at(0)), Ok(()));
    limit.clock().0.set(at(S));
    limit.adjust(0, quota!("10/s burst 10"), Held::Tokens).unwrap();
    assert!(limit.try_acquire_n_at(&1, 2, at(S)).is_err());
    assert_eq!(limit.try_acquire_n_at(&1, 1, at(S)), Ok(()));
}

/// A key whose word another key has taken, when it was full: it is admitted at a reading no earlier than that.
#[cfg(feature = "keyed")]
#[test]
fn a_key_that_has_lost_its_word_is_admitted_no_earlier_than_that() {
    use std::cell::Cell;

    use tollgate::keyed::Table;

    use crate::keyed::Chosen;

    /// The clock of one thread that is early, or not, and the last reading told.
    struct Told {
        clock: Early,
        is_early: Cell<bool>,
        last: Cell<Nanos>,
    }

    impl Told {
        fn tell(&self, now: Nanos) -> Nanos {
            self.last.set(now);
            now
        }
    }

    impl Clock for Told {
        fn now(&self) -> Nanos {
            self.tell(if self.is_early.get() { self.clock.now() } else { self.clock.now_ordered() })
        }

        fn now_ordered(&self) -> Nanos {
            self.tell(self.clock.now_ordered())
        }
    }

    let clock = Told { clock: Early::new(), is_early: Cell::new(false), last: Cell::new(at(0)) };
    let limit = Table::builder(quota!("1/s"), 8).hasher(Chosen(|key| key)).clock(clock).build().unwrap();
    // Both look for a place from the first on.
    assert_eq!(limit.try_acquire(&8), Ok(()));
    limit.clock().clock.0.set(at(S));
    assert_eq!(limit.try_acquire(&16), Ok(()));
    limit.clock().is_early.set(true);
    assert_eq!(limit.try_acquire(&8), Ok(()));
    assert_eq!(limit.clock().last.get(), at(S));
}
