//! Buckets as one writes them without this crate: an integer token bucket under a lock, and a bare compare-exchange loop.
//!
//! All of them read the bucket's own clock, so that what differs is how the state is guarded and nothing else; a second
//! flavour of the mutexes reads `std::time::Instant`, which is what most programs do.

mod arithmetic;
mod locks;
mod word;

pub use locks::{Instants, Lock, Locked, Parking, Rw, Spin, Std};
pub use word::Word;
