//! Which concurrent map finds a key's cell soonest: `cargo bench -p tollgate-bench --bench maps`.
//!
//! A call looks the key up, found every time, and does one load and one compare-exchange on its cell; no clock is read.
//! Then what a key costs to add and to remove, and the bytes it takes. foldhash is seeded at random in its quality form.

use foldhash::quality::RandomState as Fold;
use std::hash::RandomState as Sip;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tollgate_bench::keyed::Entrant;
use tollgate_bench::keyed::heap::{Counting, counted, live};
use tollgate_bench::keyed::keys::{KEYS, Pattern, Stream, key, text};
use tollgate_bench::keyed::maps::{Cell, CellMap, Dash, Mutexes, Papaya, RwLocks, Scc, SccIndex};
use tollgate_bench::keyed::pair::Pairs;
use tollgate_bench::machine::Machine;
use tollgate_bench::rounds::{Lap, Plan, Row, measure};
use tollgate_bench::scenario::Audit;
use tollgate_bench::team::{Placement, Team};
use tollgate_bench::{pin, start, thread};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A millisecond a sample, and before each one every key is called once: other rows have pushed them out of the caches.
const FULL: Plan = Plan { blocks: 3, rounds: 9, sample_nanos: 1_000_000 };
const SMOKE: Plan = Plan { blocks: 1, rounds: 1, sample_nanos: 20_000 };

/// Keys for the bytes.
const MANY: u64 = 1_000_000;

fn main() {
    let Some(smoke) = start::is_smoke() else { return };
    let (plan, windows) = if smoke { (SMOKE, 1) } else { (FULL, 15) };
    println!("{}", Machine::here());
    let team = Team::new(2);
    thread::pin_to(0);
    let numbers = by_number();
    for pattern in Pattern::ALL {
        table(&format!("{}, u64", pattern.name()), &numbers, &pattern.stream(), plan, &team, windows);
    }
    let texts = by_text();
    for pattern in [Pattern::Hot, Pattern::Zipf] {
        let stream = pattern.stream_of_text();
        table(&format!("{}, String by &str", pattern.name()), &texts, &stream, plan, &team, windows);
    }
    churns(plan);
    bytes(if smoke { 1_000 } else { MANY });
}

fn by_number() -> Vec<Entrant<u64>> {
    vec![
        flat(),
        number::<Papaya<u64, Fold>>("papaya, foldhash"),
        number::<Papaya<u64, ahash::RandomState>>("papaya, ahash"),
        number::<Papaya<u64, Sip>>("papaya, SipHash"),
        number::<SccIndex<u64, Fold>>("scc index of Arc, foldhash"),
        number::<SccIndex<u64, Sip>>("scc index of Arc, SipHash"),
        number::<Scc<u64, Fold>>("scc map, foldhash"),
        number::<Dash<u64, Fold>>("dashmap, foldhash"),
        number::<Dash<u64, Sip>>("dashmap, SipHash"),
        number::<Mutexes<u64, Fold>>("64 std mutexes, foldhash"),
        number::<RwLocks<u64, Fold>>("64 std rwlocks, foldhash"),
    ]
}

fn by_text() -> Vec<Entrant<String>> {
    vec![
        worded::<Papaya<String, Fold>>("papaya, foldhash"),
        worded::<Papaya<String, Sip>>("papaya, SipHash"),
        worded::<SccIndex<String, Fold>>("scc index of Arc, foldhash"),
        worded::<Dash<String, Fold>>("dashmap, foldhash"),
        worded::<Dash<String, Sip>>("dashmap, SipHash"),
    ]
}

/// What no map can go below: the cell's place is known from the key without comparing any.
fn flat() -> Entrant<u64> {
    let cells: Vec<Cell> = (0..KEYS.next_power_of_two()).map(|_| Cell::default()).collect();
    Entrant::new("floor: a flat array", move |key: &u64| {
        cells[*key as usize % cells.len()].touch();
        true
    })
}

fn number<M: CellMap<u64>>(name: &'static str) -> Entrant<u64> {
    let map = M::default();
    (0..KEYS).for_each(|rank| map.insert(key(rank)));
    Entrant::new(name, move |key: &u64| map.touch(key))
}

fn worded<M: CellMap<String>>(name: &'static str) -> Entrant<String> {
    let map = M::default();
    (0..KEYS).for_each(|rank| map.insert(text(rank)));
    Entrant::new(name, move |key: &String| map.touch(key))
}

fn table<K: Sync>(
    title: &str,
    entrants: &[Entrant<K>],
    stream: &Stream<K>,
    plan: Plan,
    team: &Team,
    windows: usize,
) {
    let row = |entrant| single(entrant, stream);
    let alone = measure(&mut entrants.iter().map(row).collect::<Vec<_>>(), plan);
    let pairs = Pairs::taken(team, entrants, stream, true, windows, Duration::from_secs(5));
    println!("\n{title:<36}{:>9}{:>16}{:>16}", "ns", "2 near, Mops", "2 far, Mops");
    for (index, entrant) in entrants.iter().enumerate() {
        let [near, far] = [Placement::Near, Placement::Far].map(|placement| {
            let (mops, windows) = pairs.mops(index, placement);
            if windows == 0 { "-".to_owned() } else { format!("{mops:.1} ({windows})") }
        });
        println!("{:<36}{:>9.2}{near:>16}{far:>16}", entrant.name, alone.nanos(entrant.name));
    }
}

fn single<'a, K: Sync>(entrant: &'a Entrant<K>, stream: &'a Stream<K>) -> Row<'a> {
    Row::new(entrant.name, Audit::All, |calls| {
        stream.warm(&*entrant.call);
        stream.lap(calls, &*entrant.call)
    })
}

fn churns(plan: Plan) {
    let mut rows = [
        churn::<Papaya<u64, Fold>>("papaya"),
        churn::<SccIndex<u64, Fold>>("scc index of Arc"),
        churn::<Scc<u64, Fold>>("scc map"),
        churn::<Dash<u64, Fold>>("dashmap"),
        churn::<Mutexes<u64, Fold>>("64 std mutexes"),
        churn::<RwLocks<u64, Fold>>("64 std rwlocks"),
    ];
    let table = measure(&mut rows, plan);
    println!("\n{:<36}{:>9}", "a new key and its removal", "ns");
    table.names().for_each(|name| println!("{name:<36}{:>9.2}", table.nanos(name)));
}

/// Each call adds a key never seen, beside 100 k others, and removes it.
fn churn<M: CellMap<u64>>(name: &str) -> Row<'static> {
    let (map, next) = (Arc::new(M::default()), AtomicU64::new(KEYS));
    (0..KEYS).for_each(|rank| map.insert(key(rank)));
    Row::new(name, Audit::All, move |calls| {
        let from = next.fetch_add(calls, Relaxed);
        Lap::of(calls, || {
            let turn = |rank| {
                map.insert(key(rank));
                pin(map.remove(&key(rank)))
            };
            (from..from + calls).map(turn).sum()
        })
    })
}

fn bytes(keys: u64) {
    println!(
        "\n{:<36}{:>9}{:>16}{:>16}{:>16}",
        "bytes a key", "live", "all removed", "after churn", "after shrink"
    );
    weigh::<Papaya<u64, Fold>>("papaya", keys);
    weigh::<SccIndex<u64, Fold>>("scc index of Arc", keys);
    weigh::<Scc<u64, Fold>>("scc map", keys);
    weigh::<Dash<u64, Fold>>("dashmap", keys);
    weigh::<Mutexes<u64, Fold>>("64 std mutexes", keys);
    weigh::<RwLocks<u64, Fold>>("64 std rwlocks", keys);
}

/// With all keys there; when all are removed; after another tenth came and went singly; after the map's own call.
fn weigh<M: CellMap<u64>>(name: &str, keys: u64) {
    let stages = counted(|| {
        let map = M::default();
        (0..keys).for_each(|rank| map.insert(key(rank)));
        let full = live();
        (0..keys).for_each(|rank| assert!(map.remove(&key(rank))));
        let removed = live();
        for rank in keys..keys + keys / 10 {
            map.insert(key(rank));
            map.remove(&key(rank));
        }
        let churned = live();
        map.shrink();
        [full, removed, churned, live()]
    });
    let [full, removed, churned, shrunk] = stages.map(|bytes| bytes as f64 / keys as f64);
    println!("{name:<36}{full:>9.1}{removed:>16.2}{churned:>16.2}{shrunk:>16.2}");
}
