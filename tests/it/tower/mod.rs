//! Layers around services in this process; over sockets they are tested in `edges/`.

mod limit;
mod permits;
pub(crate) mod support;
#[cfg(feature = "tokio")]
mod wait;
