//! tonic: refusals that its clients understand, and grants that are told the status in the trailers.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use tokio_stream::wrappers::TcpListenerStream;
use tollgate::http::Refusal;
use tollgate::inflight::{InFlight, NoPermit};
use tollgate::tower::{End, Grant, LimitLayer, PermitLayer};
use tollgate::{Bucket, Denied, Manual, quota};
use tonic::body::Body;
use tonic::service::Routes;
use tonic::transport::{Channel, Server as Tonic};
use tonic::{Code, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tonic_types::StatusExt;
use tower_layer::Layer;
use tower_service::Service;

use crate::support::{Server, eventually};

type Asked = Request<Body>;

/// The health service of tonic in this layer, and a client.
async fn health<L, B>(layer: L) -> (Server, HealthClient<Channel>)
where
    L: Layer<Routes> + Clone + Send + 'static,
    L::Service: Service<Asked, Response = Response<B>, Error = Infallible> + Clone + Send + 'static,
    <L::Service as Service<Asked>>::Future: Send,
    B: http_body::Body<Data = Bytes, Error = Status> + Send + 'static,
{
    let server = Server::new(|listener| async move {
        let (_, health) = tonic_health::server::health_reporter();
        let stream = TcpListenerStream::new(listener);
        Tonic::builder().layer(layer).add_service(health).serve_with_incoming(stream).await.unwrap();
    })
    .await;
    let channel = Channel::from_shared(server.url("")).unwrap().connect().await.unwrap();
    (server, HealthClient::new(channel))
}

fn check(service: &str) -> HealthCheckRequest {
    HealthCheckRequest { service: service.to_string() }
}

#[tokio::test]
async fn a_refusal_is_resource_exhausted_with_its_wait() {
    let bucket = Arc::new(Bucket::with_clock(quota!("2/3s"), Manual::new()));
    let layer = LimitLayer::by(Arc::clone(&bucket), |_: &Asked, denied: Denied| {
        Refusal::from(denied).named("checks").grpc().response::<Body>()
    });
    let (_server, mut client) = health(layer).await;
    for _ in 0..2 {
        client.check(check("")).await.unwrap();
    }
    let status = client.check(check("")).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert_eq!(status.message(), "The limit `checks` is used up: try again in 2 seconds.");
    let details = status.get_error_details();
    assert_eq!(details.retry_info().unwrap().retry_delay, Some(Duration::from_millis(1500)));
    let violation = &details.quota_failure().unwrap().violations[0];
    assert_eq!((violation.subject.as_str(), violation.description.as_str()), ("checks", status.message()));
    assert_eq!(status.metadata().get("grpc-retry-pushback-ms").unwrap(), "1500");

    bucket.clock().advance(details.retry_info().unwrap().retry_delay.unwrap());
    assert!(client.check(check("")).await.is_ok(), "who waits as told is admitted");
}

/// The status of gRPC, and the end.
type Told = (Option<String>, End);

/// Gives tokens back by the status of gRPC, which is in the trailers, or in the headers if there is no body.
struct FoundOnly {
    bucket: Arc<Bucket<Manual>>,
    status: Option<String>,
    ends: Arc<Mutex<Vec<Told>>>,
}

impl FoundOnly {
    fn read(&mut self, headers: &HeaderMap) {
        let status = headers.get("grpc-status").map(|status| status.to_str().unwrap().to_string());
        self.status = status.or(self.status.take());
    }
}

impl Grant for FoundOnly {
    fn answered(&mut self, _: http::StatusCode, headers: &HeaderMap) {
        self.read(headers);
    }

    fn trailers(&mut self, trailers: &HeaderMap) {
        self.read(trailers);
    }

    fn ended(self, end: End) {
        if self.status.as_deref() != Some("0") {
            self.bucket.refund(1);
        }
        self.ends.lock().unwrap().push((self.status, end));
    }
}

#[tokio::test]
async fn a_grant_is_told_the_status_of_grpc() {
    let (bucket, ends) =
        (Arc::new(Bucket::with_clock(quota!("9/h"), Manual::new())), Arc::<Mutex<Vec<Told>>>::default());
    let admit = {
        let (bucket, ends) = (Arc::clone(&bucket), Arc::clone(&ends));
        move |_: &mut Asked| {
            bucket.try_acquire()?;
            Ok::<_, Denied>(FoundOnly { bucket: Arc::clone(&bucket), status: None, ends: Arc::clone(&ends) })
        }
    };
    let layer =
        LimitLayer::new(admit, |_: &Asked, denied: Denied| Refusal::from(denied).grpc().response::<Body>());
    let (_server, mut client) = health(layer).await;
    client.check(check("")).await.unwrap();
    assert_eq!(client.check(check("nowhere")).await.unwrap_err().code(), Code::NotFound);
    eventually("both have ended", || ends.lock().unwrap().len() == 2).await;
    let told = ends.lock().unwrap().clone();
    assert_eq!(told, [(Some("0".to_string()), End::Complete), (Some("5".to_string()), End::Complete)]);
    assert_eq!(bucket.peek().available(), 8, "what was not found is free");
}

/// A stream that stays open holds its permit; when the client drops it, the permit is back.
#[tokio::test]
async fn a_stream_holds_its_permit() {
    let running = Arc::new(InFlight::new(1).unwrap());
    let layer = PermitLayer::shedding(Arc::clone(&running), |_: &Asked, no: NoPermit| {
        Refusal::from(no).as_overload().grpc().response::<Body>()
    });
    let (_server, mut client) = health(layer).await;
    let mut watch = client.watch(check("")).await.unwrap().into_inner();
    assert!(watch.message().await.unwrap().is_some());
    assert_eq!(client.check(check("")).await.unwrap_err().code(), Code::Unavailable);
    assert_eq!(running.in_use(), 1);
    drop(watch);
    eventually("the permit is back", || running.in_use() == 0).await;
    client.check(check("")).await.unwrap();
}
