//! A charge that can be taken back.

use core::fmt;

use crate::bucket::Bucket;
use crate::clock::Clock;
use crate::nanos::Nanos;
use crate::word::Lowered;

/// Tokens taken from a bucket, with what it takes to give them back at once.
///
/// Dropping it keeps the charge. [`undo`](Self::undo) gives the tokens back by the prompt rule of `GUARANTEES` section
/// 6: all of them if that is soon and nothing else was given back meanwhile, otherwise fewer, and never so many that
/// the bucket holds more than if the charge had not been made. If other threads give tokens back at the same moment, again
/// and again, it keeps the charge. It is for stepping back from a joint admission, not for settling a reservation much
/// later.
///
/// ```
/// use tollgate::{Bucket, Manual, quota};
///
/// let (requests, tokens) = (quota!("10/s"), quota!("2/s"));
/// let (requests, tokens) = (Bucket::with_clock(requests, Manual::new()), Bucket::with_clock(tokens, Manual::new()));
/// let first = requests.try_charge(1)?;
/// if tokens.try_charge(3).is_err() {
///     first.undo();
/// }
/// assert_eq!(requests.peek().available(), 10);
/// # Ok::<(), tollgate::Denied>(())
/// ```
pub struct Charge<'a, C: Clock> {
    pub(super) bucket: &'a Bucket<C>,
    pub(super) units: u64,
    /// The word that the charge wrote.
    pub(super) written: u64,
    /// What had been given back before it.
    pub(super) lowered: Lowered,
}

impl<C: Clock> Charge<'_, C> {
    /// Gives the tokens back, as many as are still due.
    pub fn undo(self) {
        // The clock is read anew for each attempt, after the word: a reading older than one that an admission in
        // between used would overlook refill that has made good a part of the charge.
        self.give_back(|| self.bucket.clock.now_ordered());
    }

    /// Gives the tokens back as of the reading `now`, which must be no older than any that the bucket has been asked
    /// with since the charge.
    pub fn undo_at(self, now: Nanos) {
        self.give_back(|| now);
    }

    fn give_back(&self, now: impl Fn() -> Nanos) {
        let gcra = &self.bucket.gcra;
        self.bucket.word.undo(|arrival, lowered| {
            let issued = gcra.issued(now().as_u64());
            gcra.undo(arrival, issued, self.units, self.written, self.lowered.until(lowered))
        });
    }
}

impl<C: Clock> fmt::Debug for Charge<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Charge").field("tokens", &(self.units / self.bucket.gcra.one.units)).finish()
    }
}
