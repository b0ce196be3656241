//! The rules by which the words of one shard count.
//!
//! Each shard has rules of its own, beside its entries and under the same lock. So whoever holds the lock has words and
//! rules that fit, and a change of a quota (`change`) needs nothing of its callers.

use crate::bucket::Ruled;
use crate::decision::Denied;
use crate::gcra::Gcra;
use crate::nanos::Nanos;
use crate::quota::Quota;
use crate::word::Word;

/// How long a key is kept after its bucket has become full while nobody wants its room: a key that is used all the time
/// should not be inserted all the time, however soon its bucket is full.
pub(super) const LINGER_NANOS: u64 = 1_000_000_000;

/// The classes, as they are in one shard. Aligned so that what a decision reads of the first lies on two cache lines.
#[derive(Clone)]
#[repr(align(64))]
pub(super) struct Rules {
    /// Class 0, to which most keys belong.
    first: Class,
    /// The other classes, from 1.
    others: Box<[Class]>,
}

/// The quota of a class, and what its last change has left behind.
#[derive(Clone, Copy)]
pub(super) struct Class {
    pub(super) gcra: Gcra,
    pub(super) quota: Quota,
    /// The reading of the last change. Nothing is admitted at one before it.
    pub(super) since: u64,
    /// What the word of a key that nobody knows has become by the last change. No new key begins with a lower one, and
    /// none is forgotten before that stands for a full bucket.
    pub(super) unknown: u64,
}

/// The word of a key, and the class by which it counts.
#[derive(Clone, Copy)]
pub(super) struct Kept<'a> {
    pub(super) class: &'a Class,
    pub(super) word: &'a Word,
}

impl Rules {
    pub(super) fn new(first: Quota, others: &[Quota]) -> Self {
        Self { first: Class::new(first), others: others.iter().copied().map(Class::new).collect() }
    }

    /// The first one by a branch, so that nothing has to wait for the entry to tell its class.
    #[inline(always)]
    pub(super) fn class(&self, class: u32) -> &Class {
        if class == 0 { &self.first } else { &self.others[class as usize - 1] }
    }

    #[cfg(feature = "adjust")]
    pub(super) fn class_mut(&mut self, class: u32) -> &mut Class {
        if class == 0 { &mut self.first } else { &mut self.others[class as usize - 1] }
    }
}

impl Class {
    fn new(quota: Quota) -> Self {
        Self { gcra: Gcra::new(&quota), quota, since: 0, unknown: 0 }
    }

    /// The arrival point of a key that is not known, if `forgotten_at` is the last reading at which one has been
    /// forgotten: it may be that one, whose bucket was full then.
    pub(super) fn unknown(&self, forgotten_at: u64) -> u64 {
        self.gcra.issued(forgotten_at).max(self.unknown)
    }

    /// The word of a key that is made known.
    pub(super) fn new_word(&self, forgotten_at: u64) -> Word {
        Word::holding_from(self.unknown(forgotten_at), self.since)
    }
}

impl Kept<'_> {
    #[inline(always)]
    pub(super) fn admit(self, cost: u64, now: Nanos) -> Result<(), Denied> {
        let ruled = self.ruled();
        ruled.admit(&ruled.gcra.cost(cost)?, now).map(drop)
    }

    pub(super) fn charge(self, cost: u64, now: Nanos) {
        let ruled = self.ruled();
        ruled.charge(ruled.gcra.units(cost), now);
    }

    /// Ends any pause.
    pub(super) fn resume(self) {
        self.word.hold_from(self.class.since);
    }

    /// When the bucket is full and no longer paused, and that of a new key would be.
    pub(super) fn due(self) -> u64 {
        let Self { class, word } = self;
        class.gcra.full_at(word.arrival().max(class.unknown)).max(word.hold())
    }

    /// When to look at the key again: when it is due; but debts may be refunded and pauses ended, so no later than in
    /// the time that it takes to fill a bucket.
    pub(super) fn look_at(self, now: Nanos) -> u64 {
        let nanos = self.class.gcra.fill_nanos().max(LINGER_NANOS);
        self.due().min(now.as_u64().saturating_add(nanos))
    }

    #[inline(always)]
    pub(super) fn ruled(&self) -> Ruled<'_> {
        Ruled { gcra: &self.class.gcra, word: self.word }
    }
}
