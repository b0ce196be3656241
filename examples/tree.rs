//! One quota of an upstream for three teams: each is guaranteed a share, and uses what the others leave.
//!
//!     cargo run --example tree --features budget

use std::time::Duration;

use tollgate::{
    Manual,
    budget::tree::{Share, Tree},
    quota,
};

/// What each team asks for, in tokens a second, in each phase of ten seconds.
const PHASES: [(&str, [u64; 3]); 4] = [
    ("all ask for more than their share", [2000, 2000, 2000]),
    ("research is idle", [0, 2000, 2000]),
    ("only batch asks", [0, 0, 2000]),
    ("research returns", [2000, 0, 2000]),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tree = Tree::builder(quota!("1000/s burst 200")).clock(Manual::new());
    let tree = tree
        .node("research", Share::percent(50).burst(50))
        .node("support", Share::percent(30).burst(30))
        .node("batch", Share::percent(20).burst(20).ceiling(quota!("800/s burst 100")))
        .build()?;
    let teams = ["research", "support", "batch"];
    println!("{:>36} {:>10} {:>10} {:>10}  borrowed", "tokens a second", teams[0], teams[1], teams[2]);
    for (phase, load) in PHASES {
        let seen = |name| tree.node(name).map(|node| node.peek()).ok_or("no such team");
        let before = [seen("research")?, seen("support")?, seen("batch")?];
        for _ in 0..10_000 {
            tree.clock().advance(Duration::from_millis(1));
            for (name, load) in teams.into_iter().zip(load) {
                let team = tree.node(name).ok_or("no such team")?;
                // Refusals are not retried here: the next millisecond asks again.
                let _admitted = (0..load / 1000).filter(|_| team.try_acquire().is_ok()).count();
            }
        }
        let after = [seen("research")?, seen("support")?, seen("batch")?];
        let used = [0, 1, 2].map(|team| (after[team].used() - before[team].used()) / 10);
        let borrowed = [0, 1, 2].map(|team| (after[team].borrowed() - before[team].borrowed()) / 10);
        println!("{phase:>36} {:>10} {:>10} {:>10}  {borrowed:?}", used[0], used[1], used[2]);
    }

    // The parent is the limit of all: the refusal names it.
    let batch = tree.node("batch").ok_or("no such team")?;
    while let Ok(()) = batch.try_acquire() {}
    if let Err(refused) = batch.try_acquire() {
        println!("batch is {refused}");
    }

    tree.set_shares([("research", Share::percent(30)), ("batch", Share::percent(40))])?;
    if let Err(error) = tree.set_shares([("support", Share::percent(31))]) {
        println!("not changed: {error}");
    }
    Ok(())
}
