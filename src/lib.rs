//! [choosing]: crate::docs::choosing
//! [estimates]: crate::docs::estimates
//! [limits]: crate::docs::limits
//! [migration]: crate::docs::migration
//! [performance]: crate::docs::performance
//! [theory]: crate::docs::theory
//! [internals]: crate::docs::internals
//! [metrics]: crate::docs::metrics
//!
#![cfg_attr(feature = "std", doc = include_str!("../README.md"))]
#![cfg_attr(not(feature = "std"), doc = "A strict token bucket in one atomic word.")]
#![cfg_attr(not(feature = "std"), no_std)]
#![deny(unsafe_code)]
#![cfg_attr(not(feature = "shared-memory"), forbid(unsafe_code))]
#![deny(missing_docs)]

// Floor 0: ground.
mod axis;
mod nanos;
mod sync;

// Floor 1: values.
mod clock;
mod decision;
mod quota;

// Floor 2: rules.
mod gcra;
mod limiter;

// Floor 3: the word, and what can be seen of it.
mod level;
mod snapshot;
mod word;

// Floor 4: the face.
mod bucket;

// Floor 5: what leaves share.
#[cfg(feature = "adjust")]
mod held;
#[cfg(any(feature = "inflight", feature = "wait"))]
mod line;
#[cfg(any(feature = "http", feature = "upstream", all(feature = "metrics", feature = "tower")))]
mod rpc;
#[cfg(any(feature = "metrics", feature = "sharded"))]
mod slot;

// Floor 6: leaves, one feature each.
#[cfg(feature = "adjust")]
pub mod adjust;
#[cfg(feature = "inflight")]
pub mod inflight;
#[cfg(feature = "keyed")]
pub mod keyed;
#[cfg(feature = "sharded")]
pub mod sharded;
#[cfg(feature = "wait")]
pub mod wait;
#[cfg(feature = "window")]
pub mod window;

// Floor 7: compositions.
#[cfg(all(feature = "adjust", feature = "sharded"))]
mod adjustable_shards;
#[cfg(feature = "budget")]
pub mod budget;
#[cfg(feature = "upstream")]
pub mod upstream;

// Floor 8: edges.
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "metrics")]
pub mod metrics;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(all(feature = "shared-memory", target_os = "linux", not(any(loom, shuttle))))]
pub mod shared_memory;
#[cfg(feature = "tower")]
pub mod tower;
#[cfg(feature = "tracing")]
pub mod tracing;

// Floor 9: where edges meet.
#[cfg(all(feature = "metrics", feature = "tower"))]
mod measured_requests;

/// Longer texts: what to take, what not to expect, why the promises hold, and how the source is laid out.
#[cfg(doc)]
pub mod docs {
    /// [limits]: crate::docs::limits
    /// [performance]: crate::docs::performance
    ///
    #[doc = include_str!("../docs/choosing.md")]
    pub mod choosing {}

    /// [estimates]: crate::docs::estimates
    ///
    #[doc = include_str!("../docs/limits.md")]
    pub mod limits {}

    /// [performance]: crate::docs::performance
    ///
    #[cfg_attr(
        all(feature = "adjust", feature = "keyed", feature = "tokio", feature = "tower"),
        doc = include_str!("../docs/migration.md")
    )]
    pub mod migration {}

    #[doc = include_str!("../docs/performance.md")]
    pub mod performance {}

    #[doc = include_str!("../docs/theory.md")]
    pub mod theory {}

    #[doc = include_str!("../docs/estimates.md")]
    pub mod estimates {}

    #[doc = include_str!("../docs/upstream.md")]
    pub mod upstream {}

    #[doc = include_str!("../docs/metrics.md")]
    pub mod metrics {}

    #[doc = include_str!("../docs/internals.md")]
    pub mod internals {}
}

pub use crate::bucket::{Bucket, Charge};
pub use crate::clock::{Clock, Manual, Monotonic, NonDecreasing};
#[cfg(feature = "std")]
pub use crate::clock::{Coarse, Glancing, Source};
pub use crate::decision::{Denied, NotYet};
pub use crate::level::Level;
pub use crate::limiter::Limiter;
pub use crate::nanos::Nanos;
pub use crate::quota::{Fill, Quota, QuotaError};
pub use crate::snapshot::{RestoreError, Snapshot};
