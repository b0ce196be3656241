//! `--redis` in a program that was built without it.

use super::lane::Lane;
use crate::args::{Limit, ReplayArgs};
use crate::failure::Failure;
use crate::place::{Place, unreachable};
use crate::trace::Arrival;

/// There is none.
pub(crate) enum InStore {}

impl InStore {
    pub(super) fn open(_: &Place, _: &ReplayArgs, _: &[Limit]) -> Result<(Self, Vec<Lane>), Failure> {
        Err(unreachable())
    }

    pub(super) fn name(&self) -> &str {
        match *self {}
    }

    pub(super) fn offer(&self, _: &mut [Lane], _: Arrival) -> Result<(), Failure> {
        match *self {}
    }
}
