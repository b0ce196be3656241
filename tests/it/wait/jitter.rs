//! `Jitter`: upward only, at most a fifth, at most 30 s.

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;
use tollgate::wait::Jitter;

use crate::support::{MS, S, nanos};

#[test]
fn both_ends_are_reached_and_not_passed() {
    let hints = [(0, 0), (4, 0), (5, 1), (S, 200 * MS), (150 * S, 30 * S), (600 * S, 30 * S)];
    for (hint, most) in hints {
        assert_eq!(Jitter::spread_by(nanos(hint), 0), nanos(hint));
        assert_eq!(Jitter::spread_by(nanos(hint), u64::MAX), nanos(hint + most));
    }
    assert_eq!(Jitter::spread_by(Duration::MAX, u64::MAX), Duration::MAX);
}

#[test]
fn seeds_differ_and_a_seed_repeats() {
    let first = |jitter: Jitter| jitter.spread(nanos(600 * S));
    assert_eq!(first(Jitter::with_seed(7)), first(Jitter::with_seed(7)));
    assert_ne!(first(Jitter::with_seed(7)), first(Jitter::with_seed(8)));
    let fresh: BTreeSet<_> = (0..20).map(|_| first(Jitter::new())).collect();
    assert!(fresh.len() > 10, "{fresh:?}");
}

/// Evenly: each tenth of the range gets its tenth.
#[test]
fn it_is_even() {
    let (jitter, mut tenths) = (Jitter::with_seed(1), [0; 10]);
    for _ in 0..10_000 {
        let more = jitter.spread(nanos(600 * S)) - nanos(600 * S);
        tenths[usize::try_from(more.as_nanos() * 10 / nanos(30 * S + 1).as_nanos()).unwrap()] += 1;
    }
    assert!(tenths.iter().all(|count| (850..1150).contains(count)), "{tenths:?}");
}

/// A span of one's own: from none to all of it, evenly, and both ends are reached.
#[test]
fn up_to_a_span_it_is_even() {
    let (jitter, mut tenths) = (Jitter::with_seed(2), [0; 10]);
    for _ in 0..10_000 {
        let span = jitter.up_to(nanos(S));
        tenths[usize::try_from(span.as_nanos() * 10 / u128::from(S + 1)).unwrap()] += 1;
    }
    assert!(tenths.iter().all(|count| (850..1150).contains(count)), "{tenths:?}");
    let ends: BTreeSet<_> = (0..100).map(|_| jitter.up_to(nanos(2))).collect();
    assert_eq!(ends, [0, 1, 2].map(nanos).into());
    assert_eq!(jitter.up_to(Duration::ZERO), Duration::ZERO);
}

proptest! {
    #[test]
    fn it_only_adds(hint in any::<u64>(), random in any::<u64>()) {
        let spread = Jitter::spread_by(nanos(hint), random);
        prop_assert!(spread >= nanos(hint));
        prop_assert!(spread - nanos(hint) <= nanos(hint / 5).min(nanos(30 * S)));
    }
}
