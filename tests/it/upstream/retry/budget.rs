//! `RetryBudget`: what retries cost and successes bring.

use std::thread;

use proptest::prelude::*;
use tollgate::upstream::{RetryBudget, RetryBudgetError};

#[test]
fn figures_out_of_their_ranges_are_named() {
    let cost = |cost, capacity| Some(RetryBudgetError::Cost { cost, capacity });
    assert_eq!(RetryBudget::new(0, 0, 0).err(), cost(0, 0));
    assert_eq!(RetryBudget::new(10, 0, 1).err(), cost(0, 10));
    assert_eq!(RetryBudget::new(10, 11, 1).err(), cost(11, 10));
    let refill = |refill| Some(RetryBudgetError::Refill { refill, cost: 5 });
    assert_eq!(RetryBudget::new(10, 5, 0).err(), refill(0));
    assert_eq!(RetryBudget::new(10, 5, 6).err(), refill(6));
    let text = RetryBudget::new(10, 5, 6).unwrap_err().to_string();
    assert_eq!(text, "a success brings 6 tokens: it must be from 1 to 5, what a retry costs");
    for (capacity, cost, refill) in [(1, 1, 1), (5, 5, 5), (u64::MAX, u64::MAX, u64::MAX)] {
        let budget = RetryBudget::new(capacity, cost, refill).unwrap();
        assert!(budget.try_withdraw() && !budget.try_withdraw());
        budget.deposit();
        assert_eq!((budget.available(), budget.capacity(), budget.cost()), (capacity, capacity, cost));
    }
}

/// Also where the sum does not fit a `u64`.
#[test]
fn it_is_never_above_its_capacity() {
    let budget = RetryBudget::new(u64::MAX - 1, u64::MAX - 1, u64::MAX - 1).unwrap();
    budget.deposit();
    assert_eq!(budget.available(), u64::MAX - 1);
    let budget = RetryBudget::new(10, 4, 3).unwrap();
    let left = [true, false, false].map(|retry| {
        if retry {
            assert!(budget.try_withdraw())
        } else {
            budget.deposit()
        }
        budget.available()
    });
    assert_eq!(left, [6, 9, 10]);
}

#[test]
fn clones_share_it() {
    let (budget, tokens) = (RetryBudget::new(10, 5, 1).unwrap(), |budget: &RetryBudget| budget.available());
    let clone = budget.clone();
    assert!(budget.try_withdraw() && clone.try_withdraw() && !budget.try_withdraw());
    clone.deposit();
    assert_eq!((tokens(&budget), tokens(&clone)), (1, 1));
}

/// Threads that retry until it is empty, while others bring a known number of successes: exactly what was there.
#[test]
fn threads_take_exactly_what_there_is() {
    const CAPACITY: u64 = 40_000;
    const SUCCESSES: u64 = 5_000;
    let budget = RetryBudget::new(CAPACITY, 4, 1).unwrap();
    assert!((0..SUCCESSES).all(|_| budget.try_withdraw()), "room for all that the successes bring");
    let taken: u64 = thread::scope(|scope| {
        let retries =
            [(); 2].map(|()| scope.spawn(|| (0..CAPACITY).filter(|_| budget.try_withdraw()).count()));
        let successes = [(); 2].map(|()| scope.spawn(|| (0..SUCCESSES).for_each(|_| budget.deposit())));
        successes.into_iter().for_each(|thread| thread.join().unwrap());
        retries.map(|thread| thread.join().unwrap() as u64).iter().sum()
    });
    let more = (0..CAPACITY).filter(|_| budget.try_withdraw()).count() as u64;
    assert_eq!((taken + more + SUCCESSES) * 4 + budget.available(), CAPACITY + 2 * SUCCESSES);
}

proptest! {
    /// Beside a bucket in plain numbers; and the law: `n` successes allow at most `(B + n * s) / c` retries.
    #[test]
    fn it_is_a_bucket_that_successes_refill(
        capacity in 1_u64..200, cost in 1_u64..20, refill in 1_u64..20,
        retries in prop::collection::vec(any::<bool>(), 0..400),
    ) {
        prop_assume!(refill <= cost && cost <= capacity);
        let budget = RetryBudget::new(capacity, cost, refill).unwrap();
        let (mut tokens, mut allowed, mut successes) = (i128::from(capacity), 0_u64, 0_u64);
        for retry in retries {
            if retry {
                let fits = tokens >= i128::from(cost);
                prop_assert_eq!(budget.try_withdraw(), fits);
                tokens -= if fits { i128::from(cost) } else { 0 };
                allowed += u64::from(fits);
            } else {
                budget.deposit();
                tokens = (tokens + i128::from(refill)).min(i128::from(capacity));
                successes += 1;
            }
            prop_assert_eq!(i128::from(budget.available()), tokens);
            prop_assert!(allowed <= (capacity + successes * refill) / cost);
        }
    }
}
