//! Where one who waits finds the answer.

use std::task::{Context, Poll, Waker};

use super::NoPermit;
use crate::sync::{Mutex, lock};

/// What becomes of one who waits.
pub(super) type Answer = Result<(), NoPermit>;

/// Between one who waits and who hands over. It is settled once, under the lock of the line, as it leaves the line.
pub(super) struct Slot(Mutex<State>);

enum State {
    /// Not settled; whom to wake when it is.
    Open(Option<Waker>),
    Settled(Answer),
}

impl Slot {
    pub(super) fn new() -> Self {
        Self(Mutex::new(State::Open(None)))
    }

    /// Settles it, and tells whom to wake, which the caller does without any lock.
    #[must_use = "someone may have to be woken"]
    pub(super) fn settle(&self, answer: Answer) -> Option<Waker> {
        let mut state = lock(&self.0);
        match std::mem::replace(&mut *state, State::Settled(answer)) {
            State::Open(waker) => waker,
            State::Settled(_) => None,
        }
    }

    /// The answer, if there is one.
    pub(super) fn answer(&self) -> Option<Answer> {
        match *lock(&self.0) {
            State::Open(_) => None,
            State::Settled(answer) => Some(answer),
        }
    }

    /// The answer; or else the task of `context` is the one to wake.
    pub(super) fn poll(&self, context: &Context<'_>) -> Poll<Answer> {
        let mut state = lock(&self.0);
        let unneeded = match &mut *state {
            State::Settled(answer) => return Poll::Ready(*answer),
            State::Open(Some(waker)) if waker.will_wake(context.waker()) => None,
            State::Open(waker) => waker.replace(context.waker().clone()),
        };
        // Dropping a waker may drop a task, and with it a permit, whose release may come by here.
        drop(state);
        drop(unneeded);
        Poll::Pending
    }
}
