//! Pausing from beside.

use std::sync::{Arc, Weak};

use super::{Root, Shared};
use crate::clock::Clock;
use crate::nanos::Nanos;

/// Pauses an allowance, if it still is, and does not keep it: for what fills its root in the background.
pub(crate) struct Pauser<C: Clock, R: Root<C>>(Weak<Shared<C, R>>);

impl<C: Clock, R: Root<C>> Pauser<C, R> {
    pub(super) fn new(shared: &Arc<Shared<C, R>>) -> Self {
        Self(Arc::downgrade(shared))
    }

    /// Until it is resumed.
    pub(crate) fn pause(&self) {
        if let Some(shared) = self.0.upgrade() {
            shared.root.pause_until(Nanos::MAX);
            shared.advance();
        }
    }

    /// Ends the pause if there is leave to, and while it is held. It is given back before the allowance, which may end here.
    pub(crate) fn resume_with<L>(&self, leave: impl FnOnce() -> Option<L>) {
        if let Some(shared) = self.0.upgrade()
            && let Some(_leave) = leave()
        {
            shared.root.resume();
        }
    }
}
