//! A layer whose limit is on a server: what is awaited decides.

use std::sync::Arc;

use http::{Request, Response};
use tollgate::quota;
use tollgate::redis::Refused;
use tollgate::tower::WaitLayer;
use tower_layer::Layer;
use tower_service::Service;

use super::bucket;
use super::server::Server;
use crate::tower::support::{Asked, Frames, Serve, is_ready, refusal};

#[tokio::test]
async fn services_with_connections_of_their_own_share_one_limit() {
    let server = Server::start();
    let mut services = Vec::new();
    for _ in 0..2 {
        let bucket = Arc::new(bucket(&server, quota!("1/h burst 7")).await);
        let admit = move |request: &mut Asked| {
            let (bucket, cost) = (Arc::clone(&bucket), request.body().len() as u64);
            async move { bucket.try_acquire_n(cost).await }
        };
        let refuse = |_: &Asked, refused: Refused| {
            assert!(matches!(refused, Refused::Denied(_)), "{refused}");
            refusal()
        };
        let serve = Serve::new(|_| Ok(Response::new(Frames::of(&["a"]))));
        services.push(WaitLayer::new(admit, refuse).layer(serve));
    }
    let mut statuses = Vec::new();
    for (at, cost) in ["aa", "aaa", "aaa", "aa", "a"].into_iter().enumerate() {
        let service = &mut services[at % 2];
        assert!(is_ready(service));
        statuses.push(service.call(Request::new(cost.to_string())).await.unwrap().status().as_u16());
    }
    assert_eq!(statuses, [200, 200, 429, 200, 429]);
}
