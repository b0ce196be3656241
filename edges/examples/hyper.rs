//! hyper alone, with a stack of tower's. Requests cost a token for each kilobyte that they say they send, and
//! wait up to two seconds for them.
//!
//! `cargo run -p tollgate-edges --example hyper`, then `curl -i localhost:8081 -d @Cargo.lock`.

use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tollgate::http::{Fields, Refusal};
use tollgate::tower::WaitLayer;
use tollgate::wait::TokioTimer;
use tollgate::{Bucket, Denied, quota};
use tower::{ServiceBuilder, service_fn};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).unwrap_or("127.0.0.1:8081".to_string());
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    serve(listener).await?;
    Ok(())
}

/// Until the listener fails.
pub async fn serve(listener: TcpListener) -> Result<(), std::io::Error> {
    let bucket = Arc::new(Bucket::new(quota!("100/s burst 1000")));
    let layer = WaitLayer::by(bucket, TokioTimer, Duration::from_secs(2), kilobytes, refuse);
    let stack = ServiceBuilder::new().layer(layer).service(service_fn(async |_| {
        Ok::<_, Infallible>(Response::new(Full::<Bytes>::from("thank you\n")))
    }));
    loop {
        let (stream, _) = listener.accept().await?;
        let service = TowerToHyperService::new(stack.clone());
        tokio::spawn(async move {
            if let Err(error) = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await {
                eprintln!("{error}");
            }
        });
    }
}

/// At least one. A body whose length is not told, one in chunks, may be of any: it costs more than there ever
/// is.
fn kilobytes(request: &Request<Incoming>) -> u64 {
    let bytes = request.body().size_hint().exact();
    bytes.map_or(u64::MAX, |bytes| bytes.div_ceil(1024)).max(1)
}

fn refuse(_: &Request<Incoming>, denied: Denied) -> Response<Full<Bytes>> {
    Refusal::from(denied).named("kilobytes").response::<String>(&Fields::new()).map(Full::from)
}
