//! What a queue's callers share: the bucket, the state behind its lock, and the timer.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use crate::bucket::Bucket;
use crate::clock::Clock;
use crate::nanos::Nanos;
use crate::sync::{Mutex, lock};
use crate::wait::queue::alarm::{Alarm, Setting};
use crate::wait::queue::desk::{Desk, Number};
use crate::wait::queue::{Entry, Refused};
use crate::wait::timer::Timer;

/// Behind an [`Arc`], for the timer may outlive the queue.
pub(super) struct Shared<C, T: Timer> {
    pub(super) bucket: Arc<Bucket<C>>,
    timer: T,
    state: Mutex<State<T>>,
    /// What the timer wakes.
    bell: Waker,
}

struct State<T: Timer> {
    desk: Desk,
    alarm: Alarm<T::Sleep>,
}

/// The timer's waker. It does at once what is due, on the timer's thread: no caller has to be polled for others to be
/// called.
struct Bell<C, T: Timer>(Weak<Shared<C, T>>);

/// Lets the timer be set again if setting it panicked.
struct Setter<'a, C, T: Timer>(&'a Shared<C, T>);

impl<C, T> Shared<C, T>
where
    C: Clock + Send + Sync + 'static,
    T: Timer + Send + Sync + 'static,
    T::Sleep: Send + 'static,
{
    pub(super) fn new(bucket: Arc<Bucket<C>>, timer: T, desk: Desk) -> Arc<Self> {
        Arc::new_cyclic(|shared| {
            let bell = Waker::from(Arc::new(Bell(Weak::clone(shared))));
            Self { bucket, timer, state: Mutex::new(State { desk, alarm: Alarm::new() }), bell }
        })
    }

    pub(super) fn now(&self) -> Nanos {
        self.bucket.clock().now()
    }

    /// Looks at the desk without changing it.
    pub(super) fn look<R>(&self, look: impl FnOnce(&Desk) -> R) -> R {
        look(&lock(&self.state).desk)
    }

    pub(super) fn enter(&self, entry: &Entry, own_deadline: Nanos) -> Result<Number, Refused> {
        let now = self.now();
        self.step(|state| state.desk.enter(&self.bucket, now, entry, own_deadline))
    }

    pub(super) fn ask(&self, number: Number, waker: &Waker) -> Poll<Result<(), Refused>> {
        let (now, mut waker) = (self.now(), Some(waker.clone()));
        self.step(|state| {
            let answer = state.desk.ask(&self.bucket, now, number, &mut waker);
            state.desk.proceed(&self.bucket, now);
            answer
        })
    }

    /// Changes the desk and then does what is due. What it returns is dropped without the lock.
    pub(super) fn change<R>(&self, change: impl FnOnce(&mut Desk) -> R) -> R {
        let now = self.now();
        self.step(|state| {
            let result = change(&mut state.desk);
            state.desk.proceed(&self.bucket, now);
            result
        })
    }

    /// One step under the lock. Whom it wakes is woken, and the timer set, after it.
    fn step<R>(&self, step: impl FnOnce(&mut State<T>) -> R) -> R {
        let mut state = lock(&self.state);
        let result = step(&mut state);
        let wakes = state.desk.take_wakes();
        let wanted = state.desk.next_call;
        let sets_alarm = state.alarm.claim(wanted);
        drop(state);
        wakes.into_iter().for_each(Waker::wake);
        if sets_alarm {
            self.set_alarm();
        }
        result
    }

    /// Sets the timer, again and again until it is as it should be: others may change that meanwhile.
    fn set_alarm(&self) {
        let setter = Setter(self);
        while let Setting::Replace(old, wanted) = self.next_setting() {
            drop(old);
            if let Some(wanted) = wanted {
                self.start_sleep(wanted);
            }
        }
        drop(setter);
    }

    fn next_setting(&self) -> Setting<T::Sleep> {
        let mut state = lock(&self.state);
        let wanted = state.desk.next_call;
        state.alarm.next(wanted)
    }

    fn start_sleep(&self, until: Nanos) {
        let mut sleep = self.timer.sleep(until.saturating_sub(self.now()).as_duration());
        match Pin::new(&mut sleep).poll(&mut Context::from_waker(&self.bell)) {
            Poll::Pending => lock(&self.state).alarm.keep(sleep),
            Poll::Ready(()) => self.ring(),
        }
    }

    /// The timer has rung.
    fn ring(&self) {
        let now = self.now();
        self.step(|state| {
            state.alarm.rang();
            state.desk.proceed(&self.bucket, now);
        });
    }
}

impl<C, T> Wake for Bell<C, T>
where
    C: Clock + Send + Sync + 'static,
    T: Timer + Send + Sync + 'static,
    T::Sleep: Send + 'static,
{
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if let Some(shared) = self.0.upgrade() {
            shared.ring();
        }
    }
}

impl<C, T: Timer> Drop for Setter<'_, C, T> {
    fn drop(&mut self) {
        if thread::panicking() {
            lock(&self.0.state).alarm.abandon();
        }
    }
}
