//! What the models of `tests/` share: the checkers, the buckets, and two judges that know nothing of the limiter.
//!
//! * `tests/models` runs under loom, which tries every interleaving up to a number of preemptions and every value that
//!   a load may return: `RUSTFLAGS="--cfg loom" cargo test --release -p tollgate-loom-tests`.
//! * `tests/schedules` runs under shuttle, which tries random interleavings of more threads and operations:
//!   `RUSTFLAGS="--cfg shuttle" cargo test --release -p tollgate-loom-tests`.
//! * `twins` holds known-bad changes of the library, each with the test that must notice it.
//!
//! Without the cfg the test binaries are empty and say so.

#[cfg(loom)]
mod explore;
mod fixture;
mod law;
mod order;
#[cfg(loom)]
mod race;
#[cfg(shuttle)]
mod sample;

#[cfg(loom)]
pub use crate::explore::{Count, explore};
pub use crate::fixture::{Bucket, Itself, at, bucket, bucket_filled, bucket_of, leak, missing, wait};
pub use crate::law::{Admission, within};
pub use crate::order::{Call, Op, Tub, is_some_order};
#[cfg(loom)]
pub use crate::race::{race2, race3};
#[cfg(shuttle)]
pub use crate::sample::{any_below, each, sample};

#[cfg(loom)]
pub use loom::sync::atomic;
#[cfg(shuttle)]
pub use shuttle::sync::atomic;
