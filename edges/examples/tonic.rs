//! tonic: its health service, limited. Clients get `RESOURCE_EXHAUSTED` with the wait in `RetryInfo`, and a
//! pushback that gRPC's own retries obey.
//!
//! `cargo run -p tollgate-edges --example tonic` makes some calls to itself and prints what comes back.

use std::error::Error;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tollgate::http::Refusal;
use tollgate::inflight::{InFlight, NoPermit};
use tollgate::tower::{LimitLayer, PermitLayer};
use tollgate::{Bucket, Denied, quota};
use tonic::body::Body;
use tonic::transport::{Channel, Server};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tonic_types::StatusExt;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    tokio::spawn(serve(listener));

    let mut client = HealthClient::new(Channel::from_shared(url)?.connect().await?);
    for call in 1..=4 {
        match client.check(HealthCheckRequest::default()).await {
            Ok(answer) => println!("{call}: {:?}", answer.into_inner().status()),
            Err(status) => {
                let details = status.get_error_details();
                let wait = details.retry_info().and_then(|info| info.retry_delay).unwrap_or_default();
                println!("{call}: {:?}: {} (exactly {wait:?})", status.code(), status.message());
                tokio::time::sleep(wait).await;
            }
        }
    }
    Ok(())
}

async fn serve(listener: TcpListener) -> Result<(), Box<dyn Error + Send + Sync>> {
    let (running, tokens) = (Arc::new(InFlight::new(100)?), Bucket::new(quota!("4/s burst 2")));
    let busy = |_: &http::Request<Body>, no: NoPermit| {
        Refusal::from(no).as_overload().grpc().response::<Body>().map(Into::into)
    };
    let refuse = |_: &http::Request<Body>, denied: Denied| {
        Refusal::from(denied).named("checks").grpc().response::<Body>()
    };
    let (_, health) = tonic_health::server::health_reporter();
    Server::builder()
        .layer(PermitLayer::shedding(running, busy))
        .layer(LimitLayer::by(tokens, refuse))
        .add_service(health)
        .serve_with_incoming(TcpListenerStream::new(listener))
        .await?;
    Ok(())
}
