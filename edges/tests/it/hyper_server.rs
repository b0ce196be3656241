//! hyper alone, with tower's services in its own.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{Full, StreamBody};
use hyper::body::{Body, Frame, Incoming};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tollgate::http::{Fields, Refusal};
use tollgate::inflight::{InFlight, NoPermit};
use tollgate::tower::{End, LimitLayer, PermitLayer, on_end};
use tollgate::{Bucket, Denied, quota};
use tower::{Service, ServiceBuilder, service_fn};
use tower_layer::Layer;

use crate::support::{Server, eventually};

#[allow(dead_code, unreachable_pub, reason = "its `main` is not called, and it is a program of its own")]
#[path = "../../examples/hyper.rs"]
mod example;

fn refused(refusal: Refusal<'_>) -> Response<Full<Bytes>> {
    refusal.response::<String>(&Fields::new()).map(Full::from)
}

async fn hyper<S, B>(service: S) -> Server
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
    B: Body<Data = Bytes, Error = Infallible> + Send + 'static,
{
    let serve = async move |listener: TcpListener| loop {
        let (stream, _) = listener.accept().await.unwrap();
        let service = TowerToHyperService::new(service.clone());
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    };
    Server::new(serve).await
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
    let server = hyper(stack).await;
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

/// hyper does not ask a body for its end once all of `Content-Length` is sent.
#[tokio::test]
async fn a_body_of_a_length_that_was_told_is_complete() {
    for (method, told) in [(Method::GET, End::Complete), (Method::HEAD, End::Dropped)] {
        let (sender, end) = oneshot::channel();
        let sender = Mutex::new(Some(sender));
        let admit = move |_: &mut Request<Incoming>| {
            let sender = sender.lock().unwrap().take().unwrap();
            Ok::<_, ()>(on_end(sender, |sender: oneshot::Sender<_>, end| sender.send(end).unwrap()))
        };
        let refuse = |_: &Request<Incoming>, ()| unreachable!();
        let service = LimitLayer::new(admit, refuse).layer(service_fn(async |_: Request<Incoming>| {
            let chunks = ["ab", "cd"].map(|chunk| Ok(Frame::data(Bytes::from(chunk))));
            let body = StreamBody::new(tokio_stream::iter(chunks));
            Ok::<_, Infallible>(Response::builder().header("content-length", 4).body(body).unwrap())
        }));
        let server = hyper(service).await;
        let request = reqwest::Client::new().request(method, server.url("/"));
        let _text = request.send().await.unwrap().text().await.unwrap();
        assert_eq!(timeout(Duration::from_secs(20), end).await.unwrap().unwrap(), told);
    }
}

/// What is sent without its length costs what it may be.
#[tokio::test]
async fn the_example_charges_by_length() {
    let server = Server::new(async |listener| example::serve(listener).await.unwrap()).await;
    let client = reqwest::Client::new();
    let mut statuses = Vec::new();
    for body in ["", "short", &"x".repeat(1_000_000), &"x".repeat(2_000_000)] {
        let request = client.post(server.url("/")).body(body.to_string());
        statuses.push(request.send().await.unwrap().status().as_u16());
    }
    assert_eq!(statuses, [200, 200, 200, 413]);
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n").await.unwrap();
    let mut head = [0; 12];
    timeout(Duration::from_secs(20), stream.read_exact(&mut head)).await.unwrap().unwrap();
    assert_eq!(&head, b"HTTP/1.1 413");
}
