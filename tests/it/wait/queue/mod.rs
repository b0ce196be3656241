//! `Queue`: a timer that is moved by hand with its clock, callers that are polled when they were woken, and the tests.

mod basics;
mod overload;
mod races;
mod reference;

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use tollgate::wait::{Entry, Queue, Queued, Refused, Timer};
use tollgate::{Bucket, Clock, Manual, Nanos, Quota};

use crate::support::{at, nanos};

pub(crate) type Held = Queue<Hands, Hands>;

/// A clock and its timer, moved by hand.
#[derive(Clone, Default)]
pub(crate) struct Hands(Arc<Inner>);

#[derive(Default)]
struct Inner {
    clock: Manual,
    /// When each sleep ends, and whom it wakes.
    sleeps: Mutex<BTreeMap<(Nanos, usize), Waker>>,
    made: AtomicUsize,
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Hands {
    /// Moves to `reading`, ringing on the way whatever is due.
    pub(crate) fn go_to(&self, reading: u64) {
        while let Some(next) = self.next().filter(|next| *next <= reading) {
            self.0.clock.set(at(next.max(self.0.clock.now().as_u64())));
            let (_, waker) = self.0.sleeps.lock().unwrap().pop_first().unwrap();
            waker.wake();
        }
        self.0.clock.set(at(reading));
    }

    /// When the next sleep ends.
    pub(crate) fn next(&self) -> Option<u64> {
        self.0.sleeps.lock().unwrap().first_key_value().map(|((end, _), _)| end.as_u64())
    }

    /// How many sleeps were made.
    pub(crate) fn made(&self) -> usize {
        self.0.made.load(SeqCst)
    }

    /// How many there were at once, at most.
    pub(crate) fn most(&self) -> usize {
        self.0.most.load(SeqCst)
    }
}

impl Clock for Hands {
    fn now(&self) -> Nanos {
        self.0.clock.now()
    }
}

impl Timer for Hands {
    type Sleep = Nap;

    fn sleep(&self, span: Duration) -> Nap {
        let number = self.0.made.fetch_add(1, SeqCst);
        self.0.most.fetch_max(self.0.now.fetch_add(1, SeqCst) + 1, SeqCst);
        Nap { end: self.now().saturating_add(span.into()), number, hands: self.clone() }
    }
}

pub(crate) struct Nap {
    end: Nanos,
    number: usize,
    hands: Hands,
}

impl Future for Nap {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.hands.now() >= self.end {
            return Poll::Ready(());
        }
        self.hands.0.sleeps.lock().unwrap().insert((self.end, self.number), cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Nap {
    fn drop(&mut self) {
        self.hands.0.now.fetch_sub(1, SeqCst);
        self.hands.0.sleeps.lock().unwrap().remove(&(self.end, self.number));
    }
}

/// A queue with its hands.
pub(crate) fn held(quota: Quota, longest_wait: u64) -> (Held, Hands) {
    let hands = Hands::default();
    (Queue::new(Bucket::with_clock(quota, hands.clone()), nanos(longest_wait), hands.clone()), hands)
}

/// The same with so many places, and a bucket that has been drained.
pub(crate) fn drained(quota: Quota, longest_wait: u64, depth: usize) -> (Held, Hands) {
    let hands = Hands::default();
    let bucket = Bucket::with_clock(quota, hands.clone());
    bucket.drain();
    (Queue::with_depth(bucket, nanos(longest_wait), depth, hands.clone()), hands)
}

/// How an entry ended, and at which reading.
pub(crate) type End = (u64, Result<(), Refused>);

/// Callers of one queue, polled when they enter and then only when they are woken.
pub(crate) struct Crowd {
    pub(crate) queue: Held,
    pub(crate) hands: Hands,
    callers: Vec<Caller>,
    woken: Arc<Mutex<Vec<usize>>>,
}

struct Caller {
    future: Option<Pin<Box<Queued<Hands, Hands>>>>,
    waker: Waker,
    wakes: Arc<Wakes>,
    end: Option<End>,
}

struct Wakes {
    number: usize,
    count: AtomicUsize,
    woken: Arc<Mutex<Vec<usize>>>,
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.count.fetch_add(1, SeqCst);
        self.woken.lock().unwrap().push(self.number);
    }
}

impl Crowd {
    pub(crate) fn new((queue, hands): (Held, Hands)) -> Self {
        Self { queue, hands, callers: Vec::new(), woken: Arc::default() }
    }

    /// A new caller, and its number.
    pub(crate) fn enter(&mut self, entry: Entry) -> usize {
        let number = self.callers.len();
        let wakes = Wakes { number, count: AtomicUsize::new(0), woken: Arc::clone(&self.woken) };
        let wakes = Arc::new(wakes);
        let waker = Waker::from(Arc::clone(&wakes));
        let future = Some(Box::pin(self.queue.acquire(entry)));
        self.callers.push(Caller { future, waker, wakes, end: None });
        self.poll(number);
        number
    }

    pub(crate) fn enter_all<const N: usize>(&mut self, entries: [Entry; N]) -> [usize; N] {
        entries.map(|entry| self.enter(entry))
    }

    pub(crate) fn poll(&mut self, number: usize) {
        let caller = &mut self.callers[number];
        let Some(future) = &mut caller.future else { return };
        if let Poll::Ready(answer) = future.as_mut().poll(&mut Context::from_waker(&caller.waker)) {
            caller.end = Some((self.hands.now().as_u64(), answer));
            caller.future = None;
        }
    }

    /// Drops the caller's future.
    pub(crate) fn cancel(&mut self, number: usize) {
        self.callers[number].future = None;
    }

    /// Polls who was woken, until nobody is.
    pub(crate) fn settle(&mut self) {
        loop {
            let woken = std::mem::take(&mut *self.woken.lock().unwrap());
            if woken.is_empty() {
                return;
            }
            woken.into_iter().for_each(|number| self.poll(number));
        }
    }

    /// Moves to `reading`, polling on the way whoever is woken.
    pub(crate) fn go_to(&mut self, reading: u64) {
        self.settle();
        while let Some(next) = self.hands.next().filter(|next| *next <= reading) {
            self.hands.go_to(next);
            self.settle();
        }
        self.hands.go_to(reading);
        self.settle();
    }

    /// Moves on until no timer is set any more.
    pub(crate) fn finish(&mut self) {
        self.settle();
        while let Some(next) = self.hands.next() {
            self.go_to(next);
        }
    }

    pub(crate) fn end(&self, number: usize) -> Option<&End> {
        self.callers[number].end.as_ref()
    }

    /// When it was admitted.
    pub(crate) fn admitted(&self, number: usize) -> Option<u64> {
        self.end(number).filter(|(_, answer)| answer.is_ok()).map(|(reading, _)| *reading)
    }

    /// When it was refused, and why.
    pub(crate) fn refused(&self, number: usize) -> Option<(u64, Refused)> {
        self.end(number).and_then(|(reading, answer)| Some((*reading, answer.err()?)))
    }

    pub(crate) fn all_admitted(&self) -> Vec<Option<u64>> {
        (0..self.callers.len()).map(|number| self.admitted(number)).collect()
    }

    /// The most wake-ups that one caller got.
    pub(crate) fn most_wakes(&self) -> usize {
        self.callers.iter().map(|caller| caller.wakes.count.load(SeqCst)).max().unwrap_or(0)
    }
}

/// When a refusal says that capacity is expected.
pub(crate) fn expected(refused: &Refused) -> u64 {
    refused.expected().expect("it is for now").ready_at().as_u64()
}
