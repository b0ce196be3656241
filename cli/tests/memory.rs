//! The memory that `tollgate replay --key` tells, against what the allocator counts for the same keys.

use std::fmt::Write;
use std::process::Command;

use tollgate::keyed::Keyed;
use tollgate::{Manual, Nanos};
use tollgate_bench::keyed::heap::{Counting, counted, live};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn key(number: u32) -> String {
    format!("192.0.{}.{}", number / 256, number % 256)
}

/// Bytes that the limiter holds for so many keys.
fn counted_bytes(keys: u32) -> f64 {
    let bytes = counted(|| {
        let limiter = Keyed::<String>::builder("1/h".parse().unwrap()).clock(Manual::new()).build().unwrap();
        let admitted = (0..keys).filter(|&number| limiter.try_acquire_at(&key(number), Nanos::ZERO).is_ok());
        assert_eq!(admitted.count(), keys as usize);
        live()
    });
    bytes as f64
}

/// What a replay tells of as many.
fn told_bytes(keys: u32) -> f64 {
    let mut text = "t,client\n".to_owned();
    (0..keys).for_each(|number| writeln!(text, "0,{}", key(number)).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("t.csv");
    std::fs::write(&file, text).unwrap();
    let mut program = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    let args = ["--key", "client", "--limit", "1/h", "--json", "-"];
    let output = program.arg("replay").arg(file).args(args).output().unwrap();
    let outcomes: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    outcomes[0]["memory_bytes"].as_f64().unwrap()
}

/// An index grows by doubling, so what a key takes of it depends on how many there are.
#[test]
fn what_is_told_is_near_what_is_counted() {
    for keys in [20_000, 30_000, 45_000, 60_000] {
        let (told, counted) = (told_bytes(keys), counted_bytes(keys));
        let ratio = told / counted;
        println!("{keys} keys: {told} bytes told, {counted} counted, {:.1} a key", counted / f64::from(keys));
        assert!((0.7..1.4).contains(&ratio), "{keys} keys: {told} bytes told, {counted} counted");
    }
}
