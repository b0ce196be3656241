//! C37 and C81 as far as they are about estimates: what is reserved where nobody said how much, and what is charged where
//! nobody said how much it was.

use tollgate::Denied;
use tollgate::budget::{BytesPerToken, Estimate, History, OutputEstimator, TokenClass, Usage, Weights};

use crate::support::{MINUTE, at, bucket, quota};

#[test]
fn c37_a_default_above_the_capacity_does_not_refuse_for_ever() {
    let limit = bucket(quota(100, MINUTE, 100));
    let estimated = OutputEstimator::hybrid(1_024).estimate(&History::default(), &[None]);
    assert_eq!(estimated, Estimate::Defaulted(1_024));
    let stated = OutputEstimator::pessimistic(1_024).estimate(&History::default(), &[Some(1_024)]);
    let never = Err(Denied::OverCapacity { cost: 1_024, capacity: 100 });
    assert_eq!(limit.try_acquire_n_at(stated.cost(100), at(0)), never);

    assert_eq!(limit.try_acquire_n_at(estimated.cost(100), at(0)), Ok(()));
    let used = Weights::OUTPUT.cost(&Usage::default().with(TokenClass::Output, 30)).unwrap();
    limit.refund_at(estimated.cost(100) - used, at(0));
    assert_eq!(limit.peek_at(at(0)).available(), 70);
    for capacity in [1, 2, 99, 100, 1_023, 1_024, 1_025, 1 << 30] {
        let limit = bucket(quota(capacity, MINUTE, capacity));
        assert_eq!(limit.try_acquire_n_at(estimated.cost(capacity), at(0)), Ok(()), "{capacity}");
    }
}

#[test]
fn c81_a_stream_without_its_usage_frame_is_charged_by_its_length() {
    let limit = bucket(quota(10_000, MINUTE, 10_000));
    let reserved = 1_000;
    assert_eq!(limit.try_acquire_n_at(reserved, at(0)), Ok(()));
    // No frame with usage: absent, which no weights make a charge of.
    let told = Usage::default();
    assert!(Weights::OUTPUT.cost(&told).is_err());
    let streamed = Usage::default().with(TokenClass::Output, BytesPerToken::default().tokens(2_000));
    let charge = Weights::OUTPUT.cost(&told.or(&streamed)).unwrap().min(reserved);
    assert_eq!(charge, 500);
    limit.refund_at(reserved - charge, at(0));
    assert_eq!(limit.peek_at(at(0)).available(), 9_500);
}
