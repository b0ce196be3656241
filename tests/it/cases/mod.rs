//! Faults that other limiters had in the field, each as a test with the reported numbers: `c07_...` is case C07.
//!
//! Beside the reported numbers every test walks through more values of the same kind, for a fault is a kind and not a
//! number. `Pair` checks each call against the rational model, so those walks need no expectations of their own.

#[cfg(feature = "adjust")]
mod adjust;
#[cfg(all(feature = "adjust", feature = "keyed"))]
mod adjust_keyed;
#[cfg(feature = "budget")]
mod budget;
mod burst;
mod clock;
mod concurrency;
mod cost;
#[cfg(feature = "budget")]
mod costs;
mod extremes;
#[cfg(feature = "http")]
mod http;
#[cfg(feature = "inflight")]
mod inflight;
#[cfg(feature = "keyed")]
mod keyed;
#[cfg(all(feature = "inflight", feature = "keyed", feature = "metrics"))]
mod metrics;
#[cfg(feature = "wait")]
mod queue;
mod refund;
mod rounding;
#[cfg(feature = "tower")]
mod tower;
#[cfg(feature = "upstream")]
mod upstream;
#[cfg(feature = "wait")]
mod wait;
#[cfg(feature = "window")]
mod window;
