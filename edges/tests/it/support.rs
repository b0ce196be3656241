//! Servers that end with the test, and clients.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::response::Response;
use http::HeaderMap;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tollgate::http::{ClientKey, ClientKeys, Fields, Refusal};

/// A server on a port of its own. It ends when this is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    task: JoinHandle<()>,
}

impl Server {
    pub(crate) async fn new<F>(serve: impl FnOnce(TcpListener) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        Self { address, task: tokio::spawn(serve(listener)) }
    }

    pub(crate) async fn axum(router: Router) -> Self {
        let service = router.into_make_service_with_connect_info::<SocketAddr>();
        Self::new(|listener| async { axum::serve(listener, service).await.unwrap() }).await
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// One request on a connection of its own.
    pub(crate) async fn get(&self, headers: &[(&'static str, &str)]) -> reqwest::Response {
        let client = reqwest::Client::builder().pool_max_idle_per_host(0).build().unwrap();
        let request = client.get(self.url("/"));
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        request.send().await.unwrap()
    }

    pub(crate) async fn status(&self, headers: &[(&'static str, &str)]) -> u16 {
        self.get(headers).await.status().as_u16()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Who is refused, as the feature `http` says it.
pub(crate) fn refused<'p>(refusal: impl Into<Refusal<'p>>) -> Response {
    refusal.into().response(&Fields::new().with_x_ratelimit())
}

pub(crate) fn client_key(keys: &ClientKeys, request: &Request<Body>) -> ClientKey {
    let ConnectInfo(peer) = request.extensions().get::<ConnectInfo<SocketAddr>>().unwrap();
    keys.key(peer.ip(), request.headers())
}

pub(crate) fn number(headers: &HeaderMap, name: &str) -> u64 {
    headers[name].to_str().unwrap().parse().unwrap()
}

/// Waits until it is so, for what comes of another task.
pub(crate) async fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(20), "never: {what}");
        sleep(Duration::from_millis(2)).await;
    }
}
