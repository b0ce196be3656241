//! The integration tests, one binary. They use what a user can use and nothing else.
//!
//! `oracle` is the rational model, written without the core; `support` ties a bucket to it and checks every answer;
//! `quotas` makes quotas and schedules. The rest are tests: one module for each public module of the crate, and one for
//! each kind of proof.

mod oracle;
mod quotas;
mod support;

#[cfg(feature = "adjust")]
mod adjust;
#[cfg(all(feature = "adjust", feature = "sharded"))]
mod adjustable_shards;
mod bucket;
#[cfg(feature = "budget")]
mod budget;
mod clock;
mod decision;
mod glance;
#[cfg(feature = "http")]
mod http;
#[cfg(feature = "inflight")]
mod inflight;
#[cfg(feature = "keyed")]
mod keyed;
mod limiter;
#[cfg(feature = "metrics")]
mod metrics;
mod nanos;
mod quota;
#[cfg(feature = "redis")]
mod redis;
#[cfg(feature = "sharded")]
mod sharded;
#[cfg(all(feature = "shared-memory", target_os = "linux"))]
mod shared_memory;
mod snapshot;
#[cfg(feature = "tower")]
mod tower;
#[cfg(feature = "tracing")]
mod tracing;
#[cfg(feature = "upstream")]
mod upstream;
#[cfg(feature = "wait")]
mod wait;
#[cfg(feature = "window")]
mod window;

mod cases;
mod floors;
mod ordered;
mod properties;
#[cfg(feature = "std")]
mod stress;
mod undo;
mod vectors;
mod worked;
