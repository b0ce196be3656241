//! One limiter in one scenario, asked by so many callers at once for so long.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hdrhistogram::Histogram;
use redis::aio::MultiplexedConnection;
use redis::{AsyncCommands, RedisError};
use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;
use tollgate::redis::StoreError;
use tollgate::{Quota, QuotaError};
use tollgate_bench::Scenario;
use tollgate_bench::scenario::Account;

use super::super::judge::Tally;
use super::caller::{Caller, Kind};
use crate::failure::Failure;
use crate::store::Store;

/// Nanoseconds from one to a minute, with three digits.
type Latencies = Histogram<u64>;

const LONGEST_NANOS: u64 = 60_000_000_000;

/// What finds the pace at the boundary takes of a bout's time.
const PILOT: u32 = 5;

/// At the boundary so many times the rate is asked for, as far as the pilot can tell.
const LOAD: u64 = 3;

/// What came of it.
pub(super) struct Bout {
    pub(super) kind: Kind,
    pub(super) scenario: Scenario,
    pub(super) callers: u16,
    pub(super) tally: Tally,
    pub(super) elapsed: Duration,
    latencies: Latencies,
}

/// What bouts are run with.
pub(super) struct Bouts<'a> {
    store: &'a Store,
    runtime: Runtime,
    connection: MultiplexedConnection,
}

/// What a caller has seen.
struct Seen {
    admitted: u64,
    latencies: Latencies,
}

impl Bout {
    /// Decisions of all callers in a second.
    pub(super) fn per_second(&self) -> f64 {
        self.latencies.len() as f64 / self.elapsed.as_secs_f64()
    }

    /// The time that so many of a million calls stay within.
    pub(super) fn latency(&self, of_a_million: u32) -> Duration {
        Duration::from_nanos(self.latencies.value_at_quantile(f64::from(of_a_million) / 1e6))
    }

    pub(super) fn longest(&self) -> Duration {
        Duration::from_nanos(self.latencies.max())
    }
}

impl<'a> Bouts<'a> {
    pub(super) fn new(store: &'a Store) -> Result<Self, Failure> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Failure::Input(format!("--redis: {error}")))?;
        let connected = runtime.block_on(store.client().get_multiplexed_async_connection());
        let connection = connected.map_err(|error| store.failed(&error))?;
        Ok(Self { store, runtime, connection })
    }

    pub(super) fn run(
        &self,
        kind: Kind,
        scenario: Scenario,
        callers: u16,
        time: Duration,
    ) -> Result<Bout, Failure> {
        let quota = self.quota(kind, scenario, callers, time)?;
        self.on(kind, scenario, quota, callers, time)
    }

    /// With a limit that is right for the scenario; at the boundary for the speed of the limiter, too.
    fn quota(&self, kind: Kind, scenario: Scenario, callers: u16, time: Duration) -> Result<Quota, Failure> {
        let made = match scenario {
            Scenario::Deny => Quota::with_burst(1, Duration::from_secs(3_600), 1),
            Scenario::Boundary => {
                let pilot = self.on(kind, scenario, plenty().map_err(wrong)?, callers, time / PILOT)?;
                let rate = (pilot.per_second() as u64 / LOAD).max(1);
                let burst = u128::from(rate) * time.as_millis() / 10_000;
                Quota::with_burst(rate, Duration::from_secs(1), u64::try_from(burst).unwrap_or(rate).max(1))
            }
            _ => plenty(),
        };
        made.map_err(wrong)
    }

    fn on(
        &self,
        kind: Kind,
        scenario: Scenario,
        quota: Quota,
        callers: u16,
        time: Duration,
    ) -> Result<Bout, Failure> {
        let key = format!("tollgate:compare:{}", unique());
        let caller = kind.caller(self.connection.clone(), &key, quota)?;
        let ran = self.runtime.block_on(async {
            let begin = self.now(&caller).await?;
            // The script is there before anything is measured; and a token an hour is gone.
            let first = caller.decide().await.map_err(|error| self.store.failed(&error))?;
            let start = Instant::now();
            let seen =
                all(&caller, callers, start + time).await.map_err(|error| self.store.failed(&error))?;
            let elapsed = start.elapsed();
            Ok((first, seen, elapsed, self.now(&caller).await?.saturating_sub(begin)))
        });
        let (first, seen, elapsed, elapsed_nanos) = ran?;
        self.forget(&key);
        let (offered, admitted) = (1 + seen.latencies.len(), u64::from(first) + seen.admitted);
        let account = Account { offered, admitted, elapsed_nanos };
        let tally = Tally::of(quota, 0, account);
        Ok(Bout { kind, scenario, callers, tally, elapsed, latencies: seen.latencies })
    }

    /// By the clock that the limiter goes by: its own, or the server's.
    async fn now(&self, caller: &Caller) -> Result<u64, Failure> {
        if let Some(now) = caller.now() {
            return Ok(now);
        }
        let asked = redis::cmd("TIME").query_async(&mut self.connection.clone()).await;
        let (seconds, micros): (u64, u64) = asked.map_err(|error: RedisError| self.store.failed(&error))?;
        Ok((seconds * 1_000_000 + micros) * 1_000)
    }

    /// If it fails, the key is gone when its bucket is full.
    fn forget(&self, key: &str) {
        let mut connection = self.connection.clone();
        let _: Result<(), RedisError> = self.runtime.block_on(connection.del(key));
    }
}

/// Each asks again as soon as it has its answer.
async fn all(caller: &Caller, callers: u16, end: Instant) -> Result<Seen, StoreError> {
    let tasks = LocalSet::new();
    let each: Vec<_> = (0..callers).map(|_| tasks.spawn_local(one(caller.clone(), end))).collect();
    let joined = async {
        let mut all = Seen { admitted: 0, latencies: latencies() };
        for task in each {
            let seen = task.await.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))?;
            all.admitted += seen.admitted;
            all.latencies += seen.latencies;
        }
        Ok(all)
    };
    tasks.run_until(joined).await
}

async fn one(caller: Caller, end: Instant) -> Result<Seen, StoreError> {
    let mut seen = Seen { admitted: 0, latencies: latencies() };
    let lap = caller.lap();
    let mut before = Instant::now();
    while before < end {
        for _ in 0..lap {
            seen.admitted += u64::from(caller.decide().await?);
        }
        let after = Instant::now();
        seen.latencies.saturating_record_n((nanos(after - before) / lap).max(1), lap);
        before = after;
        if lap > 1 {
            // A limiter in the process never waits, so others would never have their turn.
            tokio::task::yield_now().await;
            before = Instant::now();
        }
    }
    Ok(seen)
}

fn latencies() -> Latencies {
    // The bounds are in order and the digits few enough.
    Histogram::new_with_bounds(1, LONGEST_NANOS, 3).expect("the bounds are fixed")
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// More than any way to a store can carry.
fn plenty() -> Result<Quota, QuotaError> {
    Quota::with_burst(1_000_000_000, Duration::from_secs(1), 4_000_000_000)
}

fn wrong(error: QuotaError) -> Failure {
    Failure::Input(format!("--redis: {error}"))
}

/// Other commands may use the same server.
fn unique() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{}-{}", std::process::id(), now.as_nanos())
}
