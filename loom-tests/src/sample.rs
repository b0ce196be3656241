//! Random schedules of a model.

use shuttle::rand::{Rng, thread_rng};
use shuttle::scheduler::RandomScheduler;
use shuttle::{Config, Runner, thread};

/// Fixed, so that a run can be repeated; `SHUTTLE_RANDOM_SEED` sets another.
const SEED: u64 = 20_260_821;

/// Runs the model in so many random schedules, all of them.
pub fn sample(name: &str, schedules: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut config = Config::new();
    // That it takes every ordering for sequentially consistent is known; loom sees to the weaker ones.
    config.silence_warnings = true;
    let ran = Runner::new(RandomScheduler::new_from_seed(SEED, schedules), config).run(model);
    assert_eq!(ran, schedules, "{name} was cut short");
    println!("schedules {name} {ran}");
}

/// Runs so many threads at once, and returns what they returned.
pub fn each<T: Send + 'static>(threads: u64, body: impl Fn(u64) -> T + Copy + Send + 'static) -> Vec<T> {
    let threads: Vec<_> = (0..threads).map(|thread| thread::spawn(move || body(thread))).collect();
    threads.into_iter().map(|thread| thread.join().expect("no thread panics")).collect()
}

/// A number below `end`, of the schedule's own randomness.
pub fn any_below(end: u64) -> u64 {
    thread_rng().gen_range(0..end)
}
