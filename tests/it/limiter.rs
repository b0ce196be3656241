//! `Limiter`: the trait that wrappers accept.

use std::sync::Arc;

use tollgate::{Denied, Limiter};

use crate::support::{S, bucket, quota, wait_of};

type Answers = (Result<(), Denied>, Result<(), Denied>);

/// What a wrapper does: it knows the trait and nothing else.
fn both(limiter: &(impl Limiter + ?Sized), cost: u64) -> Answers {
    (limiter.try_acquire(), limiter.try_acquire_n(cost))
}

#[test]
fn every_way_to_hold_a_bucket_is_the_same_limiter() {
    let limit = Arc::new(bucket(quota(1, S, 20)));
    let object: &dyn Limiter = &*limit;
    let ways: [&dyn Fn(u64) -> Answers; 4] = [
        &|cost| both(&*limit, cost),
        &|cost| both(&&*limit, cost),
        &|cost| both(object, cost),
        #[cfg(feature = "std")]
        &|cost| both(&limit, cost),
        #[cfg(not(feature = "std"))]
        &|cost| both(&*limit, cost),
    ];
    for ask in ways {
        limit.reset();
        assert_eq!((ask(2), limit.peek().available()), ((Ok(()), Ok(())), 17));
        assert_eq!(ask(21), (Ok(()), Err(Denied::OverCapacity { cost: 21, capacity: 20 })));
        assert_eq!(ask(0).1, Err(Denied::ZeroCost));
        limit.drain();
        let (one, three) = ask(3);
        assert_eq!((wait_of(one.unwrap_err()), wait_of(three.unwrap_err())), (S, 3 * S));
    }
}

/// The provided method asks for one token.
#[test]
fn one_token_is_a_cost_of_one() {
    struct OnlyTheCost;
    impl Limiter for OnlyTheCost {
        fn try_acquire_n(&self, cost: u64) -> Result<(), Denied> {
            Err(Denied::OverCapacity { cost, capacity: 0 })
        }
    }
    let asked = |cost| Err(Denied::OverCapacity { cost, capacity: 0 });
    assert_eq!(both(&OnlyTheCost, 2), (asked(1), asked(2)));
}
