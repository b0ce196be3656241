//! A call on its way to one of several upstreams.

use core::fmt;

use super::Router;
use super::verdict::Verdict;
use crate::clock::{Clock, Monotonic};
use crate::nanos::Nanos;
use crate::sync::lock;
use crate::upstream::{Cost, Heard, Reading, Sent};

/// A call on its way to the upstream that was chosen for it, which has been charged.
///
/// One of the methods that consume it says what became of it. Dropped instead, it stays charged, which is the worst case, and
/// nothing is known of the upstream; a probe that was dropped is waited for until its deadline.
#[must_use = "a call that is dropped at once stays charged"]
pub struct Hop<C: Clock = Monotonic> {
    router: Router<C>,
    upstream: usize,
    number: u64,
    cost: Cost,
    sent: Sent<C>,
}

impl<C: Clock> Hop<C> {
    pub(super) fn new(router: Router<C>, upstream: usize, number: u64, cost: Cost, sent: Sent<C>) -> Self {
        Self { router, upstream, number, cost, sent }
    }

    /// Where it goes: upstreams count from 0, in the order in which they were added.
    pub fn upstream(&self) -> usize {
        self.upstream
    }

    /// The response has come. The mirror hears it, and the router whether the upstream is well.
    pub fn answered(self, reading: &Reading<'_>) -> Heard {
        self.answer(reading, None, None)
    }

    /// The same, at the reading `now` of the upstream's clock.
    pub fn answered_at(self, reading: &Reading<'_>, now: Nanos) -> Heard {
        self.answer(reading, None, Some(now))
    }

    /// The same, with the true cost from a usage record.
    pub fn answered_with(self, reading: &Reading<'_>, used: &Cost) -> Heard {
        self.answer(reading, Some(used), None)
    }

    /// The same, with the true cost and at the reading `now`.
    pub fn answered_with_at(self, reading: &Reading<'_>, used: &Cost, now: Nanos) -> Heard {
        self.answer(reading, Some(used), Some(now))
    }

    /// The head of the response has come, and the body takes its time: the mirror and the router hear it now. Once the body has
    /// ended, [`settled`](Self::settled) says what it cost; if it breaks off, [`timed_out`](Self::timed_out) says so.
    pub fn head(&self, reading: &Reading<'_>) -> Heard {
        self.hear_head(reading, None)
    }

    /// The same, at the reading `now`.
    pub fn head_at(&self, reading: &Reading<'_>, now: Nanos) -> Heard {
        self.hear_head(reading, Some(now))
    }

    /// The body has ended after [`head`](Self::head), and its usage record tells the true cost, as for [`Sent::settled`].
    pub fn settled(self, used: &Cost) {
        self.sent.settled(used);
    }

    /// The same, at the reading `now`.
    pub fn settled_at(self, used: &Cost, now: Nanos) {
        self.sent.settled_at(used, now);
    }

    /// No response came, though the call may have arrived: a time-out, a connection that broke. It stays charged, and the
    /// upstream has failed.
    pub fn timed_out(self) {
        let (now, gates) = (self.now(None), self.gates());
        drop(self.sent);
        gates.hear(&Verdict::Failed(None), now);
    }

    /// It never left, for the upstream cannot be reached. The charge is given back, and the upstream has failed.
    pub fn unreachable(self) {
        let (now, gates) = (self.now(None), self.gates());
        self.sent.not_sent();
        gates.hear(&Verdict::Failed(None), now);
    }

    /// It never left, for a reason that is not the upstream's. The charge is given back. If it was the probe, the next call is.
    pub fn not_sent(self) {
        let (now, gates) = (self.now(None), self.gates());
        self.sent.not_sent();
        gates.hear(&Verdict::Unknown, now);
    }

    fn answer(self, reading: &Reading<'_>, used: Option<&Cost>, at: Option<Nanos>) -> Heard {
        let (now, gates) = (self.now(at), self.gates());
        let heard = match used {
            Some(used) => self.sent.answered_with_at(reading, used, now),
            None => self.sent.answered_at(reading, now),
        };
        gates.hear(&Verdict::of_response(reading, heard, &gates.cost), now);
        heard
    }

    fn hear_head(&self, reading: &Reading<'_>, at: Option<Nanos>) -> Heard {
        let now = self.now(at);
        let heard = self.sent.head_at(reading, now);
        self.gates().hear(&Verdict::of_response(reading, heard, &self.cost), now);
        heard
    }

    fn now(&self, at: Option<Nanos>) -> Nanos {
        let upstream = self.router.upstream(self.upstream);
        Nanos::new(upstream.map_or(0, |upstream| upstream.now(at)))
    }

    /// What is left of it once the mirror has been told.
    fn gates(&self) -> Gates<C> {
        let (upstream, number, cost) = (self.upstream, self.number, self.cost);
        Gates { router: self.router.clone(), upstream, number, cost }
    }
}

struct Gates<C: Clock> {
    router: Router<C>,
    upstream: usize,
    number: u64,
    cost: Cost,
}

impl<C: Clock> Gates<C> {
    fn hear(&self, verdict: &Verdict, now: Nanos) {
        if let Some(upstream) = self.router.upstream(self.upstream) {
            let rules = &self.router.inner.rules;
            lock(&upstream.doors).hear(self.number, &self.cost, verdict, now.as_u64(), rules);
        }
    }
}

impl<C: Clock> fmt::Debug for Hop<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hop")
            .field("upstream", &self.upstream)
            .field("cost", &self.cost)
            .finish_non_exhaustive()
    }
}
