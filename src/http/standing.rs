//! What is left of a limit.

use std::time::Duration;

use super::policy::Policy;

/// How a limit stands at one moment: what is left, when there is more, and when all is back.
///
/// [`Policy::at`] makes it from a look into a bucket, [`Policy::by`] from one at a limit by windows, and
/// [`new`](Self::new) from figures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing<'p> {
    policy: &'p Policy,
    left: u64,
    next: Duration,
    reset: Duration,
    key: Option<&'p [u8]>,
}

impl<'p> Standing<'p> {
    /// `left` is left of the policy's quota, and all of it is back after `reset`.
    pub fn new(policy: &'p Policy, left: u64, reset: Duration) -> Self {
        // More than the policy allows would be a promise of it.
        Self { policy, left: left.min(policy.quota()), next: reset, reset, key: None }
    }

    /// There is more than now after `next`; without it, when all is back.
    #[must_use]
    pub fn with_next(self, next: Duration) -> Self {
        Self { next, ..self }
    }

    /// Whose share of the quota it is (`pk`): fields name it beside the policy. Never the text of an API key;
    /// a hash of it will do.
    #[must_use]
    pub fn of_partition(self, key: &'p [u8]) -> Self {
        Self { key: Some(key), ..self }
    }

    /// The rule.
    pub fn policy(&self) -> &'p Policy {
        self.policy
    }

    /// What is left, in whole units.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// When there is more.
    pub fn next(&self) -> Duration {
        self.next
    }

    /// When all is back.
    pub fn reset(&self) -> Duration {
        self.reset
    }

    pub(super) fn key(&self) -> Option<&'p [u8]> {
        self.key
    }

    /// Whether less of it is left, as a share of its quota, than of the other.
    pub(super) fn is_closer_than(&self, other: &Self) -> bool {
        let share = |of: &Self, over: &Self| u128::from(of.left) * u128::from(over.policy.quota());
        share(self, other) < share(other, self)
    }
}
