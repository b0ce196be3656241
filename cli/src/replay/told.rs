//! `--redis`: a bucket in a store, by the library's own script, which is told the trace's time in place of the server's.
//!
//! So the figures are those of the trace, whatever the speed of the server and of the way to it, and every decision can be compared
//! with a bucket in memory that is asked at the same microsecond.

use std::rc::Rc;
use std::time::Duration;

use redis::{Commands, Connection, Script};
use tollgate::Quota;
use tollgate::redis::RedisBucket;

use super::bound::BoundAudit;
use super::decision::Decision;
use super::limiter::Remote;
use crate::args::Limit;
use crate::failure::Failure;
use crate::leak::Ratio;
use crate::store::{Store, unique};
use crate::trace::Arrival;

/// What the library sends, but for two things.
const SCRIPT: &str = include_str!("../../../src/redis/bucket.lua");

/// The time comes with the call, as its last two arguments; and keys live an hour longer, for their time to live is the server's own
/// time.
const CHANGES: [[&str; 2]; 2] = [
    ["redis.call('TIME')", "{ ARGV[#ARGV - 1], ARGV[#ARGV] }"],
    ["'PX', string.format('%.0f', ", "'PX', string.format('%.0f', 3600000 + "],
];

/// The first arrival, on the script's axis: in 2026, so that its numbers are as large as a server's.
const FIRST: u64 = 1_790_000_000_000_000;

/// See the [module](self).
pub(super) struct Told {
    store: Rc<Store>,
    connection: Connection,
    script: Script,
    key: String,
    quota: Quota,
    scale: Scale,
    audit: BoundAudit,
    left: u64,
}

/// A quota in the script's units: `p` a microsecond, a token is `q`.
#[derive(Clone, Copy)]
struct Scale {
    p: u64,
    q: u64,
    capacity: u64,
}

impl Told {
    /// Fails for a quota that the library does not keep in a store.
    pub(super) fn new(limit: &Limit, store: Rc<Store>) -> Result<Self, Failure> {
        let quota = limit.quota;
        RedisBucket::new((), "", quota)
            .map_err(|error| Failure::Input(format!("--limit {:?} with --redis: {error}", limit.text)))?;
        Ok(Self {
            connection: store.connection()?,
            store,
            script: Script::new(&told(SCRIPT)),
            key: format!("tollgate:replay:{}", unique()),
            quota,
            scale: Scale::of(&quota),
            audit: BoundAudit::new(&quota),
            left: quota.capacity(),
        })
    }

    fn ask(&mut self, micros: u64, cost: u64) -> redis::RedisResult<Vec<u64>> {
        let (now, Scale { p, q, capacity }) = (FIRST + micros, self.scale);
        let mut call = self.script.key(&self.key);
        call.arg("acquire").arg(p).arg(q).arg(capacity).arg(cost * q);
        call.arg(now / 1_000_000).arg(now % 1_000_000).invoke(&mut self.connection)
    }
}

impl Remote for Told {
    fn decide(&mut self, arrival: &Arrival) -> Result<Decision, Failure> {
        let cost = arrival.cost;
        // As the library does: what no wait would help does not go to the server.
        if cost == 0 {
            return Ok(Decision::ZeroCost);
        }
        if cost > self.quota.capacity() {
            return Ok(Decision::Never);
        }
        let answer =
            self.ask(arrival.at.as_u64() / 1_000, cost).map_err(|error| self.store.failed(&error))?;
        match answer[..] {
            [0, _, deficit, ..] => {
                self.audit.admitted(arrival.at, cost);
                self.left = self.scale.capacity.saturating_sub(deficit) / self.scale.q;
                Ok(Decision::Admitted)
            }
            [_, wait] => Ok(Decision::Refused(Duration::from_micros(wait))),
            _ => Err(self.store.failed(&"its answer is none of the script's")),
        }
    }

    /// Right after the last admission; a refusal takes nothing.
    fn left(&self) -> Option<u64> {
        Some(self.left)
    }

    fn violations(&self) -> u64 {
        self.audit.violations()
    }

    fn finish(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        // If it fails, the key is gone in an hour.
        let _: redis::RedisResult<()> = self.connection.del(&self.key);
    }
}

impl Scale {
    /// Of a quota that the library took, so nothing overflows.
    fn of(quota: &Quota) -> Self {
        let Ratio { tokens, per } =
            Ratio::lowest(u128::from(quota.tokens()) * 1_000, quota.period().as_nanos());
        let small = |number: u128| u64::try_from(number).unwrap_or(u64::MAX);
        let (p, q) = (small(tokens), small(per));
        Self { p, q, capacity: quota.capacity().saturating_mul(q) }
    }
}

fn told(script: &str) -> String {
    CHANGES.iter().fold(script.to_owned(), |script, [from, to]| script.replace(from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_is_made_once() {
        for [from, to] in CHANGES {
            assert_eq!((SCRIPT.matches(from).count(), told(SCRIPT).matches(to).count()), (1, 1), "{from}");
        }
    }
}
