//! An upstream whose limit steps down and up: how soon the rate is there, and what it is refused then.

use std::fs;
use std::path::Path;

use tollgate::{Quota, quota};

use super::picture::{Phase, Story};
use super::silent::{Kind, MS, S, Setup};

/// With every latency and seed.
fn phases(kind: Kind, base: Quota) -> Vec<Phase> {
    let mut phases = Vec::new();
    for latency in [50 * MS, 200 * MS] {
        for seed in 1..=3 {
            // So much is wanted that what is held back is asked for again within 4 ms.
            let setup = Setup { latency, seed, between: S / 250, ..Setup::down_and_up(kind) };
            phases.extend(Story::new(setup, base).phases());
        }
    }
    phases
}

fn mean(phases: &[Phase], of: impl Fn(&Phase) -> f64) -> f64 {
    phases.iter().map(of).sum::<f64>() / phases.len() as f64
}

/// Ten seconds, in tenths.
const IN_TIME: u64 = 100;

#[test]
fn it_is_there_within_ten_seconds() {
    for kind in [Kind::Bucket(10.0), Kind::Bucket(40.0)] {
        for phase in phases(kind, quota!("100/s burst 5")) {
            let is_there = phase.settled <= IN_TIME && phase.utilisation > 0.9 && phase.refused < 0.05;
            assert!(is_there, "{kind:?}: {phase:?}");
        }
    }
}

/// A guess that is half as much again as the limit at best.
#[test]
fn a_base_that_is_too_high_is_no_harm() {
    for phase in Story::of_the_docs().phases() {
        assert!(phase.settled <= IN_TIME, "{phase:?}");
    }
    for kind in [Kind::Bucket(10.0), Kind::Bucket(40.0)] {
        for phase in phases(kind, quota!("150/s burst 5")) {
            // Not all are within a quarter in time: what was saved up while the rate was low lets it rise once more.
            let is_there = phase.utilisation > 0.9 && phase.refused < 0.05;
            assert!(is_there, "{kind:?}: {phase:?}");
        }
    }
}

/// Upstreams that save up less than a second, or nothing: what they do not get to see in time is lost, also while the rate
/// comes back from an event; so less is used, but no more refused.
#[test]
fn strict_upstreams_refuse_little_too() {
    for (kind, base) in [
        (Kind::Bucket(1.0), quota!("100/s burst 1")),
        (Kind::Bucket(1.0), quota!("150/s burst 1")),
        (Kind::Windows(10), quota!("100/s burst 5")),
        (Kind::Windows(10), quota!("150/s burst 5")),
        (Kind::Windows(1), quota!("100/s burst 5")),
        (Kind::Windows(1), quota!("150/s burst 5")),
    ] {
        let phases = phases(kind, base);
        let (used, refused) =
            (mean(&phases, |phase| phase.utilisation), mean(&phases, |phase| phase.refused));
        assert!(used > 0.75 && refused < 0.03, "{kind:?}, {base}: {used} used, {refused} refused");
        if base.tokens() == 100 {
            assert!(phases.iter().all(|phase| phase.refused < 0.05), "{kind:?}: {phases:?}");
        }
    }
}

/// What `examples/adaptation.rs` writes.
#[test]
fn the_picture_is_of_today() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let story = Story::of_the_docs();
    let (picture, text) =
        (fs::read_to_string(docs.join("adaptation.svg")), fs::read_to_string(docs.join("adaptation.md")));
    assert!(picture.unwrap() == story.picture(), "run examples/adaptation.rs");
    let text = text.unwrap();
    for table in [story.table(), Story::others()] {
        assert!(text.contains(&table), "{table}");
    }
}
