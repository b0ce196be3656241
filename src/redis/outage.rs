//! What decides while the store does not answer.
//!
//! # Memory ordering
//!
//! What is `uncharged` is added to with `Release`, after the share has admitted it, and taken out with
//! `Acquire`, before the share's deficit is looked at: so the deficit that is looked at has all that was
//! taken out. Older, it would lack some of it, and the store would be charged too little. All else is
//! `Relaxed`: counts of events, by which nothing is decided, and a hint.

use core::time::Duration;

use super::circuit::{Breaker, Circuit, CircuitState, Round};
use super::error::StoreError;
use crate::bucket::Bucket;
use crate::clock::{Clock, Monotonic};
use crate::decision::Denied;
use crate::nanos::Nanos;
use crate::quota::{Fill, Quota, QuotaError};
use crate::sync::{AtomicU64, Mutex, Ordering, lock};
use crate::wait::Jitter;

/// What decides while the store does not answer: the owner's choice.
///
/// # The bound
///
/// * `Deny`: nothing is admitted, so the bound stays.
/// * `Admit`: there is none while the outage lasts. Nothing of it is charged afterwards.
/// * `Share`: one local bucket with an `n`th of the capacity `B`, rounded down, and an `n`th of the rate `r`.
///   It begins full, once, and is the same bucket in all outages: neither an outage nor its end fills it. So
///   no instance admits more than `B/n + (r/n)*t` by itself in any time `t`, however often the store comes
///   and goes. When the store answers again it is charged what the share has admitted and its refill has not
///   made good yet, whether the tokens are there or not. So the burst of an outage is paid for before the
///   store admits again, and its end is no fresh one: for `n` instances, store and shares together admit in
///   every interval of length `t` at most `B + r*t`, plus `(r/n)*o` for each time `o` in which an instance
///   was cut off, plus `B/n` for each that the store was not charged for before it last admitted something in
///   it. A charge whose answer was lost is made again, until one is heard; all such charges together leave
///   the store no deeper in debt than by `B`, if it was not before. The theory (section 19) has the proof.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outage {
    /// Refuse.
    Deny,
    /// Admit.
    Admit,
    /// Ask a local bucket with one share of so many.
    Share {
        /// The number of instances that share the limit, `n`.
        instances: u32,
    },
}

/// Who made a decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecidedBy {
    /// The store, now or when it lent what was spent.
    Store,
    /// The outage rule, since the store gave no answer.
    Fallback,
}

/// How it stands with the store, and what was decided without it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutageState {
    /// Whether the store is asked.
    pub circuit: CircuitState,
    /// For how long the circuit has been as it is.
    pub since: Duration,
    /// How long ago the first of the failures was that no answer has followed; `None` if the last call was
    /// answered.
    pub failing_for: Option<Duration>,
    /// Calls that the outage rule admitted.
    pub admitted: u64,
    /// Calls that the outage rule refused.
    pub refused: u64,
    /// Tokens that the share has admitted and the store has not been told of.
    pub uncharged: u64,
}

/// An outage rule at work.
#[derive(Debug)]
pub(super) struct Fallback<K: Clock = Monotonic> {
    rule: Outage,
    /// The share of the quota, with `Outage::Share`.
    share: Option<Bucket<K>>,
    /// The capacity of the whole, in tokens.
    whole: u64,
    breaker: Mutex<Breaker>,
    jitter: Jitter,
    clock: K,
    /// Whether the last call failed. It hints; what is decided by it is right either way.
    failing: AtomicU64,
    admitted: AtomicU64,
    refused: AtomicU64,
    /// Tokens admitted by the share since the store was last told.
    uncharged: AtomicU64,
}

/// A call of the store that may be made. Dropped without an outcome, it was given up.
#[must_use]
pub(super) struct Call<'a, K: Clock = Monotonic> {
    fallback: &'a Fallback<K>,
    sent: Option<Round>,
}

/// What the store is to be charged for the time in which it was not there. Dropped without a confirmation, it
/// stays due, and is told again: for a lost answer too often, which is the safe side, and is why it makes no
/// more debt than the [whole](Self::whole).
#[must_use]
pub(super) struct Owed<'a, K: Clock = Monotonic> {
    fallback: &'a Fallback<K>,
    admitted: u64,
    cost: u64,
}

impl Fallback {
    pub(super) fn new(rule: Outage, quota: Quota, circuit: Circuit) -> Result<Self, QuotaError> {
        Self::with_clock(rule, quota, circuit, Monotonic::new())
    }
}

impl<K: Clock + Clone> Fallback<K> {
    fn with_clock(rule: Outage, quota: Quota, circuit: Circuit, clock: K) -> Result<Self, QuotaError> {
        let share = match rule {
            Outage::Share { instances } => {
                Some(Bucket::with_clock(smallest_share(quota, instances)?, clock.clone()))
            }
            Outage::Deny | Outage::Admit => None,
        };
        Ok(Self {
            rule,
            share,
            whole: quota.capacity(),
            breaker: Mutex::new(Breaker::new(circuit, clock.now())),
            jitter: Jitter::new(),
            clock,
            failing: AtomicU64::new(0),
            admitted: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            uncharged: AtomicU64::new(0),
        })
    }
}

impl<K: Clock> Fallback<K> {
    /// Leave to ask the store, or why not.
    pub(super) fn ask(&self) -> Result<Call<'_, K>, StoreError> {
        let sent = lock(&self.breaker).ask(self.now());
        match sent {
            Ok(sent) => Ok(Call { fallback: self, sent: Some(sent) }),
            Err(retry_in) => Err(StoreError::NotAsked { retry_in }),
        }
    }

    /// Whether the last call failed.
    pub(super) fn is_failing(&self) -> bool {
        self.failing.load(Ordering::Relaxed) != 0
    }

    /// The decision in the store's place; nothing where that is to refuse, and the caller knows why.
    pub(super) fn decide(&self, cost: u64) -> Option<Result<(), Denied>> {
        let decision = match (&self.share, self.rule) {
            (Some(share), _) => Some(share.try_acquire_n(cost)),
            (None, Outage::Admit) => Some(Ok(())),
            (None, _) => None,
        };
        if matches!(decision, Some(Ok(()))) {
            self.admitted.fetch_add(1, Ordering::Relaxed);
            if self.share.is_some() {
                self.uncharged.fetch_add(cost, Ordering::Release);
            }
        } else {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        decision
    }

    /// What the store is owed, for whoever takes it upon himself to tell.
    pub(super) fn owed(&self) -> Option<Owed<'_, K>> {
        let share = self.share.as_ref()?;
        if self.uncharged.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let admitted = self.uncharged.swap(0, Ordering::Acquire);
        // Rounded up, for what is available is rounded down.
        let missing = share.quota().capacity() - share.peek().available();
        let owed = Owed { fallback: self, admitted, cost: admitted.min(missing) };
        if owed.cost == 0 {
            owed.charged();
            return None;
        }
        Some(owed)
    }

    pub(super) fn state(&self) -> OutageState {
        let now = self.now();
        let breaker = lock(&self.breaker);
        let ago = |then: Nanos| now.saturating_sub(then).as_duration();
        OutageState {
            circuit: breaker.state(now),
            since: ago(breaker.since()),
            failing_for: breaker.failing_since().map(ago),
            admitted: self.admitted.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
            uncharged: self.uncharged.load(Ordering::Relaxed),
        }
    }

    pub(super) fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn hint(&self, breaker: &Breaker) {
        self.failing.store(breaker.failing_since().is_some().into(), Ordering::Relaxed);
    }
}

impl<K: Clock> Call<'_, K> {
    pub(super) fn ended(self, is_answered: bool) {
        if is_answered {
            self.answered();
        } else {
            self.failed();
        }
    }

    fn answered(mut self) {
        let (now, mut breaker) = (self.fallback.now(), lock(&self.fallback.breaker));
        if let Some(sent) = self.sent.take() {
            breaker.answered(sent, now);
            self.fallback.hint(&breaker);
        }
    }

    fn failed(mut self) {
        let (now, mut breaker) = (self.fallback.now(), lock(&self.fallback.breaker));
        if let Some(sent) = self.sent.take() {
            // Half of it in any case, or many that get none would hammer.
            let spread = |backoff: Duration| backoff / 2 + self.fallback.jitter.up_to(backoff / 2);
            breaker.failed(sent, now, spread);
            self.fallback.hint(&breaker);
        }
    }
}

impl<K: Clock> Drop for Call<'_, K> {
    fn drop(&mut self) {
        if let Some(sent) = self.sent {
            lock(&self.fallback.breaker).abandoned(sent, self.fallback.now());
        }
    }
}

impl<K: Clock> Owed<'_, K> {
    /// In tokens, above zero.
    pub(super) fn cost(&self) -> u64 {
        self.cost
    }

    /// The debt that may be made by it, in tokens.
    pub(super) fn whole(&self) -> u64 {
        self.fallback.whole
    }

    /// The store has been told.
    pub(super) fn charged(mut self) {
        self.admitted = 0;
    }
}

impl<K: Clock> Drop for Owed<'_, K> {
    fn drop(&mut self) {
        self.fallback.uncharged.fetch_add(self.admitted, Ordering::Release);
    }
}

/// The last of so many [shares](Quota::split), than which no other is smaller: it is not known which of them
/// is one's own.
fn smallest_share(quota: Quota, shares: u32) -> Result<Quota, QuotaError> {
    let first = quota.split(shares)?.next().unwrap_or(quota);
    let (tokens, shares) = (quota.initial_tokens(), u64::from(shares));
    Ok(first.resized(quota.capacity() / shares, Fill::Tokens(tokens / shares)))
}

#[cfg(test)]
mod tests;
