//! `--key`: a bucket for each key, in the limiter that a server would use, on the trace's own time.
//!
//! Beside it stands what the limiter itself does not keep: of each key that ever came, what was refused to it and the
//! audit of what it was admitted.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};

use tollgate::keyed::{Keyed, KeyedError};
use tollgate::{Denied, Manual, Quota};

use super::bound::BoundAudit;
use super::lane::Count;
use crate::trace::Arrival;

/// The same on every run, so that a replay tells the same figures each time. Only which keys are swept first depends on
/// it, and a server seeds its own at random.
type Fixed = BuildHasherDefault<DefaultHasher>;

/// Bytes that the limiter takes for a key, besides the key's own text. Measured: see `tests/memory.rs`.
const BYTES_A_KEY: u64 = 110;

/// See the [module](self).
pub(crate) struct ByKey {
    limiter: Keyed<String, Manual, Fixed>,
    accounts: HashMap<String, Account>,
    /// For a key that has not been admitted anything.
    unused: BoundAudit,
    most_known: u64,
}

struct Account {
    refused: Count,
    audit: BoundAudit,
}

/// A key, and what was refused to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refused<'a> {
    pub(crate) key: &'a str,
    pub(crate) count: Count,
}

impl ByKey {
    /// Room for all keys, so that every one has a bucket of its own.
    pub(super) fn new(quota: Quota) -> Result<Self, KeyedError> {
        let builder = Keyed::builder(quota).max_keys(usize::MAX);
        let limiter = builder.clock(Manual::new()).hasher(Fixed::default()).build()?;
        Ok(Self { limiter, accounts: HashMap::new(), unused: BoundAudit::new(&quota), most_known: 0 })
    }

    pub(super) fn decide(&mut self, arrival: &Arrival) -> Result<(), Denied> {
        let (key, cost) = (key_of(arrival), arrival.cost);
        self.limiter.clock().set(arrival.at);
        let decision = self.limiter.try_acquire_n(key, cost);
        self.most_known = self.most_known.max(self.limiter.len() as u64);
        match decision {
            Ok(()) => self.account(key).audit.admitted(arrival.at, cost),
            Err(Denied::NotYet(_) | Denied::NoRoom(_)) => self.account(key).refused.add(cost),
            Err(Denied::OverCapacity { .. }) => _ = self.account(key),
            Err(Denied::ZeroCost) => {}
        }
        decision
    }

    pub(super) fn left(&self, arrival: &Arrival) -> u64 {
        self.limiter.peek(key_of(arrival)).map_or(self.unused.capacity(), |level| level.available())
    }

    fn account(&mut self, key: &str) -> &mut Account {
        if !self.accounts.contains_key(key) {
            let account = Account { refused: Count::default(), audit: self.unused.clone() };
            self.accounts.insert(key.to_owned(), account);
        }
        self.accounts.get_mut(key).expect("it is there now")
    }

    /// Summed over the keys, each audited by itself.
    pub(super) fn violations(&self) -> u64 {
        self.accounts.values().map(|account| account.audit.violations()).sum()
    }

    /// Different keys among the requests.
    pub(crate) fn distinct(&self) -> u64 {
        self.accounts.len() as u64
    }

    /// The most keys that the limiter knew at a time, with the sweeping that it does on its callers' way.
    pub(crate) fn most_known(&self) -> u64 {
        self.most_known
    }

    /// Keys whose buckets are not full at the last arrival.
    pub(crate) fn live(&self) -> u64 {
        self.limiter.sweep();
        self.limiter.len() as u64
    }

    /// About how much memory the limiter took when it knew most keys.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let text: usize = self.accounts.keys().map(String::len).sum();
        let a_text = (text as u64).div_ceil(self.distinct().max(1));
        self.most_known * (BYTES_A_KEY + a_text)
    }

    /// The keys with the most refused requests, at most `most` of them; among equals those with the higher cost.
    pub(crate) fn top_refused(&self, most: usize) -> Vec<Refused<'_>> {
        let refused = self.accounts.iter().filter(|(_, account)| account.refused.requests > 0);
        let mut all: Vec<_> = refused.map(|(key, account)| Refused { key, count: account.refused }).collect();
        all.sort_unstable_by(|one, other| rank(other).cmp(&rank(one)).then(one.key.cmp(other.key)));
        all.truncate(most);
        all
    }
}

fn rank(refused: &Refused<'_>) -> (u64, u128) {
    (refused.count.requests, refused.count.cost)
}

/// Every arrival has a key where limits are by key.
fn key_of(arrival: &Arrival) -> &str {
    arrival.key.as_deref().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tollgate::Nanos;

    use super::*;

    fn decide(by_key: &mut ByKey, millis: u64, key: &str, cost: u64) -> Option<bool> {
        let at = Nanos::from_duration(Duration::from_millis(millis));
        let arrival = Arrival { at, cost, key: Some(key.to_owned()), latency: None };
        match by_key.decide(&arrival) {
            Ok(()) => Some(true),
            Err(Denied::NotYet(_)) => Some(false),
            Err(_) => None,
        }
    }

    #[test]
    fn each_key_has_a_bucket_an_audit_and_a_count() {
        let mut by_key = ByKey::new("1/s burst 2".parse().unwrap()).unwrap();
        let calls = [("a", 2), ("a", 1), ("b", 1), ("b", 2), ("b", 0), ("c", 3), ("a", 2)];
        let answers = calls.map(|(key, cost)| decide(&mut by_key, 0, key, cost));
        let [yes, no] = [Some(true), Some(false)];
        assert_eq!(answers, [yes, no, yes, no, None, None, no]);
        assert_eq!((by_key.distinct(), by_key.most_known(), by_key.live()), (3, 2, 2));
        let told: Vec<_> =
            by_key.top_refused(10).iter().map(|r| (r.key, r.count.requests, r.count.cost)).collect();
        assert_eq!(told, [("a", 2, 3), ("b", 1, 2)]);
        assert_eq!(by_key.top_refused(1).len(), 1);
        assert_eq!(decide(&mut by_key, 1_500, "b", 2), yes);
        assert_eq!((by_key.live(), by_key.violations()), (2, 0), "`a` has 1.5 tokens");
        assert_eq!(by_key.memory_bytes(), 2 * (BYTES_A_KEY + 1));
    }

    #[test]
    fn equals_are_told_by_cost_and_then_by_name() {
        let mut by_key = ByKey::new("1/s burst 3".parse().unwrap()).unwrap();
        for (key, cost) in [("d", 1), ("c", 1), ("b", 2), ("a", 1)] {
            assert_eq!(decide(&mut by_key, 0, key, 3), Some(true));
            assert_eq!(decide(&mut by_key, 0, key, cost), Some(false));
        }
        let keys: Vec<_> = by_key.top_refused(10).iter().map(|refused| refused.key).collect();
        assert_eq!(keys, ["b", "a", "c", "d"]);
    }

    #[test]
    fn the_audit_is_of_each_key() {
        let mut by_key = ByKey::new("1/s burst 2".parse().unwrap()).unwrap();
        for key in ["a", "b", "b"] {
            by_key.account(key).audit.admitted(Nanos::ZERO, 2);
        }
        assert_eq!(by_key.violations(), 1, "`b` was given twice its burst");
    }
}
