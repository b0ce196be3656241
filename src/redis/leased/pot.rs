//! What a process holds of its lease, beside what lies in its threads' shards: the root that they draw from.
//!
//! It is a bucket on a clock that stands, so nothing is issued in it: what it holds was put into it. Whoever
//! takes the last but few tokens, or finds too few, rings for more.
//!
//! # Memory ordering
//!
//! What the mark and the times say is a hint, and nothing is published by them: they are `Relaxed`. The mark
//! is set before the supply looks at what is held, and a caller looks at it after it has taken; where both
//! miss each other, the next caller rings, and until then nobody lacks anything.
//!
//! One time is more: [`NEVER`] says that the pot is closed. It is stored with `Release`, after the last
//! handle's shards have given back what they held, and loaded with `Acquire`, after which the supply empties
//! the pot: it finds all of that.
//!
//! A grant that nobody takes is put back into the pot and then counted out of `granted_tokens`, with
//! `Release`. The supply, which adds to `granted_tokens` itself, loads it with `Acquire` and then looks into
//! the pot: what is counted out it finds there.

use core::time::Duration;
use std::sync::Arc;

use tokio::sync::{Notify, oneshot};

use super::line::{Answer, Line};
use crate::bucket::Bucket;
use crate::clock::Clock;
use crate::decision::Denied;
use crate::level::Level;
use crate::limiter::Limiter;
use crate::nanos::Nanos;
use crate::quota::Quota;
use crate::redis::error::StoreError;
use crate::redis::outage::Fallback;
use crate::sharded::{Lender, Plan};
use crate::sync::{AtomicU64, Mutex, Ordering, lock};

/// A clock that stands.
#[derive(Debug)]
pub(super) struct Still;

impl Clock for Still {
    #[inline]
    fn now(&self) -> Nanos {
        Nanos::ZERO
    }
}

/// A process's part of what is in no shard, and the way to more.
#[derive(Debug)]
pub(super) struct Pot {
    /// Its capacity is the whole lease, so nothing that is put into it is lost.
    bucket: Bucket<Still>,
    /// It is filled up to so much, at most.
    room_tokens: u64,
    /// Who leaves less than this rings, once; 0 when someone has.
    low_tokens: AtomicU64,
    bell: Notify,
    /// Tells those who wait for the store itself that it is closed.
    ended: Notify,
    /// Tokens on their way to those who waited. They may come back.
    granted_tokens: AtomicU64,
    /// The reading before which nothing more comes, and how long an answer of the store took.
    due_nanos: AtomicU64,
    trip_nanos: AtomicU64,
    line: Mutex<Line>,
    pub(super) fallback: Fallback,
}

/// The shards' way to the pot. It is dropped with the last shard and the last handle.
#[derive(Debug)]
pub(super) struct Tap(pub(super) Arc<Pot>);

/// No reading: nothing is due any more.
const NEVER: u64 = u64::MAX;

impl Pot {
    pub(super) fn new(plan: &Plan, fallback: Fallback) -> Self {
        Self {
            bucket: Bucket::with_clock(plan.quota(), Still),
            room_tokens: plan.root_capacity(),
            low_tokens: AtomicU64::new(0),
            bell: Notify::new(),
            ended: Notify::new(),
            granted_tokens: AtomicU64::new(0),
            due_nanos: AtomicU64::new(0),
            trip_nanos: AtomicU64::new(1_000_000),
            line: Mutex::new(Line::default()),
            fallback,
        }
    }

    /// The most that it is filled up to, in tokens. It may hold more when shards have given back.
    pub(super) fn room(&self) -> u64 {
        self.room_tokens
    }

    pub(super) fn held(&self) -> u64 {
        self.bucket.peek().available()
    }

    /// What it holds, and what may come back to it. Who reads this misses nothing that was in the one and is
    /// in the other.
    pub(super) fn held_or_granted(&self) -> u64 {
        let granted = self.granted_tokens.load(Ordering::Acquire);
        granted.saturating_add(self.held())
    }

    pub(super) fn grant(&self, tokens: u64) {
        self.granted_tokens.fetch_add(tokens, Ordering::Relaxed);
    }

    /// What was granted is spent, or has been put back.
    pub(super) fn is_granted_no_more(&self, tokens: u64) {
        self.granted_tokens.fetch_sub(tokens, Ordering::Release);
    }

    pub(super) fn put(&self, tokens: u64) {
        if tokens > 0 {
            self.bucket.refund(tokens);
        }
    }

    pub(super) fn take_up_to(&self, most: u64) -> u64 {
        self.bucket.acquire_up_to(most)
    }

    /// Takes all, also while it is paused.
    pub(super) fn empty(&self) -> u64 {
        self.bucket.drain()
    }

    /// Who leaves less than `low` rings. A read-modify-write, for most processors do not look ahead of one;
    /// nothing relies on it.
    pub(super) fn arm(&self, low: u64) {
        self.low_tokens.swap(low, Ordering::Relaxed);
    }

    pub(super) fn was_rung(&self) -> bool {
        self.low_tokens.load(Ordering::Relaxed) == 0
    }

    /// Waits until someone rings, at most so long.
    pub(super) async fn rung_within(&self, longest: Duration) {
        let _late = tokio::time::timeout(longest, self.bell.notified()).await;
    }

    pub(super) fn enter(&self, cost: u64) -> Result<oneshot::Receiver<Answer>, StoreError> {
        let entered = self.line().enter(cost);
        self.bell.notify_one();
        entered
    }

    pub(super) fn line(&self) -> impl std::ops::DerefMut<Target = Line> {
        lock(&self.line)
    }

    pub(super) fn close(&self) {
        let mut line = self.line();
        line.close();
        self.due_nanos.store(NEVER, Ordering::Release);
        self.bell.notify_one();
        self.ended.notify_waiters();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.due_nanos.load(Ordering::Acquire) == NEVER
    }

    /// Waits for so long, or until it is closed.
    pub(super) async fn closed_within(&self, longest: Duration) {
        // It hears of a close from here on, so none is missed between the look and the wait.
        let ended = self.ended.notified();
        if !self.is_closed() {
            let _open = tokio::time::timeout(longest, ended).await;
        }
    }

    /// The line, unless it is closed. While it is held nobody closes it.
    pub(super) fn open_line(&self) -> Option<impl std::ops::DerefMut<Target = Line>> {
        let line = self.line();
        (!line.is_closed()).then_some(line)
    }

    /// Nothing more comes before `due`. What has been closed stays so.
    pub(super) fn expect_at(&self, due: Nanos) {
        if let Some(_open) = self.open_line() {
            self.due_nanos.store(due.as_u64().min(NEVER - 1), Ordering::Relaxed);
        }
    }

    pub(super) fn took(&self, trip: Nanos) {
        self.trip_nanos.store(trip.as_u64(), Ordering::Relaxed);
    }

    /// Until there can be more, at the earliest.
    pub(super) fn wait(&self) -> Nanos {
        let (due, trip) = (self.due_nanos.load(Ordering::Relaxed), self.trip_nanos.load(Ordering::Relaxed));
        Nanos::new(due).saturating_sub(self.now()).saturating_add(Nanos::new(trip.max(1)))
    }

    pub(super) fn now(&self) -> Nanos {
        self.fallback.now()
    }

    /// Rings where little is left.
    #[inline]
    fn look(&self) {
        let low = self.low_tokens.load(Ordering::Relaxed);
        if low > 0 && self.held() < low && self.low_tokens.swap(0, Ordering::Relaxed) > 0 {
            self.bell.notify_one();
        }
    }
}

impl Limiter for Tap {
    #[inline]
    fn try_acquire_n(&self, cost: u64) -> Result<(), Denied> {
        let answer = self.0.bucket.try_acquire_n(cost);
        self.0.look();
        answer
    }
}

impl Lender<Still> for Tap {
    const CHANGES: bool = false;

    #[inline]
    fn lend(&self, least: u64, most: u64, part: u32) -> Result<u64, Denied> {
        let lent = self.0.bucket.lend(least, most, part);
        self.0.look();
        lent
    }

    fn charge(&self, cost: u64) {
        self.0.bucket.charge(cost);
    }

    fn refund(&self, cost: u64) {
        self.0.put(cost);
    }

    fn pause_until(&self, until: Nanos) {
        self.0.bucket.pause_until(until);
    }

    fn resume(&self) {
        self.0.bucket.resume();
    }

    fn peek(&self) -> Level {
        self.0.bucket.peek()
    }

    fn quota(&self) -> Quota {
        self.0.bucket.quota()
    }

    fn clock(&self) -> &Still {
        &Still
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.0.close();
    }
}
