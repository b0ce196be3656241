//! One limiter in one scenario, asked by so many callers at once for so long.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use redis::{AsyncCommands as _, RedisError};
use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;
use tollgate::redis::StoreError;
use tollgate::{Quota, QuotaError};
use tollgate_bench::Scenario;
use tollgate_bench::scenario::Account;

use super::super::judge::Tally;
use super::caller::{Caller, Kind, Ways};
use crate::failure::Failure;
use crate::store::{Store, unique};

/// Nanoseconds from one to a minute, with three digits.
type Latencies = Histogram<u64>;

const LONGEST_NANOS: u64 = 60_000_000_000;

/// What finds the pace at the boundary takes of a bout's time.
const PILOT: u32 = 5;

/// So many parts of a bout's time go before it is measured.
const WARM: u32 = 5;

/// At the boundary so many times the rate is asked for, as far as the pilot can tell.
const LOAD: u64 = 3;

/// Enough for leases beside what is left in the store.
const LEAST_BURST: u64 = 16;

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
    ways: Ways,
    /// For what draws leases, as long as bouts are run.
    _background: Runtime,
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
        let runtime = started(&mut Builder::new_current_thread())?;
        let background = started(Builder::new_multi_thread().worker_threads(1))?;
        let (direct, leased) = (store.shared_connection(&runtime)?, store.shared_connection(&background)?);
        let ways = Ways { direct, leased, background: background.handle().clone() };
        Ok(Self { store, runtime, ways, _background: background })
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
            Scenario::Deny => Quota::with_burst(1, Duration::from_secs(3_600), 2),
            Scenario::Boundary => {
                let pilot = self.on(kind, scenario, plenty().map_err(wrong)?, callers, time / PILOT)?;
                let rate = (pilot.per_second() as u64 / LOAD).max(1);
                let burst = u128::from(rate) * time.as_millis() / 10_000;
                Quota::with_burst(
                    rate,
                    Duration::from_secs(1),
                    u64::try_from(burst).unwrap_or(rate).max(LEAST_BURST),
                )
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
        let ran = self.runtime.block_on(async {
            let caller = kind.caller(&self.ways, &key, quota)?;
            let begin = self.now(&caller).await?;
            // The script is there before anything is measured, a token an hour is gone, and leases have grown.
            let warm = self.all(&caller, callers, time / WARM).await?;
            let start = Instant::now();
            let seen = self.all(&caller, callers, time).await?;
            let elapsed = start.elapsed();
            Ok((warm, seen, elapsed, self.now(&caller).await?.saturating_sub(begin)))
        });
        let (warm, seen, elapsed, elapsed_nanos) = ran?;
        self.forget(&key);
        let offered = warm.latencies.len() + seen.latencies.len();
        let account = Account { offered, admitted: warm.admitted + seen.admitted, elapsed_nanos };
        let tally = Tally::of(quota, 0, account);
        Ok(Bout { kind, scenario, callers, tally, elapsed, latencies: seen.latencies })
    }

    async fn all(&self, caller: &Caller, callers: u16, time: Duration) -> Result<Seen, Failure> {
        all(caller, callers, Instant::now() + time).await.map_err(|error| self.store.failed(&error))
    }

    /// By the clock that the limiter goes by: its own, or the server's.
    async fn now(&self, caller: &Caller) -> Result<u64, Failure> {
        if let Some(now) = caller.now() {
            return Ok(now);
        }
        let asked = redis::cmd("TIME").query_async(&mut self.ways.direct.clone()).await;
        let (seconds, micros): (u64, u64) = asked.map_err(|error: RedisError| self.store.failed(&error))?;
        Ok((seconds * 1_000_000 + micros) * 1_000)
    }

    /// If it fails, the key is gone when its bucket is full.
    fn forget(&self, key: &str) {
        let mut connection = self.ways.direct.clone();
        let _: Result<(), RedisError> = self.runtime.block_on(connection.del(key));
    }
}

fn started(builder: &mut Builder) -> Result<Runtime, Failure> {
    builder.enable_all().build().map_err(|error| Failure::Input(format!("--redis: {error}")))
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
