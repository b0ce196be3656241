//! hyper alone, with tower's services in its own.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tollgate::http::{Fields, Refusal};
use tollgate::inflight::{InFlight, NoPermit};
use tollgate::tower::{LimitLayer, PermitLayer};
use tollgate::{Bucket, Denied, quota};
use tower::{ServiceBuilder, service_fn};

use crate::support::{Server, eventually};

fn refused(refusal: Refusal<'_>) -> Response<Full<Bytes>> {
    refusal.response::<String>(&Fields::new()).map(Full::from)
}

#[tokio::test]
async fn permits_and_tokens_in_a_stack() {
    let (bucket, running) = (Bucket::new(quota!("1/h burst 3")), Arc::new(InFlight::new(2).unwrap()));
    let stack = ServiceBuilder::new()
        .layer(PermitLayer::new(Arc::clone(&running), |_: &Request<Incoming>, no: NoPermit| {
            refused(no.into()).map(Into::into)
        }))
        .layer(LimitLayer::by(bucket, |_: &Request<Incoming>, denied: Denied| refused(denied.into())))
        .service(service_fn(async |_: Request<Incoming>| {
            Ok::<_, Infallible>(Response::new(Full::from("hello")))
        }));
    let server = Server::new(|listener| async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let service = TowerToHyperService::new(stack.clone());
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    })
    .await;
    let mut statuses = Vec::new();
    for _ in 0..5 {
        let response = server.get(&[]).await;
        statuses.push(response.status().as_u16());
        let text = response.text().await.unwrap();
        assert_eq!(text.starts_with("hello"), statuses.last() == Some(&200), "{text}");
    }
    assert_eq!(statuses, [200, 200, 200, 429, 429]);
    eventually("all permits are back", || running.in_use() == 0).await;
}
