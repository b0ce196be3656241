//! `Nanos`: readings and spans.

use std::time::Duration;

use proptest::prelude::*;
use tollgate::Nanos;

const HALF_A_SECOND: Nanos = Nanos::from_duration(Duration::from_millis(500));
const SAME: Nanos = Nanos::new(HALF_A_SECOND.as_u64());

#[test]
fn it_is_made_and_read_in_constants() {
    const AS_DURATION: Duration = SAME.as_duration();
    assert_eq!((SAME, AS_DURATION), (HALF_A_SECOND, Duration::from_millis(500)));
    assert_eq!(SAME.saturating_add(SAME), Nanos::new(1_000_000_000));
}

#[test]
fn what_does_not_fit_is_the_end() {
    assert_eq!(Nanos::from_duration(Duration::MAX), Nanos::MAX);
    assert_eq!(Nanos::from(Duration::from_secs(u64::MAX / 1_000_000_000 + 1)), Nanos::MAX);
    assert_eq!(Nanos::MAX.saturating_add(Nanos::new(1)), Nanos::MAX);
    assert_eq!(Nanos::ZERO.saturating_sub(Nanos::new(1)), Nanos::ZERO);
    assert!(Nanos::ZERO < SAME && SAME < Nanos::MAX && Nanos::default() == Nanos::ZERO);
}

proptest! {
    #[test]
    fn every_u64_survives_the_way_through_a_duration(nanos in any::<u64>()) {
        prop_assert_eq!(Nanos::from(Nanos::new(nanos).as_duration()).as_u64(), nanos);
        prop_assert_eq!(Duration::from(Nanos::new(nanos)).as_nanos(), u128::from(nanos));
    }

    #[test]
    fn any_duration_is_rounded_to_the_nearest_end(secs in any::<u64>(), nanos in 0..1_000_000_000_u32) {
        let duration = Duration::new(secs, nanos);
        prop_assert_eq!(u128::from(Nanos::from(duration).as_u64()), duration.as_nanos().min(u64::MAX.into()));
    }
}
