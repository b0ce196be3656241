//! Runs of agents, by a name in a header.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::iter;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tollgate::budget::{Ceilings as RunCeilings, Run};

use crate::settings::Ceilings;

/// As many are remembered of each tenant; of more, the one is forgotten that was used longest ago. Its
/// ceilings begin anew if it comes again.
const MOST: usize = 10_000;

/// All runs of all tenants.
pub(crate) struct Runs {
    ceilings: Ceilings,
    /// By tenant and name: nobody gets at the run of another, nor pushes it out.
    known: Mutex<HashMap<usize, HashMap<String, Known>>>,
}

/// A run as a call names it, and what the first call of it says that it may use.
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) calls: Option<u64>,
    pub(crate) tokens: Option<u64>,
}

struct Known {
    run: Run,
    used: Instant,
}

impl Runs {
    pub(crate) fn new(ceilings: Ceilings) -> Self {
        Self { ceilings, known: Mutex::default() }
    }

    /// The run of that name.
    pub(crate) fn of(&self, tenant: usize, named: &Named) -> Run {
        let mut known = self.known();
        let known = known.entry(tenant).or_default();
        if known.len() >= MOST && !known.contains_key(&named.name) {
            forget_the_oldest(known);
        }
        let ceilings = || {
            let calls = named.calls.unwrap_or(u64::MAX).min(self.ceilings.calls);
            RunCeilings::new().calls(calls).tokens(named.tokens.unwrap_or(u64::MAX).min(self.ceilings.tokens))
        };
        let entry = known.entry(named.name.clone());
        let known = entry.or_insert_with(|| Known { run: Run::new(&ceilings()), used: Instant::now() });
        known.used = Instant::now();
        known.run.clone()
    }

    /// The latest of them, with tenant and name.
    pub(crate) fn latest(&self, most: usize) -> Vec<(usize, String, Run)> {
        let known = self.known();
        let of = |(tenant, runs)| iter::repeat(tenant).zip(runs);
        let mut latest: Vec<_> = known.iter().flat_map(of).collect();
        latest.sort_unstable_by_key(|(_, (_, known))| Reverse(known.used));
        let shown = latest.into_iter().take(most);
        shown.map(|(tenant, (name, known))| (*tenant, name.clone(), known.run.clone())).collect()
    }

    fn known(&self) -> MutexGuard<'_, HashMap<usize, HashMap<String, Known>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn forget_the_oldest(known: &mut HashMap<String, Known>) {
    let oldest = known.iter().min_by_key(|(_, known)| known.used).map(|(name, _)| name.clone());
    oldest.and_then(|name| known.remove(&name));
}

#[cfg(test)]
mod tests {
    use tollgate::budget::Planned;

    use super::*;

    #[test]
    fn nobody_pushes_out_the_run_of_another() {
        let runs = Runs::new(Ceilings { calls: 1, tokens: 1000 });
        let named = |name: &str| Named { name: name.to_owned(), calls: None, tokens: None };
        let used = runs.of(0, &named("research"));
        used.call(Planned::new("small").tokens(10)).map(|call| call.settle(10, 0)).unwrap();
        (0..=MOST).for_each(|number| drop(runs.of(1, &named(&number.to_string()))));
        assert_eq!(runs.of(0, &named("research")).spent().calls, 1);
        assert_eq!(runs.latest(usize::MAX).len(), MOST + 1, "of the other tenant there are no more");
    }
}
