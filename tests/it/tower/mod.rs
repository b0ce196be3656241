//! Layers around services in this process; over sockets they are tested in `edges/`.

mod limit;
#[cfg(feature = "metrics")]
mod measured;
mod permits;
pub(crate) mod support;
#[cfg(feature = "tokio")]
mod wait;
