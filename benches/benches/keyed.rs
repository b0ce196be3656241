//! What a decision costs once its bucket has to be found by a key: `cargo bench -p tollgate-bench --bench keyed`.
//!
//! Every row is one limiter; ratios are to governor's keyed limiter on its default store, in the same rounds. Before each
//! sample every key is called once, for other rows have pushed it out of the caches. Every answer is checked.

use foldhash::quality::RandomState as Fold;
use std::hash::RandomState as Sip;
use std::time::Duration;
use tollgate::{Quota, keyed};
use tollgate_bench::keyed::baseline::{Flat, Mutexes};
use tollgate_bench::keyed::heap::{Counting, counted, live};
use tollgate_bench::keyed::keys::{KEYS, Pattern, Stream, key};
use tollgate_bench::keyed::pair::Pairs;
use tollgate_bench::keyed::peers::{governor, governor_hashing, governor_locking};
use tollgate_bench::keyed::{Entrant, Keyed};
use tollgate_bench::machine::Machine;
use tollgate_bench::rounds::{Passes, Plan, Row, measure};
use tollgate_bench::scenario::Audit;
use tollgate_bench::team::{Placement, Team};
use tollgate_bench::{start, thread};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A limiter that starts full for each of so many keys.
type Build = fn(Quota, u64) -> Box<dyn Keyed<u64>>;

/// The row that all others are compared with.
const GOVERNOR: &str = "governor, default store";

/// The field. A limiter enters it with one line.
const FIELD: [(&str, Build); 8] = [
    ("floor: clock and a flat array", floor),
    (GOVERNOR, |quota, _| Box::new(governor(quota))),
    ("governor, default store, foldhash", |quota, _| Box::new(governor_hashing::<Fold>(quota))),
    ("governor, hashmap store", |quota, _| Box::new(governor_locking(quota))),
    ("64 mutexes, SipHash", mutexes::<Sip>),
    ("64 mutexes, foldhash", mutexes::<Fold>),
    ("tollgate table", table),
    ("tollgate keyed", exact),
];

/// So many make full sets rare: one key in a thousand finds no room.
const WORDS_A_KEY: u64 = 5;

/// A pass of 15 rounds; a millisecond a sample.
const FULL: Plan = Plan { blocks: 3, rounds: 5, sample_nanos: 1_000_000 };
const SMOKE: Plan = Plan { blocks: 1, rounds: 1, sample_nanos: 20_000 };

fn main() {
    let Some(smoke) = start::is_smoke() else { return };
    let (plan, passes, windows, keys) = if smoke { (SMOKE, 1, 1, 1_000) } else { (FULL, 15, 7, 1_000_000) };
    println!("{}", Machine::here());
    let team = Team::new(2);
    thread::pin_to(0);
    for pattern in Pattern::ALL {
        alone(pattern, Answer::Yes, plan, passes);
    }
    for pattern in Pattern::ALL {
        alone(pattern, Answer::No, plan, passes);
    }
    for pattern in [Pattern::Hot, Pattern::Zipf] {
        together(&team, pattern, windows, passes);
    }
    weigh(keys);
}

/// What every call is answered with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Yes,
    No,
}

impl Answer {
    /// Yes: debt is left behind by every call, so a bucket is neither full nor empty, and so much is in stock that no run
    /// uses it up. No: a token an hour, the first one taken before the measurement.
    fn quota(self, pattern: Pattern) -> Quota {
        let (tokens, seconds, burst) = match (self, pattern) {
            (Self::Yes, Pattern::Hot) => (1_000_000, 1, 1_000_000_000),
            (Self::Yes, _) => (1_000, 1, 4_000_000),
            (Self::No, _) => (1, 3_600, 1),
        };
        Quota::with_burst(tokens, Duration::from_secs(seconds), burst).expect("a representable quota")
    }

    fn audit(self) -> Audit {
        if self == Self::Yes { Audit::All } else { Audit::Nothing }
    }

    fn name(self) -> &'static str {
        if self == Self::Yes { "admitted" } else { "refused" }
    }
}

fn floor(quota: Quota, keys: u64) -> Box<dyn Keyed<u64>> {
    let flat = Flat::new(keys);
    if quota.capacity() == 1 {
        Box::new(move |key: &u64| flat.refuse(*key))
    } else {
        Box::new(move |key: &u64| flat.admit(*key))
    }
}

fn table(quota: Quota, keys: u64) -> Box<dyn Keyed<u64>> {
    let table = keyed::Table::new(quota, (keys * WORDS_A_KEY) as usize).expect("a quota that fits");
    Box::new(move |key: &u64| table.try_acquire(key).is_ok())
}

fn exact(quota: Quota, _: u64) -> Box<dyn Keyed<u64>> {
    let keyed = keyed::Keyed::new(quota).expect("a quota that starts full");
    Box::new(move |key: &u64| keyed.try_acquire(key).is_ok())
}

fn mutexes<S>(quota: Quota, _: u64) -> Box<dyn Keyed<u64>>
where
    S: std::hash::BuildHasher + Default + Send + Sync + 'static,
{
    let limiter = Mutexes::<S>::new(quota);
    Box::new(move |key: &u64| limiter.decide(*key))
}

fn entrants(quota: Quota) -> Vec<Entrant<u64>> {
    FIELD.map(|(name, build)| Entrant { name, call: build(quota, KEYS) }).into()
}

fn alone(pattern: Pattern, answer: Answer, plan: Plan, passes: usize) {
    let stream = pattern.stream();
    let table = Passes::taken(passes, |_| {
        let entrants = entrants(answer.quota(pattern));
        measure(&mut entrants.iter().map(|entrant| row(entrant, &stream, answer)).collect::<Vec<_>>(), plan)
    });
    println!("\n{:<36}{:>9}{:>12}", format!("{}, {}", pattern.name(), answer.name()), "ns", "/ governor");
    for name in table.names() {
        println!("{name:<36}{:>9.2}{:>12.3}", table.nanos(name), table.ratio(name, GOVERNOR));
    }
}

fn row<'a>(entrant: &'a Entrant<u64>, stream: &'a Stream<u64>, answer: Answer) -> Row<'a> {
    stream.warm(&*entrant.call);
    Row::new(entrant.name, answer.audit(), |calls| {
        stream.warm(&*entrant.call);
        stream.lap(calls, &*entrant.call)
    })
}

fn together(team: &Team, pattern: Pattern, windows: usize, passes: usize) {
    let (stream, mut pairs) = (pattern.stream(), Pairs::default());
    for _ in 0..passes {
        let entrants = entrants(Answer::Yes.quota(pattern));
        pairs.join(Pairs::taken(team, &entrants, &stream, true, windows, Duration::from_secs(10)));
    }
    let governor = FIELD.iter().position(|(name, _)| *name == GOVERNOR).expect("it is in the field");
    println!("\n{:<36}{:>24}{:>24}", format!("{}, two threads", pattern.name()), "near", "far");
    for (index, (name, _)) in FIELD.iter().enumerate() {
        let [near, far] = [Placement::Near, Placement::Far].map(|placement| {
            let (mops, windows) = pairs.mops(index, placement);
            let ratio = pairs.ratio(index, governor, placement);
            if windows == 0 { "-".to_owned() } else { format!("{mops:.1} Mops {ratio:.2} x ({windows})") }
        });
        println!("{name:<36}{near:>24}{far:>24}");
    }
}

/// Every key is called once and then lives, for its bucket is not full.
fn weigh(keys: u64) {
    println!("\n{:<36}{:>9}", "bytes a live key", "");
    for (name, build) in FIELD {
        let bytes = counted(|| {
            let limiter = build(Answer::No.quota(Pattern::Uniform), keys);
            (0..keys).for_each(|rank| {
                limiter.answer(&[key(rank)]);
            });
            live()
        });
        println!("{name:<36}{:>9.1}", bytes as f64 / keys as f64);
    }
}
