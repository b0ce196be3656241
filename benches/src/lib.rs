//! What one decision costs, measured so that the figures of one run can be compared.
//!
//! The library holds everything a benchmark needs and `tollgate compare` reuses: the [`floors`] below which nothing that
//! reads a clock and writes a word can go, lock-based [`baselines`] written with the same care as the bucket, the
//! [`peers`], and one door, [`Decide`], behind which they all stand. [`field::visit`] walks the whole field with the type
//! of each contender known, so every loop is monomorphised and inlined.
//!
//! How the numbers are made comparable is told in `README.md`; in the code it is spread like this:
//!
//! * [`loops`]: one loop for each way of calling, the limiter made opaque on every turn;
//! * [`rows`]: a row for each way of calling, [`rounds`]: rows interleaved in rounds, samples in which the kernel preempted the thread thrown away;
//! * [`team`]: the same for several threads, pinned, the slowest counts, each window tagged with the distance of the cores;
//! * [`bout`]: what a team does to one limiter in a window, and [`timed`]: each call timed by itself;
//! * [`start`]: how cargo started a benchmark;
//! * [`scenario`]: the quotas, and the audit of what was admitted against `B + r*t`.

pub mod baselines;
pub mod bout;
pub mod contest;
mod cpu;
pub mod decide;
pub mod field;
pub mod floors;
pub mod keyed;
pub mod loops;
pub mod machine;
pub mod ours;
pub mod peers;
pub mod rounds;
pub mod rows;
pub mod scenario;
pub mod sharded;
pub mod solo;
pub mod start;
pub mod stats;
pub mod team;
pub mod thread;
pub mod timed;

pub use cpu::{lfence, opaque, pin, tsc};
pub use decide::{Contender, Decide, Waits};
pub use scenario::{Audit, Scenario};
