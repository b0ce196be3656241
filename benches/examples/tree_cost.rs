//! What a decision in a tree costs, by how many nodes stand beside the one that asks:
//! `cargo run --release -p tollgate-bench --example tree_cost`.
//!
//! The least of many short runs, so that what else the machine does hardly counts. Refusals work out their wait.

use std::hint::black_box;
use std::time::{Duration, Instant};

use tollgate::budget::tree::{Share, Tree};
use tollgate::{Bucket, Quota};

const CALLS: u32 = 1000;
const RUNS: u32 = 2000;

fn least(name: &str, mut call: impl FnMut()) {
    let run = |_| {
        let start = Instant::now();
        for _ in 0..CALLS {
            call();
        }
        start.elapsed()
    };
    let least = (0..RUNS).map(run).min().unwrap_or_default();
    println!("{name:<32} {:>8.1} ns", least.as_nanos() as f64 / f64::from(CALLS));
}

/// So many teams, of which the first has one member.
fn tree(quota: Quota, teams: u32, burst: u64) -> Tree {
    let tree = (0..teams).fold(Tree::builder(quota), |tree, team| {
        tree.node(&format!("{team}"), Share::of(1, teams).burst(burst))
    });
    tree.node("0/member", Share::percent(50).burst(1)).build().expect("the shares fit")
}

fn main() {
    let quota = |seconds, burst| {
        let period = Duration::from_secs(seconds);
        Quota::with_burst(1_000_000_000, period, burst).expect("a quota that can be represented")
    };
    // More than is asked for, and a token every quarter of an hour.
    let (plenty, few) = (quota(1, 1 << 40), quota(1_000_000_000_000, 4096));
    let bucket = Bucket::new(plenty);
    least("bucket, admitted", || assert!(black_box(&bucket).try_acquire().is_ok()));
    for teams in [3, 30, 300] {
        let rich = tree(plenty, teams, 1 << 30);
        let owner = rich.node("1").expect("there");
        least(&format!("{teams} teams, its own"), || assert!(black_box(owner).try_acquire().is_ok()));
        let member = rich.node("0/member").expect("there");
        least(&format!("{teams} teams, a member's own"), || {
            assert!(black_box(member).try_acquire().is_ok());
        });
        let pooled = tree(plenty, teams, 2);
        let borrower = pooled.node("1").expect("there");
        least(&format!("{teams} teams, a loan"), || assert!(black_box(borrower).try_acquire_n(64).is_ok()));
        let poor = tree(few, teams, 2);
        let refused = poor.node("1").expect("there");
        while refused.try_acquire().is_ok() {}
        least(&format!("{teams} teams, refused"), || assert!(black_box(refused).try_acquire_n(2).is_err()));
    }
}
