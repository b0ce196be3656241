//! `--redis --mode direct` and `leased`: the library's own limiters on the server's own time, in which the
//! trace passes so many times as fast as it was, and the limit with it.

use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use redis::{Commands, Connection, RedisError};
use tokio::runtime::{Builder, Runtime};
use tollgate::redis::{LeasePlan, Leased, RedisBucket, Refused, StoreError};
use tollgate::{Denied, Nanos, Quota};

use super::decision::Decision;
use super::limiter::Remote;
use crate::args::{Limit, Mode};
use crate::failure::Failure;
use crate::store::{PATIENCE, Store, unique};
use crate::trace::Arrival;

/// Time that passes so many times as fast as the server's.
#[derive(Clone, Copy)]
pub(super) struct Pace {
    start: Instant,
    speed: u32,
}

/// See the [module](self).
pub(super) struct Live {
    store: Rc<Store>,
    connection: Connection,
    runtime: Rc<Runtime>,
    asked: Asked,
    key: String,
    speed: u32,
    /// As fast as the trace passes.
    quota: Quota,
    admitted: u128,
    begin: u64,
    violations: u64,
}

enum Asked {
    Direct(Box<RedisBucket<MultiplexedConnection>>),
    /// Each in its turn, as callers behind a load balancer.
    Leased {
        instances: Vec<Leased<MultiplexedConnection>>,
        next: usize,
    },
}

impl Pace {
    pub(super) fn new(speed: u32) -> Self {
        Self { start: Instant::now(), speed }
    }

    /// Waits until the arrival is due, and tells the trace's time then.
    pub(super) fn wait_for(self, arrival: &Arrival) -> Nanos {
        let due = Duration::from_nanos(arrival.at.as_u64() / u64::from(self.speed));
        thread::sleep(due.saturating_sub(self.start.elapsed()));
        Nanos::from_duration(self.start.elapsed().saturating_mul(self.speed))
    }
}

impl Live {
    /// Fails for a quota that cannot be kept, or leased so.
    pub(super) fn new(
        limit: &Limit,
        store: &Rc<Store>,
        runtime: &Rc<Runtime>,
        mode: Mode,
        (speed, instances): (u32, u32),
    ) -> Result<Self, Failure> {
        let quota = faster(limit, speed)?;
        let key = format!("tollgate:replay:{}", unique());
        let asked = match mode {
            Mode::Leased => leased(limit, store, runtime, (&key, quota), instances)?,
            _ => direct(limit, store, runtime, (&key, quota))?,
        };
        let mut connection = store.connection()?;
        let begin = time(&mut connection).map_err(|error| store.failed(&error))?;
        let (store, runtime) = (Rc::clone(store), Rc::clone(runtime));
        Ok(Self { store, connection, runtime, asked, key, speed, quota, admitted: 0, begin, violations: 0 })
    }
}

impl Remote for Live {
    fn decide(&mut self, arrival: &Arrival) -> Result<Decision, Failure> {
        let decision = self.asked.decide(&self.runtime, arrival.cost);
        Ok(match decision.map_err(|error| self.store.failed(&error))? {
            Decision::Admitted => {
                self.admitted += u128::from(arrival.cost);
                Decision::Admitted
            }
            // In the trace's time.
            Decision::Refused(wait) => Decision::Refused(wait.saturating_mul(self.speed)),
            other => other,
        })
    }

    /// By the time of an answer it would be another.
    fn left(&self) -> Option<u64> {
        None
    }

    /// Whether in all, by the server's own time, more was admitted than `B + r*t`: 0 or 1, known after [`finish`](Self::finish).
    fn violations(&self) -> u64 {
        self.violations
    }

    /// After the last arrival.
    fn finish(&mut self) -> Result<(), Failure> {
        let now = time(&mut self.connection).map_err(|error| self.store.failed(&error))?;
        let nanos = u128::from(now.saturating_sub(self.begin)) * 1_000;
        let refilled = u128::from(self.quota.tokens()) * nanos / self.quota.period().as_nanos();
        self.violations = u64::from(self.admitted > refilled + u128::from(self.quota.capacity()));
        Ok(())
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if let Asked::Leased { instances, .. } = &mut self.asked {
            // What they give back comes before the key goes.
            instances.drain(..).for_each(|instance| _ = self.runtime.block_on(instance.close()));
        }
        // If it fails, the key is gone when its bucket is full.
        let _: redis::RedisResult<()> = self.connection.del(&self.key);
    }
}

impl Asked {
    fn decide(&mut self, runtime: &Runtime, cost: u64) -> Result<Decision, StoreError> {
        let answer: Result<(), Denied> = match self {
            Self::Direct(bucket) => match runtime.block_on(bucket.try_acquire_n(cost)) {
                Err(Refused::Denied(denied)) => Err(denied),
                Err(Refused::Store(error)) => return Err(error),
                _ => Ok(()),
            },
            Self::Leased { instances, next } => {
                *next = (*next + 1) % instances.len();
                instances[*next].try_acquire_n(cost).map(drop)
            }
        };
        Ok(answer.into())
    }
}

/// What the leases are drawn by, while the trace is waited for.
pub(super) fn runtime() -> Result<Rc<Runtime>, Failure> {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.map(Rc::new).map_err(|error| Failure::Input(format!("--redis: {error}")))
}

/// The limit in a time that passes so many times as fast.
fn faster(limit: &Limit, speed: u32) -> Result<Quota, Failure> {
    let quota = limit.quota;
    let tokens = quota.tokens().saturating_mul(speed.into());
    let faster = Quota::with_burst(tokens, quota.period(), quota.capacity());
    let faster = faster.and_then(|faster| faster.fill(quota.initial()));
    faster.map_err(|error| unusable(limit, &format!("--speed {speed}: {error}")))
}

fn direct(
    limit: &Limit,
    store: &Store,
    runtime: &Runtime,
    (key, quota): (&str, Quota),
) -> Result<Asked, Failure> {
    let connection = store.shared_connection(runtime)?;
    let bucket = RedisBucket::new(connection, key, quota).map_err(|error| unusable(limit, &error))?;
    Ok(Asked::Direct(Box::new(bucket.with_deadline(PATIENCE))))
}

fn leased(
    limit: &Limit,
    store: &Store,
    runtime: &Runtime,
    (key, quota): (&str, Quota),
    count: u32,
) -> Result<Asked, Failure> {
    let plan = LeasePlan::new(&quota, count).map_err(|error| unusable(limit, &error))?;
    let one = |_| {
        let builder = Leased::builder(store.shared_connection(runtime)?, key, plan.with_threads(0));
        let built = builder.deadline(PATIENCE).build();
        let (instance, supply) = built.map_err(|error| unusable(limit, &error))?;
        runtime.spawn(supply.run());
        Ok(instance)
    };
    let instances = (0..count).map(one).collect::<Result<_, Failure>>()?;
    Ok(Asked::Leased { instances, next: 0 })
}

/// The server's own, in microseconds.
fn time(connection: &mut Connection) -> Result<u64, RedisError> {
    let (seconds, micros): (u64, u64) = redis::cmd("TIME").query(connection)?;
    Ok(seconds * 1_000_000 + micros)
}

fn unusable(limit: &Limit, why: &dyn std::fmt::Display) -> Failure {
    Failure::Input(format!("--limit {:?} with --redis: {why}", limit.text))
}
