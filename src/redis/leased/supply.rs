//! What draws leases from the store.

use std::fmt;
use std::sync::Arc;

use redis::aio::ConnectionLike;
use tokio::sync::oneshot;

use super::demand::Demand;
use super::line::{Answer, Grant};
use super::plan::LeasePlan;
use super::pot::{Pot, Still, Tap};
use crate::nanos::Nanos;
use crate::redis::asking;
use crate::redis::bucket::RedisBucket;
use crate::redis::error::StoreError;
use crate::redis::outage::Owed;
use crate::sharded::Pauser;

/// In a span of this length it is counted what is spent.
const SPAN: Nanos = Nanos::new(100_000_000);

/// While nothing is spent, the store is looked at so often.
const IDLE: Nanos = Nanos::new(1_000_000_000);

/// A store that has nothing, or too little and is not half full, is asked again after this part of the time
/// in which it would fill up, but not later than after `LONGEST_PACE_NANOS`: by then it has not filled up,
/// and no refill is lost.
const PACES_TO_FULL: u128 = 32;
const LONGEST_PACE_NANOS: u64 = 5_000_000;

/// A draw takes at most one part in twice the number of instances, or in this many: the others find
/// something, too.
const PARTS: u32 = 32;

/// Draws the leases of a [`Leased`](super::Leased) from the store. [Run](Self::run) it; without it there is
/// no lease.
#[must_use = "nothing is drawn unless it runs"]
pub struct Supply<C> {
    bucket: RedisBucket<C>,
    pot: Arc<Pot>,
    pauser: Pauser<Still, Tap>,
    demand: Demand,
    /// What has been gathered for the first who waits.
    kept: u64,
    /// One part in so many of what the store has is drawn at once.
    parts: u64,
    pace: Nanos,
    /// The store is not asked before.
    due: Nanos,
    /// By what the store said, nothing is there before.
    expected: Nanos,
    filled_at: Nanos,
    span_end: Nanos,
    /// What was held when the span began, and put in since.
    given: u64,
    paused_until: Option<Nanos>,
    /// Why the last call failed.
    error: StoreError,
}

/// What the store answered to a draw.
#[derive(Clone, Copy)]
struct Drawn {
    lent: u64,
    left: u64,
    /// Until one token more is there.
    wait: Nanos,
    paused: Nanos,
}

impl<C> Supply<C> {
    pub(super) fn new(
        bucket: RedisBucket<C>,
        plan: &LeasePlan,
        pot: Arc<Pot>,
        pauser: Pauser<Still, Tap>,
    ) -> Self {
        let quota = bucket.quota();
        let to_full = u128::from(quota.capacity()) * quota.period().as_nanos() / u128::from(quota.tokens());
        let pace = (to_full / PACES_TO_FULL).min(LONGEST_PACE_NANOS.into());
        let now = pot.now();
        Self {
            demand: Demand::new(pot.room()),
            kept: 0,
            parts: plan.instances().map_or(PARTS, |instances| instances.saturating_mul(2)).into(),
            pace: Nanos::new(u64::try_from(pace).unwrap_or(LONGEST_PACE_NANOS)),
            due: now,
            expected: now,
            filled_at: Nanos::ZERO,
            span_end: now.saturating_add(SPAN),
            given: 0,
            paused_until: None,
            error: StoreError::Answer,
            bucket,
            pot,
            pauser,
        }
    }
}

impl<C: ConnectionLike + Clone> Supply<C> {
    /// Draws until the limit is closed or its last handle is gone, and then gives back what is left of the
    /// lease.
    ///
    /// # Cancel safety
    ///
    /// Dropped, what is left of the lease is lost, and the limit is closed.
    pub async fn run(mut self) {
        self.pot.line().begin();
        while !self.pot.is_closed() {
            let until = self.step().await;
            let longest = until.saturating_sub(self.pot.now());
            self.pot.expect_at(self.due.max(self.expected));
            if longest > Nanos::ZERO {
                self.pot.rung_within(longest.as_duration()).await;
            }
        }
        self.give_all_back().await;
    }

    /// One round, and until when there is nothing to do unless someone rings.
    async fn step(&mut self) -> Nanos {
        self.resume_when_due();
        if self.pot.was_rung() {
            self.demand.wake();
        }
        if self.pot.now() >= self.span_end {
            self.end_span().await;
        }
        self.serve();
        let want = self.want();
        if want > 0 && self.pot.now() >= self.due {
            self.fill(want).await;
            self.serve();
        }
        if self.pot.fallback.is_failing() {
            self.answer_without_the_store();
        }
        // Not while all are refused: each of them would ring.
        if self.want() == 0 && self.paused_until.is_none() {
            self.pot.arm(self.demand.low().max(1));
        }
        // Again, for nobody rang before.
        let due = if self.want() > 0 { Some(self.due) } else { self.paused_until };
        due.map_or(self.span_end, |due| due.min(self.span_end))
    }

    /// What the lease lacks of its size, if it is low or someone waits.
    fn want(&self) -> u64 {
        let (held, waiting) = (self.held(), self.pot.line().total());
        if self.paused_until.is_some() || (waiting == 0 && held >= self.demand.low()) {
            return 0;
        }
        self.demand.target().saturating_add(waiting).min(self.pot.room()).saturating_sub(held)
    }

    /// All that is not in shards and not spent.
    fn held(&self) -> u64 {
        self.pot.held_or_granted().saturating_add(self.kept)
    }

    /// Gives those who wait what there is, in their order; and the pot what nobody waits for.
    fn serve(&mut self) {
        while self.paused_until.is_none() {
            let Some(cost) = self.pot.line().first() else { break };
            self.kept += self.pot.take_up_to(cost.saturating_sub(self.kept));
            if self.kept < cost {
                return;
            }
            // It may be another by now, who asks for something else: then what is kept is looked at again.
            let Some((cost, answer)) = self.leave_within(self.kept) else { continue };
            self.kept -= cost;
            let _gone = answer.send(Ok(Grant::of_the_store(&self.pot, cost)));
        }
        self.pot.put(std::mem::take(&mut self.kept));
    }

    /// Takes the first who waits out of the line, if so many tokens are enough.
    fn leave_within(&self, tokens: u64) -> Option<(u64, oneshot::Sender<Answer>)> {
        let mut line = self.pot.line();
        if line.first()? <= tokens { line.leave() } else { None }
    }

    async fn fill(&mut self, want: u64) {
        let begin = self.pot.now();
        if begin.saturating_sub(self.filled_at) < SPAN && self.pot.held() < self.demand.low() {
            self.demand.grow();
        }
        let lacking = self.pot.line().first().map_or(1, |cost| cost.saturating_sub(self.kept));
        let Some(drawn) = self.draw(lacking.max(1).min(want), want).await else { return };
        self.filled_at = begin;
        self.pot.took(self.pot.now().saturating_sub(begin));
        let wait = if drawn.lent > 0 { Nanos::ZERO } else { drawn.wait };
        self.expected = begin.saturating_add(wait);
        let has_little = drawn.left < self.bucket.quota().capacity() / 2;
        if drawn.lent == 0 || (drawn.lent < want && has_little) {
            // What others give back may come before refill does.
            self.due = begin.saturating_add(self.pace.max(wait.min(IDLE)));
        }
        self.given = self.given.saturating_add(drawn.lent);
        self.kept += drawn.lent;
    }

    /// At least `least` tokens if they are there, and at most `most`. What is owed goes along.
    async fn draw(&mut self, least: u64, most: u64) -> Option<Drawn> {
        let pot = Arc::clone(&self.pot);
        let call = match pot.fallback.ask() {
            Ok(call) => call,
            Err(error) => return self.fail(error),
        };
        let owed = pot.fallback.owed();
        let answer = self.ask(least, most, owed.as_ref()).await;
        call.ended(answer.is_ok());
        match answer {
            Ok(drawn) => {
                owed.into_iter().for_each(Owed::charged);
                self.pause(drawn.paused);
                Some(drawn)
            }
            Err(error) => self.fail(error),
        }
    }

    async fn ask(&self, least: u64, most: u64, owed: Option<&Owed<'_>>) -> Result<Drawn, StoreError> {
        let (owed, whole) = owed.map_or((0, 0), |owed| (owed.cost(), owed.whole()));
        let scale = self.bucket.scale();
        let numbers = [least, most, self.parts, scale.units(owed), scale.units(whole)];
        let answer: Vec<u64> = self.bucket.ask("draw", &numbers).await?;
        match answer[..] {
            [lent, left, wait, paused] if lent <= most => {
                let nanos = |micros: u64| Nanos::new(micros.saturating_mul(1_000));
                Ok(Drawn { lent, left, wait: nanos(wait), paused: nanos(paused) })
            }
            _ => Err(StoreError::Answer),
        }
    }

    /// It is asked again after the circuit's back-off, or else soon.
    fn fail(&mut self, error: StoreError) -> Option<Drawn> {
        let wait = match error {
            StoreError::NotAsked { retry_in } => Nanos::from_duration(retry_in),
            _ => Nanos::new(LONGEST_PACE_NANOS),
        };
        self.due = self.pot.now().saturating_add(wait);
        self.error = error;
        None
    }

    /// Those who wait are answered by the outage rule.
    fn answer_without_the_store(&mut self) {
        loop {
            let first = self.pot.line().leave();
            let Some((cost, answer)) = first else { break };
            let decision = match self.pot.fallback.decide(cost) {
                Some(Ok(())) => Ok(Grant::of_the_fallback(&self.pot)),
                Some(Err(denied)) => Err(denied.into()),
                None => Err(self.error.clone().into()),
            };
            let _gone = answer.send(decision);
        }
        self.serve();
    }

    /// Learns from what was spent, and gives back what the lease has more than its size.
    async fn end_span(&mut self) {
        let spent = self.given.saturating_sub(self.held());
        self.demand.spent(spent);
        let nobody_asks = spent == 0 && !self.pot.was_rung() && self.pot.line().first().is_none();
        let is_idle = self.paused_until.is_some() || (nobody_asks && self.demand.target() <= 1);
        if is_idle {
            self.look_at_the_store().await;
        }
        self.give_back(self.pot.held().saturating_sub(self.demand.target())).await;
        self.given = self.held();
        self.span_end = self.pot.now().saturating_add(if is_idle { IDLE } else { SPAN });
    }

    /// While nobody here asks for anything: the last tokens are for others, until there is enough again.
    async fn look_at_the_store(&mut self) {
        let Some(Drawn { left, .. }) = self.draw(0, 0).await else { return };
        let capacity = self.bucket.quota().capacity();
        let few = self.parts.min(capacity / 2).max(1);
        if left < few {
            self.demand.rest();
        } else if left >= few.saturating_mul(2).min(capacity) {
            self.demand.wake();
        }
    }

    /// Taken out first, so that whatever becomes of the call no token is in two places.
    async fn give_back(&mut self, tokens: u64) {
        if tokens == 0 {
            return;
        }
        let pot = Arc::clone(&self.pot);
        let Ok(call) = pot.fallback.ask() else { return };
        let taken = pot.take_up_to(tokens);
        if taken == 0 {
            return;
        }
        call.ended(self.bucket.refund(taken).await.is_ok());
    }

    async fn give_all_back(mut self) {
        let left = self.pot.empty().saturating_add(std::mem::take(&mut self.kept));
        // Whatever becomes of it, what is left is not lost by it; and the outage rule's state tells what the
        // store does not know.
        let _told = asking::make_up(&self.bucket, &self.pot.fallback).await;
        let returned = if left > 0 { self.bucket.refund(left).await } else { Ok(()) };
        self.pot.line().end(returned.map(|()| left));
    }
}

impl<C> Supply<C> {
    /// A pause of the key holds for what has been drawn, too.
    fn pause(&mut self, span: Nanos) {
        if span > Nanos::ZERO {
            let until = self.pot.now().saturating_add(span);
            (self.paused_until, self.expected) = (Some(until), until);
            self.pauser.pause();
        } else {
            self.resume();
        }
    }

    fn resume_when_due(&mut self) {
        if self.paused_until.is_some_and(|until| self.pot.now() >= until) {
            self.resume();
        }
    }

    fn resume(&mut self) {
        if self.paused_until.take().is_some() {
            self.expected = self.pot.now();
            // Closing pauses, too, and for good.
            self.pauser.resume_with(|| self.pot.open_line());
        }
    }
}

impl<C> Drop for Supply<C> {
    fn drop(&mut self) {
        self.pot.close();
        // What lies in shards is lost, too.
        self.pauser.pause();
        self.pot.line().end(Err(StoreError::Closed));
    }
}

impl<C> fmt::Debug for Supply<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Supply")
            .field("bucket", &self.bucket)
            .field("demand", &self.demand)
            .field("held", &self.pot.held())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
