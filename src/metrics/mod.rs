//! What limits do, in figures: counters, levels and times through the facade
//! [`metrics`](https://docs.rs/metrics).
//!
//! | | |
//! |---|---|
//! | [`Measured`] | a limiter whose admissions and refusals are counted |
//! | [`Shadow`] | a limiter that refuses nothing, and counts what it would have refused |
//! | [`Meter`] | the same counters for what is no [`Limiter`](crate::Limiter): a limit by key, permits, a queue |
//! | [`Calls`] | latency and outcome of work, from its permit to its end |
//! | [`Waits`] | how long callers waited, and for what answer |
//!
//! All of them come from one [`Meters`], which also looks at the levels of buckets, permits, queues and
//! leases.
//!
//! # Labels
//!
//! The labels are `limit`, `reason` and `outcome`. A `limit` is a `&'static str`, a name out of the program;
//! the others are out of [`Reason::ALL`], [`Outcome::ALL`] and [`Waited::ALL`]. There is no way to give a key
//! as a label, so the number of series is known when the program has started, and no caller can make it grow.
//! [`METRICS`] lists all.
//!
//! # When figures are told
//!
//! Nothing is counted in the recorder on the way of a call. Each thread counts in a place of its own, and
//! [`Meters::publish`] adds up, looks at the levels, and tells the recorder. Call it when the figures are
//! read, or at an interval; nothing here starts a thread. Times alone go to the recorder at once, when
//! something ends that took time.
//!
//! Install the recorder first: what a [`Meters`] gives out tells the recorder that was there when it was
//! made.

mod calls;
mod levels;
mod meter;
mod meters;
mod names;
mod reason;
mod stripes;
mod timing;
mod waits;

pub use self::calls::{Call, Calls, Outcome};
pub use self::levels::{Flights, Lease, Places};
pub use self::meter::{Measured, Meter, Shadow, ShadowMeter};
pub use self::meters::Meters;
pub use self::names::{Kind, METRICS, Metric, SECONDS};
pub use self::reason::{HasReason, Reason};
pub use self::waits::{Waited, Waits};
