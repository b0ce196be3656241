//! Live change of a class's quota.
//!
//! Shard by shard: alone in the shard, the clock is read, the words of the class are counted anew, and its rules are
//! changed with them. A call holds its shard's lock from the look-up to the end of its decision, so it comes before all of
//! that or after it. What it brings from before is its reading, and that the hold refuses.
//!
//! A key that is not known stands for a bucket that was full when it was forgotten. A change makes of that bucket what it
//! makes of others; the class remembers what, for the keys that are inserted after it.

use std::hash::{BuildHasher, Hash};

use super::Keyed;
use super::rules::{Class, LINGER_NANOS, Rules};
use crate::clock::Clock;
use crate::gcra::Gcra;
use crate::held::Held;
use crate::keyed::KeyedError;
use crate::nanos::Nanos;
use crate::quota::Quota;
use crate::sync::lock;
use crate::word::Word;

/// What is to become of a class.
#[derive(Clone, Copy)]
pub(super) struct Change {
    pub(super) class: u32,
    quota: Quota,
    gcra: Gcra,
    held: Held,
}

impl<K: Hash + Eq, C: Clock, S: BuildHasher> Keyed<K, C, S> {
    /// Changes rate and capacity of a class, both as the quota says, from now on, while any number of threads ask. What
    /// happens to the tokens that its keys hold is the caller's choice, [`Held`]; debts and pauses stay.
    ///
    /// The same rate and capacity as before change nothing at all. Changes by several threads take turns. The keys of one
    /// shard, a sixteenth, change at once, and the shards one after another; [`quota`](Self::quota) tells the new one when
    /// all have. The bucket that newcomers without room share ([`Overflow::Share`](crate::keyed::Overflow::Share)) keeps
    /// its own quota for life.
    ///
    /// ```
    /// use tollgate::adjust::Held;
    /// use tollgate::keyed::Keyed;
    /// use tollgate::quota;
    ///
    /// let tenants: Keyed<String> = Keyed::new(quota!("1/h burst 100"))?;
    /// assert!(tenants.try_acquire_n("acme", 60).is_ok());
    /// tenants.adjust(0, quota!("1/h burst 50"), Held::Fraction)?;
    /// assert_eq!(tenants.peek("acme").map(|level| level.available()), Some(20));
    /// // Of a key that is not known the full bucket is kept full by `Fraction` and `Deficit`; by `Tokens`, as many tokens.
    /// tenants.adjust(0, quota!("1/h burst 80"), Held::Tokens)?;
    /// assert!(tenants.try_acquire_n("initech", 51).is_err());
    /// assert!(tenants.try_acquire_n("initech", 50).is_ok());
    /// # Ok::<(), tollgate::keyed::KeyedError>(())
    /// ```
    ///
    /// # Keys that are not known
    ///
    /// They count as full buckets, and change like the others. So any schedule of sweeping decides as none at all would,
    /// also across changes: under [`Held::Tokens`] a larger capacity is not there at once for a key that is first seen after
    /// the change, but when the new rate has filled it since the change.
    ///
    /// # The bound
    ///
    /// For each key, in every interval of the clock, no more is admitted than the capacity at its beginning, plus what the
    /// rate in force in the key's shard at each moment issues in it, `B(s) + ∫ r dt`; and, for [`Held::Fraction`] and
    /// [`Held::Deficit`], plus what each change in the interval makes the capacity larger by. (Quotas on the binary scale add
    /// less than a unit each, see [`Bucket`](crate::Bucket).) The moment of a change is a reading that is taken alone in
    /// the shard. Nothing is admitted at an older one: such a call sees a pause that ends at the change, and neither
    /// [`resume`](Self::resume) nor forgetting the key ends that.
    ///
    /// # Cost
    ///
    /// Calls pay nothing for it: rules and words of a shard lie under one lock, which they take anyway. A change locks
    /// each shard for as long as it counts its keys anew, and calls for those keys wait meanwhile. Then it puts the roll of
    /// all keys in order. Together that took 12 to 130 ns a key with a million keys (AMD EPYC, two cores, calm and crowded):
    /// a shard of 60 000 keys is locked for a millisecond or for some. It needs no memory, and leaves none behind. The clock
    /// is read under a shard's lock, so it must not call the limiter.
    ///
    /// # Sweeping
    ///
    /// A key is forgotten only while its bucket is full by the rules of its shard at that moment, and a new key's would be.
    /// One that fills sooner by the change is noticed within the time that it takes to fill one under the new quota, at
    /// least a second, as after a refund; if it was inserted just beside the change, under the old.
    ///
    /// # Errors
    ///
    /// [`KeyedError::NoSuchClass`], or [`KeyedError::InitialFill`] for a quota that does not start full. Nothing is changed.
    pub fn adjust(&self, class: usize, quota: Quota, held: Held) -> Result<(), KeyedError> {
        self.change(class, quota, held, || self.clock.now_ordered())
    }

    /// [`adjust`](Self::adjust) at a reading of the limiter's clock, which should be no older than any that it has been
    /// asked with: for those calls the time between the two has counted at the old rate, and will count at the new one
    /// too. A reading older than the last change of the class counts as that one; until a later one than now nothing is
    /// admitted.
    ///
    /// # Errors
    ///
    /// As [`adjust`](Self::adjust).
    pub fn adjust_at(&self, class: usize, quota: Quota, held: Held, now: Nanos) -> Result<(), KeyedError> {
        self.change(class, quota, held, || now)
    }

    fn change(
        &self,
        class: usize,
        quota: Quota,
        held: Held,
        now: impl Fn() -> Nanos,
    ) -> Result<(), KeyedError> {
        KeyedError::unless_full(&quota)?;
        let existing = u32::try_from(class).ok().filter(|class| *class <= self.last_class);
        let class = existing.ok_or(KeyedError::NoSuchClass { class, last: self.last_class })?;
        let change = Change { class, quota, gcra: Gcra::new(&quota), held };
        let _alone = lock(&self.changes);
        if let Some(last) = self.shards.change(&change, || now().as_u64()) {
            let to_fill = change.gcra.fill_nanos().max(LINGER_NANOS);
            self.roll.look_by(last.saturating_add(to_fill));
        }
        Ok(())
    }
}

impl Change {
    /// Makes the change in one shard, of whose class these are the words, and tells the reading at which; nothing if it
    /// has been made.
    pub(super) fn make<'a>(
        &self,
        rules: &mut Rules,
        forgotten_at: u64,
        words: impl Iterator<Item = &'a mut Word>,
        now: impl FnOnce() -> u64,
    ) -> Option<u64> {
        let class = rules.class_mut(self.class);
        let old = class.gcra;
        if old == self.gcra {
            return None;
        }
        let now = now().max(class.since);
        let carried = |arrival| self.held.carried(&old, &self.gcra, arrival, now);
        for word in words {
            *word = Word::holding_from(carried(word.arrival()), word.hold().max(now));
        }
        let unknown = carried(class.unknown(forgotten_at));
        *class = Class { gcra: self.gcra, quota: self.quota, since: now, unknown };
        Some(now)
    }
}
