//! Every interleaving of a model, and proof that it was every one.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::env;
use std::sync::{Arc, Mutex};

use loom::model::Builder;

/// One fewer missed a real bug, one more costs four times as much.
const PREEMPTIONS: usize = 3;

/// Iterations of each model at that bound, when they were last recorded: lines of `NAME COUNT`.
const RECORDED: &str = include_str!("../iterations.txt");

/// A model must reach so much of its recorded count, in percent. One that was cut short passes otherwise.
const FLOOR: usize = 90;

thread_local! {
    static ROLE: Cell<Role> = const { Cell::new(Role { now: 0, of: 1 }) };
}

/// Which of a race's closures runs on the model's main thread.
#[derive(Clone, Copy)]
struct Role {
    now: usize,
    of: usize,
}

/// Runs the model in every interleaving and returns every outcome that occurred.
///
/// Once for each role: loom looks for races of a thread's access with the last access before it only, so it finds other
/// interleavings when the threads swap places.
pub fn explore<T: Ord + Send + 'static>(
    name: &'static str,
    model: impl Fn() -> T + Send + Sync + 'static,
) -> BTreeSet<T> {
    let mut count = Count::new(name);
    let outcomes = count.explore(model);
    count.finish();
    outcomes
}

/// Counts the iterations of several models under one name.
#[must_use = "a count is compared with its floor at the end"]
pub struct Count {
    name: &'static str,
    iterations: usize,
}

impl Count {
    /// Nothing counted yet.
    pub fn new(name: &'static str) -> Self {
        Self { name, iterations: 0 }
    }

    /// As [`explore`], one of several.
    pub fn explore<T: Ord + Send + 'static>(
        &mut self,
        model: impl Fn() -> T + Send + Sync + 'static,
    ) -> BTreeSet<T> {
        let seen = Arc::new(Mutex::new((BTreeSet::new(), 0)));
        let (model, record) = (Arc::new(model), Arc::clone(&seen));
        let iteration = move || {
            let outcome = model();
            let mut seen = record.lock().expect("no panic while recording");
            seen.0.insert(outcome);
            seen.1 += 1;
        };
        in_every_role(|| builder().check(iteration.clone()));
        let (outcomes, iterations) = std::mem::take(&mut *seen.lock().expect("no panic while recording"));
        self.iterations += iterations;
        outcomes
    }

    /// Prints the count.
    ///
    /// # Panics
    ///
    /// It is below its floor.
    pub fn finish(self) {
        let Self { name, iterations } = self;
        println!("iterations {name} {iterations}");
        if preemptions() == PREEMPTIONS && env::var_os("LOOM_FLOORS").is_none_or(|floors| floors != "off") {
            let recorded = recorded(name);
            assert!(iterations * 100 >= recorded * FLOOR, "{name}: {iterations} of {recorded} iterations");
        }
    }
}

/// The role among `of` that the caller is to play.
pub(crate) fn role(of: usize) -> usize {
    let now = ROLE.get().now;
    ROLE.set(Role { now, of });
    now
}

fn in_every_role(check: impl Fn()) {
    ROLE.set(Role { now: 0, of: 1 });
    check();
    for now in 1..ROLE.get().of {
        ROLE.set(Role { now, ..ROLE.get() });
        check();
    }
}

/// With no limit but that on preemptions, whatever the environment says.
fn builder() -> Builder {
    let mut builder = Builder::new();
    // Loom counts them in a byte. No bound at all would be less: then it leaves out what it adds to make up for one.
    builder.preemption_bound = Some(preemptions().min(u8::MAX.into()));
    builder.max_duration = None;
    builder.max_permutations = None;
    builder
}

fn preemptions() -> usize {
    let asked = env::var("LOOM_MAX_PREEMPTIONS").ok();
    asked.map_or(PREEMPTIONS, |asked| asked.parse().expect("LOOM_MAX_PREEMPTIONS is a number"))
}

fn recorded(name: &str) -> usize {
    let count = RECORDED.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    count.and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("{name} is not in iterations.txt"))
}
