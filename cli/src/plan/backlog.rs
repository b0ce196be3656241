//! The token buckets that a trace fits, in one pass over it and in exact integers.
//!
//! Serve the trace at the rate `r` and call `x_k` the cost that is there right after request `k` came, its own included
//! ([`Leak`]). As long as nothing was refused a bucket of capacity `B` lacks exactly `x_k` of its tokens after it has
//! admitted request `k`, so it admits all of the trace exactly when `x_k <= B` for every `k`: the least capacity for all is
//! the largest `x_k`. That is the burstiness `sigma(rho)` of Cruz, "A calculus for network delay, part I" (IEEE Trans.
//! Information Theory 37(1), 1991), taken from a trace as in Tang and Tai, "Network traffic characterization using token
//! bucket model" (INFOCOM 1999).
//!
//! Where requests may book a place and wait up to `D` for it, the bucket may lack `r*D` more, and only a cost above the
//! capacity is no use to book: the least capacity for all is the largest of `x_k - r*D` and of the costs `c_k` (the second
//! case of Tang and Tai, with a queue).
//!
//! For a part of the requests: a bucket that has refused some lacks at most `x_k` less the cost of request `k` before it.
//! So it admits each request with `x_k <= B`, and a capacity that so many `x_k` do not pass admits at least so many
//! requests, as does each larger one; and likewise with waiting. A smaller one may do as well, for what is refused leaves
//! room to others.

use std::time::Duration;

use tollgate::{Nanos, Quota};

use super::load::Load;
use crate::leak::Leak;

/// A capacity that admits at least `wanted` requests at the rate of `quota` if each may wait up to `wait`: the
/// `wanted`-th least of what each needs. For all requests it is the least capacity.
pub(super) fn enough(load: &Load, quota: &Quota, wait: Duration, wanted: u64) -> u64 {
    let (mut leak, wait) = (Leak::new(quota), Nanos::from_duration(wait));
    let levels = load.requests.iter().map(|request| {
        leak.add(request.at, request.cost);
        u64::try_from(leak.after(wait).ceil()).unwrap_or(u64::MAX).max(request.cost)
    });
    if wanted >= load.len() {
        return levels.max().unwrap_or(1);
    }
    let mut levels: Vec<u64> = levels.collect();
    let rank = usize::try_from(wanted).unwrap_or(usize::MAX).clamp(1, levels.len());
    *levels.select_nth_unstable(rank - 1).1
}
