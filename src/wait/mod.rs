//! Waiting for tokens, briefly and boundedly, instead of being refused.
//!
//! | | |
//! |---|---|
//! | [`Bucket::book`](crate::Bucket::book) | takes a place now and tells when it is due: a [`Booking`] |
//! | [`Bucket::acquire_n`](crate::Bucket::acquire_n) | waits on tokio's timer: an [`Acquire`]; on another [`Timer`], [`Acquire::new`] |
//! | [`Bucket::acquire_blocking_n`](crate::Bucket::acquire_blocking_n) | waits on the thread |
//! | [`Queue::acquire`] | waits in a bounded queue with classes and deadlines |
//! | [`Pace`] | spaces starts evenly, also after idle time |
//! | [`Jitter`] | spreads retry hints |
//!
//! There is no queue behind a booking. The word that decides admissions is moved ahead by one compare-exchange, and how
//! far ahead it is tells when the place is due; so the order is that of the word, refusals stay free, and no place is
//! due later than the longest wait that someone asked for. The depth of the line is `rate * longest wait` by
//! construction. Work of different worth, which is not to be done in the order in which it came, waits in a [`Queue`].

mod acquire;
mod booking;
mod handle;
mod jitter;
mod pace;
mod queue;
mod timer;
#[cfg(feature = "tokio")]
mod tokio;
mod waiter;

pub use self::acquire::Acquire;
#[cfg(feature = "shared-memory")]
pub(crate) use self::acquire::block;
pub use self::booking::Booking;
pub use self::handle::Handle;
#[cfg(feature = "shared-memory")]
pub(crate) use self::handle::{Book, at_or_now};
pub use self::jitter::Jitter;
pub use self::pace::Pace;
pub use self::queue::{Entry, Outcomes, Queue, Queued, Refused, Rest};
pub use self::timer::Timer;
#[cfg(feature = "tokio")]
pub use self::tokio::{TokioClock, TokioTimer};
