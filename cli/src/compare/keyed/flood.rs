//! A flood: keys that come once and never again, against a limiter whose keys take an hour to be full again.
//!
//! Each flood runs in a process of its own, so that the memory it takes can be told from what others left behind: the
//! program starts itself with the hidden command `flood`. Memory is what the process grew by, as the kernel tells it.

use std::process::{Command, Stdio};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tollgate::Quota;
use tollgate_bench::keyed::keys::key;
use tollgate_bench::rounds::Lap;
use tollgate_bench::team::Team;

use super::field::{Entry, FIELD};
use crate::args::FloodArgs;
use crate::failure::Failure;
use crate::output::Destination;

/// What a flood gave.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Flood {
    /// Wall time over the decisions of all threads.
    pub(super) ns_per_op: f64,
    /// Keys that came, each once.
    pub(super) keys: u64,
    pub(super) admitted: u64,
    /// Keys known at the end; all that came, of a limiter that forgets none.
    pub(super) keys_live: u64,
    /// What the process grew by; nothing where the system does not tell.
    pub(super) memory_bytes: Option<u64>,
    pub(super) memory_bytes_at_a_tenth: Option<u64>,
    /// Admissions of a key that was drained before the flood and asked again after each tenth of it.
    pub(super) victim_admitted: u64,
}

/// Parts of a flood.
const PARTS: usize = 10;

impl Flood {
    /// One flood in a process of its own.
    pub(super) fn of(entry: &Entry, threads: usize, keys: usize) -> Result<Self, Failure> {
        let failed = |what: String| Failure::Output(format!("the flood of {}: {what}", entry.name));
        let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
        let (threads, keys) = (threads.to_string(), keys.to_string());
        let arguments = ["flood", "--limiter", entry.name, "--threads", &threads, "--keys", &keys];
        let output =
            Command::new(program).args(arguments).stdin(Stdio::null()).stderr(Stdio::inherit()).output();
        let output = output.map_err(|error| failed(error.to_string()))?;
        if !output.status.success() {
            return Err(failed(output.status.to_string()));
        }
        serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))
    }

    /// One flood in this process. There is room for a tenth of the keys where memory is bounded.
    fn here(entry: &Entry, threads: usize, keys: usize) -> Self {
        let victim = key(keys as u64);
        // What is not the limiter's is there before the first look at the memory.
        let keys: Vec<u64> = (0..keys as u64).map(key).collect();
        let team = Team::new(threads);
        team.window(|_| Lap::default());
        let before = resident_bytes();
        let growth = || Some(resident_bytes()?.saturating_sub(before?));

        let limiter = (entry.build)(one_an_hour(), (keys.len() / PARTS).max(1));
        limiter.answer(&[victim]);
        let (mut nanos, mut admitted, mut victim_admitted) = (0, 0, 0);
        let mut memory_bytes_at_a_tenth = None;
        for (index, part) in keys.chunks(keys.len().div_ceil(PARTS)).enumerate() {
            let own = |thread| part.chunks(part.len().div_ceil(threads)).nth(thread).unwrap_or_default();
            let work = |thread| Lap::of(own(thread).len() as u64, || limiter.answer(own(thread)));
            let window = team.window(work);
            nanos += window.nanos;
            admitted += window.admitted();
            victim_admitted += limiter.answer(&[victim]);
            if index == 0 {
                memory_bytes_at_a_tenth = growth();
            }
        }
        Self {
            ns_per_op: nanos as f64 / keys.len() as f64,
            keys: keys.len() as u64,
            admitted,
            memory_bytes: growth(),
            memory_bytes_at_a_tenth,
            keys_live: limiter.live().map_or(keys.len() as u64 + 1, |live| live as u64),
            victim_admitted,
        }
    }

    /// Of what the process grew by.
    pub(super) fn bytes_a_live_key(&self) -> Option<f64> {
        Some(self.memory_bytes? as f64 / self.keys_live.max(1) as f64)
    }
}

/// The hidden command: one flood, told as JSON.
pub(crate) fn run_here(args: &FloodArgs) -> Result<(), Failure> {
    let entry = FIELD.iter().find(|entry| entry.name == args.limiter);
    let entry =
        entry.ok_or_else(|| Failure::Input(format!("no keyed limiter is named {:?}", args.limiter)))?;
    let flood = Flood::here(entry, args.threads.into(), args.keys);
    let text = serde_json::to_string(&flood).map_err(|error| Failure::Output(format!("JSON: {error}")))?;
    Destination::Stdout.write(&(text + "\n"))
}

fn one_an_hour() -> Quota {
    Quota::with_burst(1, Duration::from_secs(3600), 1).expect("a rate and a capacity")
}

/// Bytes of this process in memory.
fn resident_bytes() -> Option<u64> {
    let told = std::fs::read_to_string("/proc/self/smaps_rollup").ok()?;
    let line = told.lines().find_map(|line| line.strip_prefix("Rss:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::super::field::names;
    use super::*;

    fn flood(name: &str, keys: usize) -> Flood {
        let entry = FIELD.iter().find(|entry| entry.name == name).unwrap();
        Flood::here(entry, 3, keys)
    }

    #[test]
    fn every_limiter_withstands_a_flood() {
        for name in names() {
            let flood = flood(name, 10_007);
            assert_eq!((flood.keys, flood.victim_admitted), (10_007, 0), "{name}");
            if !name.starts_with("tollgate/") {
                assert_eq!((flood.admitted, flood.keys_live), (10_007, 10_008), "{name}");
            }
        }
    }

    #[test]
    fn ours_keep_to_their_room() {
        let keyed = flood("tollgate/keyed", 10_000);
        assert_eq!(
            (keyed.keys_live, keyed.admitted),
            (1_000, 999 + 1),
            "one newcomer is admitted by all others' bucket"
        );
        let table = flood("tollgate/table", 10_000);
        assert!(table.keys_live <= 1_024 && table.admitted >= table.keys_live, "{table:?}");
    }

    #[test]
    fn the_kernel_tells_what_the_process_takes() {
        if cfg!(target_os = "linux") {
            let before = resident_bytes().unwrap();
            let held = std::hint::black_box(vec![1_u8; 64 << 20]);
            assert!(resident_bytes().unwrap() >= before + (48 << 20), "{} bytes are held", held.len());
        }
    }
}
