//! `inflight`: permits, waiting for them, limits that move, and rate and work in flight together.

mod adaptive;
mod gradient2;
mod joint;
mod model;
mod permits;
mod server;
mod stress;
mod task;
mod waiting;

pub(crate) use self::task::Task;
