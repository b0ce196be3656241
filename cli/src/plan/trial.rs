//! A limit tried on a load: the library's own bucket, in the trace's time.

use std::time::Duration;

use tollgate::{Bucket, Denied, Manual, Quota};

use super::load::{Load, Request};

/// What a limit decided over a whole load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) admitted: u64,
    pub(super) admitted_cost: u128,
    pub(super) refused: u64,
    /// The cost is above the capacity.
    pub(super) never: u64,
    /// The longest wait that a refusal told.
    pub(super) longest_wait: Duration,
}

/// All decisions on a load, each request being admitted at once or refused.
pub(super) fn outcome(load: &Load, quota: Quota) -> Outcome {
    outcome_within(load, quota, Duration::ZERO)
}

/// All decisions on a load if each request may book a place and wait for it up to `wait`.
pub(super) fn outcome_within(load: &Load, quota: Quota, wait: Duration) -> Outcome {
    let mut outcome = Outcome::default();
    for (request, decision) in decisions(load, quota, wait) {
        match decision {
            Ok(()) => {
                outcome.admitted += 1;
                outcome.admitted_cost += u128::from(request.cost);
            }
            Err(Denied::NotYet(refusal) | Denied::NoRoom(refusal)) => {
                outcome.refused += 1;
                outcome.longest_wait = outcome.longest_wait.max(refusal.wait());
            }
            Err(Denied::OverCapacity { .. } | Denied::ZeroCost) => outcome.never += 1,
        }
    }
    outcome
}

/// Whether at least `wanted` requests are admitted within `wait`; stops as soon as that is decided.
pub(super) fn admits(load: &Load, quota: Quota, wait: Duration, wanted: u64) -> bool {
    let mut spare = load.len().saturating_sub(wanted);
    decisions(load, quota, wait).all(|(_, decision)| {
        let fits = decision.is_ok() || spare > 0;
        spare -= u64::from(decision.is_err() && fits);
        fits
    })
}

/// Each request and what the bucket says to it.
pub(super) fn decisions(
    load: &Load,
    quota: Quota,
    wait: Duration,
) -> impl Iterator<Item = (&Request, Result<(), Denied>)> {
    let bucket = Bucket::with_clock(quota, Manual::new());
    load.requests.iter().map(move |request| {
        let decision = match wait {
            Duration::ZERO => bucket.try_acquire_n_at(request.cost, request.at),
            _ => bucket.book_at(request.cost, wait, request.at).map(drop),
        };
        (request, decision)
    })
}
