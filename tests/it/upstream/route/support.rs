//! Routers on a clock that is moved by hand, and responses.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use tollgate::upstream::{Cost, Dimension, Heard, Hop, Mirror, Reader, Router, RouterBuilder};
use tollgate::{Clock, Manual, Quota};

pub(super) type OnManual = Router<Arc<Manual>>;

pub(super) const ONE: Cost = Cost::requests(1);
pub(super) const SECOND: Duration = Duration::from_secs(1);
pub(super) const MS: Duration = Duration::from_millis(1);

/// A clock, and a router on it of so many upstreams with the same limit of requests.
pub(super) fn routers(limits: &[Quota]) -> (Arc<Manual>, RouterBuilder<Arc<Manual>>) {
    let clock = Arc::new(Manual::new());
    let mut builder = Router::builder();
    for limit in limits {
        builder = builder.upstream(mirror(&clock, &[(Dimension::Requests, *limit)]));
    }
    (clock, builder)
}

pub(super) fn mirror(clock: &Arc<Manual>, limits: &[(Dimension, Quota)]) -> Mirror<Arc<Manual>> {
    let builder = Mirror::builder().clock(Arc::clone(clock));
    limits
        .iter()
        .fold(builder, |builder, (dimension, quota)| builder.limit(*dimension, *quota))
        .build()
        .unwrap()
}

pub(super) fn fields(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let pair = |(name, value): &(&'static str, &str)| {
        (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
    };
    pairs.iter().map(pair).collect()
}

pub(super) fn answer<C: Clock>(hop: Hop<C>, status: u16, pairs: &[(&'static str, &str)]) -> Heard {
    let (status, headers) = (StatusCode::from_u16(status).unwrap(), fields(pairs));
    hop.answered(&Reader::new().read(status, &headers, SystemTime::UNIX_EPOCH))
}

/// Requests that are there, besides what is in flight.
pub(super) fn left(router: &OnManual, upstream: usize) -> u64 {
    router.mirror(upstream).unwrap().level(Dimension::Requests).unwrap().available()
}

/// Where a call goes, which is then on its way for ever.
pub(super) fn goes_to(router: &OnManual, cost: &Cost) -> Option<usize> {
    router.try_send(cost).ok().map(|hop| hop.upstream())
}

/// Closes an upstream by failures that cost nothing.
pub(super) fn fail(router: &OnManual, upstream: usize, times: u32) {
    for _ in 0..times {
        let hop = router.try_send(&ONE).unwrap();
        assert_eq!(hop.upstream(), upstream);
        hop.unreachable();
    }
}
