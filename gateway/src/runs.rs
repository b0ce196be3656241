//! Runs of agents, by a name in a header.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tollgate::budget::{Ceilings as RunCeilings, Run};

use crate::settings::Ceilings;

/// As many are remembered; of more, the one is forgotten that was used longest ago. Its ceilings begin anew if it comes again.
const MOST: usize = 10_000;

/// All runs of all tenants.
pub(crate) struct Runs {
    ceilings: Ceilings,
    /// By tenant and name: nobody gets at the run of another.
    known: Mutex<HashMap<(usize, String), Known>>,
}

struct Known {
    run: Run,
    used: Instant,
}

impl Runs {
    pub(crate) fn new(ceilings: Ceilings) -> Self {
        Self { ceilings, known: Mutex::default() }
    }

    /// The run of that name. The first call decides what it may use.
    pub(crate) fn of(&self, tenant: usize, name: &str, calls: Option<u64>, tokens: Option<u64>) -> Run {
        let mut known = self.known();
        let key = (tenant, name.to_owned());
        if known.len() >= MOST && !known.contains_key(&key) {
            forget_the_oldest(&mut known);
        }
        let ceilings = || {
            let calls = calls.unwrap_or(u64::MAX).min(self.ceilings.calls);
            RunCeilings::new().calls(calls).tokens(tokens.unwrap_or(u64::MAX).min(self.ceilings.tokens))
        };
        let entry = known.entry(key);
        let known = entry.or_insert_with(|| Known { run: Run::new(&ceilings()), used: Instant::now() });
        known.used = Instant::now();
        known.run.clone()
    }

    /// The latest of them, with tenant and name.
    pub(crate) fn latest(&self, most: usize) -> Vec<(usize, String, Run)> {
        let known = self.known();
        let mut latest: Vec<_> = known.iter().collect();
        latest.sort_unstable_by_key(|(_, known)| std::cmp::Reverse(known.used));
        let shown = latest.into_iter().take(most);
        shown.map(|((tenant, name), known)| (*tenant, name.clone(), known.run.clone())).collect()
    }

    fn known(&self) -> MutexGuard<'_, HashMap<(usize, String), Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn forget_the_oldest(known: &mut HashMap<(usize, String), Known>) {
    let oldest = known.iter().min_by_key(|(_, known)| known.used).map(|(key, _)| key.clone());
    oldest.and_then(|key| known.remove(&key));
}
