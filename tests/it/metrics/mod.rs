//! `metrics`: what limits do, as a recorder of Prometheus shows it.

mod counted;
#[cfg(all(feature = "inflight", feature = "wait"))]
mod list;
mod looked;
pub(crate) mod support;
mod timed;
