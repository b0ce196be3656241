//! The tries of one call.

/// Counts what one call has tried, through all layers that retry it.
///
/// It is made where the call begins and handed down by `&mut`. So the outer layer sees what the inner one has tried, and a
/// call with at most two retries makes at most two, not eight, however many layers may retry it.
#[derive(PartialEq, Eq, Debug, Default)]
pub struct Tries {
    retries: u32,
    succeeded: bool,
}

impl Tries {
    /// A call that has not been sent yet.
    pub const fn new() -> Self {
        Self { retries: 0, succeeded: false }
    }

    /// Retries that were allowed to the call so far.
    pub const fn retries(&self) -> u32 {
        self.retries
    }

    pub(super) fn count_retry(&mut self) {
        self.retries = self.retries.saturating_add(1);
    }

    /// Notes its success. Whether that is new.
    pub(super) fn count_success(&mut self) -> bool {
        !std::mem::replace(&mut self.succeeded, true)
    }
}
