//! A queue for work of different worth.

mod alarm;
mod desk;
mod entry;
mod ledger;
mod queued;
mod refused;
mod shared;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use self::entry::Entry;
pub use self::queued::Queued;
pub use self::refused::{Outcomes, Refused};

use self::desk::Desk;
use self::shared::Shared;
use crate::bucket::Bucket;
use crate::clock::Clock;
use crate::gcra::Gcra;
use crate::nanos::Nanos;
use crate::quota::Quota;
use crate::wait::timer::Timer;

/// Work of different worth that waits for one bucket: bounded, with classes and deadlines.
///
/// An entry is served when its turn comes and the tokens are there, or it is refused, at the first moment at which it
/// is certain that it cannot be served in time. Clones are the same queue.
///
#[cfg_attr(feature = "tokio", doc = "```")]
#[cfg_attr(not(feature = "tokio"), doc = "```ignore")]
/// use std::time::Duration;
/// use tollgate::wait::{Entry, Queue, TokioTimer};
/// use tollgate::{Bucket, quota};
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
/// # runtime.block_on(async {
/// // At most 2 s of waiting, so at most 2 s * 100/s = 200 places.
/// let queue = Queue::new(Bucket::new(quota!("100/s burst 10")), Duration::from_secs(2), TokioTimer);
/// assert_eq!(queue.depth(), 200);
///
/// queue.acquire(Entry::new(10)).await?;
/// // Of the third class, and of no use after 50 ms. It would have to wait for 100 ms.
/// let refused = queue.acquire(Entry::new(10).class(2).within(Duration::from_millis(50))).await;
/// println!("{}", refused.unwrap_err());
/// # Ok::<(), tollgate::wait::Refused>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # The order
///
/// There are eight classes, 0 the highest. While several of them wait they are served in proportion to `2^-class`: twice
/// as many tokens of one class as of the next. So class `k` is sure of at least `1 / 2^(k + 1)` of the tokens while it
/// waits, to within one entry, and a class that does not wait leaves its share to the others. With classes 0 to 3 all
/// waiting, of 15 tokens 8, 4, 2 and 1 go to them. Within a class the order is that of the first polls.
///
/// An entry gets its place in the order when it enters. Later ones of higher classes come in before it, but only until
/// what was served has made up for its class: the first of class `k`, with a cost of `c`, lets at most about `c * 2^(k - j)`
/// tokens of class `j` pass. Whose turn it is is never passed over because of its cost, so small costs do not starve a
/// large one. The rule is self-clocked fair queueing (Golestani, INFOCOM 1994).
///
/// # Bounds
///
/// *Depth*: places are for those who wait and for those who have been called and have not been polled since. When all
/// are taken, a newcomer whose turn would come before that of the last in the order takes its place, and that one is
/// refused; otherwise the newcomer is. So a flood of one class cannot shut another out.
///
/// *Wait*: nobody waits longer than the queue allows, whatever its own deadline is.
///
/// *Deadlines*: what can be served by when is known exactly from the bucket and the costs ahead. An entry that cannot be
/// served in time even if nobody else comes is refused at once, when it enters or later, when others come in before it;
/// and it learns when capacity is expected. It is not kept in the hope that others leave. An entry that is admitted is
/// never admitted after its deadline.
///
/// # Direct callers
///
/// Tokens are taken by [`bucket`](Self::bucket) for everybody: who asks it directly barges in. The queue notices that
/// when it next looks, at the latest when the next turn would have come. It does not notice what makes turns come
/// earlier, a refund or the end of a pause, before it looks: see [`refresh`](Self::refresh).
///
/// # Cost
///
/// One lock, held for a time logarithmic in the number of places, and never while a waker, the timer or the clock is
/// called. One timer for the queue. One wake-up for each entry that is served or refused while it waits; one more only
/// if somebody barged in. The timer's waker does the work of calling, so an entry whose task is busy or gone does not
/// hold up others. As wakers can be, it must be called without locks of the runtime's held; tokio's is.
///
/// A timer coarser than the refill costs nothing if the bucket holds what is issued between two of its ticks (tokio's
/// are a millisecond apart); a smaller bucket is full in between, and throughput is lost.
pub struct Queue<C, T: Timer> {
    shared: Arc<Shared<C, T>>,
    longest_wait: Nanos,
}

/// What becomes of those who wait when a queue is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// They are served as before.
    Drain,
    /// They are refused at once. Those who have been called already are still admitted.
    Refuse,
}

impl<C, T> Queue<C, T>
where
    C: Clock + Send + Sync + 'static,
    T: Timer + Send + Sync + 'static,
    T::Sleep: Send + 'static,
{
    /// A queue in which nobody waits longer than `longest_wait`, with as many places as the bucket's rate serves
    /// entries of one token in that time (at least one).
    pub fn new(bucket: impl Into<Arc<Bucket<C>>>, longest_wait: Duration, timer: T) -> Self {
        let bucket = bucket.into();
        let depth = served_in(&bucket.quota(), Nanos::from_duration(longest_wait));
        Self::with_depth(bucket, longest_wait, depth, timer)
    }

    /// The same with so many places, at least one: fewer where entries cost more than a token.
    pub fn with_depth(
        bucket: impl Into<Arc<Bucket<C>>>,
        longest_wait: Duration,
        depth: usize,
        timer: T,
    ) -> Self {
        let (bucket, longest_wait) = (bucket.into(), Nanos::from_duration(longest_wait));
        let desk = Desk::new(Gcra::new(&bucket.quota()), longest_wait, depth.max(1));
        Self { shared: Shared::new(bucket, timer, desk), longest_wait }
    }

    /// Waits until the entry is served, or refused.
    ///
    /// A deadline by [`within`](Entry::within) counts from this call; the place is taken at the first poll.
    ///
    /// # Errors
    ///
    /// At once, without taking a place, if it is certain now; otherwise as soon as it is: [`Refused`] tells the reason
    /// and when capacity is expected.
    ///
    /// # Cancel safety
    ///
    /// Tokens are taken in the poll that returns that the entry is admitted. Dropped before that, also after it has been
    /// called and before it was polled again, it takes nothing, its place is free at once, and the next one is called at
    /// the same moment if the tokens are there.
    ///
    /// # Fairness
    ///
    /// By class and then in the order of first polls: see [the order](Self#the-order).
    pub fn acquire(&self, entry: Entry) -> Queued<C, T> {
        Queued::new(Arc::clone(&self.shared), entry)
    }

    /// Takes no new entries. Those who wait are served or refused, by choice.
    pub fn close(&self, rest: Rest) {
        self.shared.change(|desk| desk.close(rest));
    }

    /// Whether it has been closed.
    pub fn is_closed(&self) -> bool {
        self.shared.look(Desk::is_closed)
    }

    /// Looks at the bucket again, after something that can have made turns come earlier: a refund, a reset, the end of
    /// a pause.
    pub fn refresh(&self) {
        self.shared.change(|_| ());
    }

    /// How many have a place: those who wait, and those who have been called and have not come yet.
    pub fn len(&self) -> usize {
        self.shared.look(Desk::len)
    }

    /// Whether nobody has a place.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many places there are.
    pub fn depth(&self) -> usize {
        self.shared.look(Desk::depth)
    }

    /// How long anybody may wait.
    pub fn longest_wait(&self) -> Duration {
        self.longest_wait.as_duration()
    }

    /// How long the one has waited that has waited longest; `None` if nobody waits.
    pub fn age(&self) -> Option<Duration> {
        let now = self.shared.now();
        self.shared.look(Desk::oldest).map(|since| now.saturating_sub(since).as_duration())
    }

    /// How entries ended so far.
    pub fn outcomes(&self) -> Outcomes {
        self.shared.look(Desk::outcomes)
    }

    /// The bucket that it waits for.
    pub fn bucket(&self) -> &Bucket<C> {
        &self.shared.bucket
    }
}

/// How many tokens are issued in a span, rounded up.
fn served_in(quota: &Quota, span: Nanos) -> usize {
    let tokens = u128::from(quota.tokens()).saturating_mul(span.as_u64().into());
    usize::try_from(tokens.div_ceil(quota.period().as_nanos())).unwrap_or(usize::MAX)
}

impl<C, T: Timer> Clone for Queue<C, T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), longest_wait: self.longest_wait }
    }
}

impl<C, T> fmt::Debug for Queue<C, T>
where
    C: Clock + Send + Sync + 'static,
    T: Timer + Send + Sync + 'static,
    T::Sleep: Send + 'static,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("depth", &self.depth())
            .field("len", &self.len())
            .field("age", &self.age())
            .field("is_closed", &self.is_closed())
            .field("outcomes", &self.outcomes())
            .finish()
    }
}
