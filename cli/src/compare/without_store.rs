//! `--redis` in a program that was built without it.

use crate::args::CompareArgs;
use crate::failure::Failure;
use crate::place::{Place, unreachable};

pub(super) fn run(_: &CompareArgs, _: &Place) -> Result<(), Failure> {
    Err(unreachable())
}

/// The names that `--limiter` takes.
pub(super) fn limiters() -> [&'static str; 0] {
    []
}
