//! The queue's one timer.

use crate::nanos::Nanos;

/// What the timer is set for, and what it should be set for. One thread at a time sets it, outside the lock.
pub(super) struct Alarm<S> {
    /// The timer, unless it is being set.
    sleep: Option<S>,
    /// When it will ring; `None` once it has.
    set_for: Option<Nanos>,
    is_being_set: bool,
}

/// What is to be done about the timer.
pub(super) enum Setting<S> {
    /// It is as it should be.
    Done,
    /// The old one is to be dropped, and one for that reading made, if any.
    Replace(Option<S>, Option<Nanos>),
}

impl<S> Alarm<S> {
    pub(super) fn new() -> Self {
        Self { sleep: None, set_for: None, is_being_set: false }
    }

    /// Whether the caller has to set it to `wanted`; nobody else does so before [`next`](Self::next) tells it that it is
    /// done.
    pub(super) fn claim(&mut self, wanted: Option<Nanos>) -> bool {
        if self.is_being_set || self.set_for == wanted {
            return false;
        }
        self.is_being_set = true;
        true
    }

    pub(super) fn next(&mut self, wanted: Option<Nanos>) -> Setting<S> {
        if self.set_for == wanted {
            self.is_being_set = false;
            return Setting::Done;
        }
        self.set_for = wanted;
        Setting::Replace(self.sleep.take(), wanted)
    }

    pub(super) fn keep(&mut self, sleep: S) {
        self.sleep = Some(sleep);
    }

    /// It has rung, early or not.
    pub(super) fn rang(&mut self) {
        self.set_for = None;
    }

    /// Setting it failed.
    pub(super) fn abandon(&mut self) {
        self.set_for = None;
        self.is_being_set = false;
    }
}
