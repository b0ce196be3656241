//! Limits that all machines share, in Redis or Valkey.
//!
//! | | what it limits |
//! |---|---|
//! | [`RedisBucket`] | a rate; estimates are [reserved](RedisBucket::reserve) and settled |
//! | [`RedisAllOf`] | several rates at once, all or none, on keys of one slot |
//! | [`Leased`] | a rate, of which each process spends what it has drawn beforehand |
//! | [`RedisInFlight`] | work in flight, by permits whose leases end |
//!
//! Each rate, and each limit of what is in flight, is one key. Each call is one atomic script on the server
//! and goes by the server's clock, so the clients' clocks do not matter; there is no read followed by a write
//! that others could come between.
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
//! Numbers in the server's scripts are floats, exact up to 2^53, so the scale is another one than in memory:
//! time is the server's microseconds, the rate is `p/q` tokens a microsecond in lowest terms, and a token is
//! `q` units. A bucket keeps its deficit and the time of its last write, so that numbers stay small: after
//! `e` microseconds the deficit is `max(0, D - p*e)`, exactly. A quota whose capacity has 2^52 units or more
//! is refused when the bucket is made; debts saturate at 2^53 - 1 units.
//!
//! # What is in a key
//!
//! Six whole numbers as text: the deficit, the time of the last write, the end of a pause, when the bucket
//! was last known to begin, what has been given back since, and `q`. A key lives exactly until its bucket is
//! full and not paused: a key that is gone is a full bucket, and so quotas must begin full. An eviction by
//! memory pressure is a full bucket too: use `noeviction`, or an instance of its own.
//!
//! Permits are a sorted set, each with its weight in its name and the microsecond at which its lease ends as
//! its score, and the sum of the weights. It lives exactly until the last lease is over.
//!
//! # Leases
//!
//! A round trip for each decision is a lot where decisions are many. [`Leased`] draws tokens in the
//! background and spends them at in-process speed, within the same bound.
//!
//! # Failure
//!
//! Every call has a deadline, and answers [`StoreError`] when the server does not answer well in time.
//! Nothing is sent twice: a reply that was lost may have been a decision that counted, and the caller is told
//! that it is not known. Sent again is what was not run: `NOSCRIPT`, after which the script is sent whole,
//! and `MOVED`; and what a share for outages has admitted, until the server says that it knows, which makes
//! no more debt than one capacity. A server's clock that steps back counts as one that stands. A server that
//! is out of memory refuses what would write, which is told, and loses nothing.
//!
//! After a restart a server knows what it has written down: with `appendfsync always` everything, with
//! nothing on disk nothing, and then each bucket is full. After a failover the new primary may not know the
//! last writes of the old one; what was admitted by them may be admitted again, at most a capacity. `WAIT`
//! and `min-replicas-to-write` make that less, not nothing.
//!
//! What decides while the server does not answer is the owner's to say: [`Guarded`] and [`Leased`] take an
//! [`Outage`] rule.
//!
//! # Connections
//!
//! * A `MultiplexedConnection` ends when it breaks. A `ConnectionManager` is made anew, and sends nothing
//!   again.
//! * Each has a response timeout of its own, half a second unless it is configured; a longer deadline needs a
//!   longer one.
//! * A cluster's connection by itself sends again what was under way when a node's connection broke. So a
//!   cost may count twice, which is the safe side, and so may what is given back, which is not: a refund, a
//!   settlement, what is left of a lease. Permits have names, and count once.
//!   [`ClusterClientBuilder::retries(0)`](https://docs.rs/redis/latest/redis/cluster/struct.ClusterClientBuilder.html)
//!   switches that off. Keys that have moved are still found; while a slot is on its way, calls on its keys
//!   fail, which they do not with retries.
//! * With Sentinel, ask a `SentinelClient` for a connection again when calls fail, and make the limit anew on
//!   it: what is kept
//!   is on the server.

mod all_of;
mod asking;
mod bucket;
mod circuit;
mod error;
mod guarded;
mod in_flight;
mod leased;
mod outage;
mod reservation;
mod scale;
mod store;

pub use self::all_of::{AllOfRefused, NotTogether, RedisAllOf, RedisAllOfReservation};
pub use self::bucket::{RedisBucket, RedisLevel};
pub use self::circuit::{Circuit, CircuitError, CircuitState};
pub use self::error::{NotRepresentable, Refused, StoreError};
pub use self::guarded::{Guarded, Refusal};
pub use self::in_flight::{
    LeaseLost, NoInFlight, NoRedisPermit, NotRenewed, RedisHeld, RedisInFlight, RedisPermit,
};
pub use self::leased::{LeasePlan, LeasePlanError, LeaseShard, Leased, LeasedBuilder, LeasedError, Supply};
pub use self::outage::{DecidedBy, Outage, OutageState};
pub use self::reservation::RedisReservation;
