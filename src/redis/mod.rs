//! Limits that all machines share, in Redis or Valkey.
//!
//! A bucket is one key. Each call is one atomic script on the server and goes by the server's clock, so the clients' clocks do
//! not matter; there is no read followed by a write that others could come between.
//!
//! ```no_run
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! use tollgate::{quota, redis::RedisBucket};
//!
//! let client = redis::Client::open("redis://127.0.0.1/")?;
//! let connection = client.get_multiplexed_async_connection().await?;
//! let requests = RedisBucket::new(connection, "limits:{api}:requests", quota!("100/s burst 200"))?;
//! match requests.try_acquire().await {
//!     Ok(()) => println!("go on"),
//!     Err(refused) => println!("{refused}"),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Scale
//!
//! Numbers in the server's scripts are floats, exact up to 2^53, so the scale is another one than in memory: time is the server's
//! microseconds, the rate is `p/q` tokens a microsecond in lowest terms, and a token is `q` units. A bucket keeps its deficit and the
//! time of its last write, so that numbers stay small: after `e` microseconds the deficit is `max(0, D - p*e)`, exactly. A quota
//! whose capacity has 2^52 units or more is refused when the bucket is made; debts saturate at 2^53 - 1 units.
//!
//! # What is in a key
//!
//! Six whole numbers as text: the deficit, the time of the last write, the end of a pause, when the bucket was last known to begin,
//! what has been given back since, and `q`. A key lives exactly until its bucket is full and not paused: a key that is gone is a
//! full bucket, and so quotas must begin full. An eviction by memory pressure is a full bucket too: use `noeviction`, or an
//! instance of its own.
//!
//! # Leases
//!
//! A round trip for each decision is a lot where decisions are many. [`Leased`] draws tokens in the background and spends them at
//! in-process speed, within the same bound.
//!
//! # Failure
//!
//! Every call has a deadline, and answers [`StoreError`] when the server does not answer well in time. Nothing is sent twice: a reply
//! that was lost may have been a decision that counted, and the caller is told that it is not known. The one exception is the
//! answer `NOSCRIPT`, after which nothing has run: the script is then sent whole. A server's clock that steps back counts as one that stands. After a failover the
//! new primary may not know the last writes of the old one; what was admitted by them may be admitted again, at most a capacity.
//! What decides while the server does not answer is the owner's to say: [`Guarded`] and [`Leased`] take an [`Outage`] rule.

mod bucket;
mod circuit;
mod error;
mod guarded;
mod leased;
mod outage;
mod reservation;
mod scale;
mod store;

pub use self::bucket::{RedisBucket, RedisLevel};
pub use self::circuit::{Circuit, CircuitError, CircuitState};
pub use self::error::{NotRepresentable, Refused, StoreError};
pub use self::guarded::{Guarded, Refusal};
pub use self::leased::{LeasePlan, LeasePlanError, LeaseShard, Leased, LeasedBuilder, LeasedError, Supply};
pub use self::outage::{DecidedBy, Outage, OutageState};
pub use self::reservation::RedisReservation;
