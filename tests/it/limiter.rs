//! `Limiter`: the trait that wrappers accept.

use std::sync::Arc;

use tollgate::{Denied, Limiter};

use crate::support::{S, bucket, quota, wait_of};

/// What a wrapper does: it knows the trait and nothing else.
fn both(limiter: &(impl Limiter + ?Sized), cost: u64) -> (Result<(), Denied>, Result<(), Denied>) {
    (limiter.try_acquire(), limiter.try_acquire_n(cost))
}

#[test]
fn every_way_to_hold_a_bucket_is_the_same_limiter() {
    let limit = Arc::new(bucket(quota(1, S, 20)));
    assert_eq!(both(&*limit, 2), (Ok(()), Ok(())));
    assert_eq!(both(&&*limit, 2), (Ok(()), Ok(())));
    #[cfg(feature = "std")]
    assert_eq!(both(&limit, 2), (Ok(()), Ok(())));
    let object: &dyn Limiter = &*limit;
    assert_eq!(both(object, 21), (Ok(()), Err(Denied::OverCapacity { cost: 21, capacity: 20 })));
    assert!(limit.peek().available() <= 13);
    limit.drain();
    assert_eq!(wait_of(both(object, 3).1.unwrap_err()), 3 * S);
    assert_eq!(both(object, 0).1, Err(Denied::ZeroCost));
}

/// The provided method asks for one token.
#[test]
fn one_token_is_a_cost_of_one() {
    struct OnlyTheCost;
    impl Limiter for OnlyTheCost {
        fn try_acquire_n(&self, cost: u64) -> Result<(), Denied> {
            if cost == 1 { Ok(()) } else { Err(Denied::ZeroCost) }
        }
    }
    assert_eq!(both(&OnlyTheCost, 2), (Ok(()), Err(Denied::ZeroCost)));
}
