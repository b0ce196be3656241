//! C78 and C94 to C109 over real sockets; of C104 and C105 what is in use, which their gauge shows.

mod clients;
mod fields;
mod outcomes;
mod permits;
mod waiting;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use bytes::Bytes;
use http_body_util::channel::Channel;
use tokio::sync::Mutex;

/// A handler whose bodies are fed by the test.
struct Streams {
    senders: Mutex<Vec<http_body_util::channel::Sender<Bytes>>>,
}

impl Streams {
    fn new() -> Arc<Self> {
        Arc::new(Self { senders: Mutex::new(Vec::new()) })
    }

    fn router(self: &Arc<Self>) -> Router {
        let streams = Arc::clone(self);
        let handler = move || {
            let streams = Arc::clone(&streams);
            async move {
                let (sender, body) = Channel::new(4);
                streams.senders.lock().await.push(sender);
                Body::new(body)
            }
        };
        Router::new().route("/", get(handler))
    }
}
