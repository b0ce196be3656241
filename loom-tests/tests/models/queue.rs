//! The queue: a turn that is called is taken or handed on, a caller is woken or answered, and the timer is set for whoever
//! is next.
//!
//! A token takes ten nanoseconds and the bucket holds one. The clock and the timer are moved by hand; what races with them
//! is the queue's own state.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use tollgate::wait::{Entry, Queue, Queued, Refused, Rest, Timer};
use tollgate::{Bucket, Clock, Nanos, Quota};
use tollgate_loom_tests::{explore, race2};

const ONE: Entry = Entry::new(1);

/// A clock and a timer. Their own state is not part of the model: no step of theirs is interrupted.
#[derive(Clone, Default)]
struct Hands(Arc<Inner>);

#[derive(Default)]
struct Inner {
    now: AtomicU64,
    /// The number of each sleep, its end, and whom it wakes.
    sleeps: Mutex<Vec<(u64, Nanos, Waker)>>,
    made: AtomicU64,
}

impl Hands {
    fn set(&self, now: u64) {
        self.0.now.store(now, SeqCst);
    }

    /// Wakes what is due by `end`, early if the clock says so.
    fn ring(&self, end: u64) {
        let due: Vec<_> =
            self.0.sleeps.lock().unwrap().extract_if(.., |sleep| sleep.1.as_u64() <= end).collect();
        due.into_iter().for_each(|(_, _, waker)| waker.wake());
    }

    fn go_to(&self, now: u64) {
        self.set(now);
        self.ring(now);
    }

    /// When the sleeps end that there are.
    fn ends(&self) -> Vec<u64> {
        self.0.sleeps.lock().unwrap().iter().map(|(_, end, _)| end.as_u64()).collect()
    }
}

impl Clock for Hands {
    fn now(&self) -> Nanos {
        Nanos::new(self.0.now.load(SeqCst))
    }
}

impl Timer for Hands {
    type Sleep = Nap;

    fn sleep(&self, span: Duration) -> Nap {
        let number = self.0.made.fetch_add(1, SeqCst);
        Nap { end: self.now().saturating_add(span.into()), number, hands: self.clone() }
    }
}

struct Nap {
    end: Nanos,
    number: u64,
    hands: Hands,
}

impl Future for Nap {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.hands.now() >= self.end {
            return Poll::Ready(());
        }
        self.hands.0.sleeps.lock().unwrap().push((self.number, self.end, cx.waker().clone()));
        Poll::Pending
    }
}

impl Drop for Nap {
    fn drop(&mut self) {
        self.hands.0.sleeps.lock().unwrap().retain(|(number, ..)| *number != self.number);
    }
}

/// A caller: its future, and how often it was woken.
struct Caller {
    future: Pin<Box<Queued<Hands, Hands>>>,
    woken: Arc<Woken>,
}

#[derive(Default)]
struct Woken(AtomicU64);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

impl Caller {
    fn new(queue: &Queue<Hands, Hands>, entry: Entry) -> Self {
        Self { future: Box::pin(queue.acquire(entry)), woken: Arc::default() }
    }

    /// One that waits already.
    fn waiting(queue: &Queue<Hands, Hands>) -> Self {
        let mut caller = Self::new(queue, ONE);
        assert_eq!(caller.poll(), Poll::Pending);
        caller
    }

    fn poll(&mut self) -> Poll<Result<(), Refused>> {
        let waker = Waker::from(Arc::clone(&self.woken));
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }

    fn wakes(&self) -> u64 {
        self.woken.0.load(SeqCst)
    }

    /// As an executor would: polled again only if it was woken.
    fn answer(&mut self, first: Poll<Result<(), Refused>>) -> Poll<Result<(), Refused>> {
        if first.is_pending() && self.wakes() > 0 { self.poll() } else { first }
    }
}

/// A queue whose bucket has been drained at 0.
fn queue() -> (Queue<Hands, Hands>, Hands) {
    let hands = Hands::default();
    let quota = Quota::with_burst(1, Duration::from_nanos(10), 1).expect("a valid quota");
    let bucket = Bucket::with_clock(quota, hands.clone());
    assert_eq!(bucket.drain(), 1);
    (Queue::with_depth(bucket, Duration::from_secs(1), 4, hands.clone()), hands)
}

/// The first is called and dropped at the same moment: the second is admitted then, and woken for it.
#[test]
fn called_beside_a_cancel() {
    let outcomes = explore("queue_call_cancel", || {
        let (queue, hands) = queue();
        let (first, mut second) = (Caller::waiting(&queue), Caller::waiting(&queue));
        let ringing = hands.clone();
        race2(move || ringing.go_to(10), move || drop(first));
        let answer = second.answer(Poll::Pending);
        (answer == Poll::Ready(Ok(())), second.wakes(), queue.len(), hands.ends())
    });
    assert_eq!(outcomes, BTreeSet::from([(true, 1, 0, vec![])]));
}

/// The same, and the second is polled meanwhile, for no reason: it is admitted in that poll or is woken after it.
#[test]
fn called_beside_a_cancel_and_a_poll() {
    let outcomes = explore("queue_call_cancel_poll", || {
        let (queue, hands) = queue();
        let (first, mut second) = (Caller::waiting(&queue), Caller::waiting(&queue));
        hands.go_to(10);
        let (mut second, answer) = race2(
            move || {
                let answer = second.poll();
                (second, answer)
            },
            move || drop(first),
        )
        .0;
        (second.answer(answer) == Poll::Ready(Ok(())), queue.len(), hands.ends())
    });
    assert_eq!(outcomes, BTreeSet::from([(true, 0, vec![])]));
}

/// A caller that enters while the clock moves and the timer rings: admitted, or woken.
#[test]
fn entered_beside_a_ring() {
    let outcomes = explore("queue_enter_ring", || {
        let (queue, hands) = queue();
        let (mut caller, ringing) = (Caller::new(&queue, ONE), hands.clone());
        let (answer, ()) = race2(
            move || {
                let answer = caller.poll();
                (caller, answer)
            },
            move || ringing.go_to(10),
        );
        let (mut caller, answer) = answer;
        (caller.answer(answer) == Poll::Ready(Ok(())), queue.len(), hands.ends())
    });
    assert_eq!(outcomes, BTreeSet::from([(true, 0, vec![])]));
}

/// The timer rings early while it is being set: it is set again.
#[test]
fn entered_beside_an_early_ring() {
    let outcomes = explore("queue_enter_early_ring", || {
        let (queue, hands) = queue();
        let (mut caller, ringing) = (Caller::new(&queue, ONE), hands.clone());
        let enter = move || {
            assert_eq!(caller.poll(), Poll::Pending);
            caller
        };
        let (caller, ()) = race2(enter, move || ringing.ring(10));
        (caller.wakes(), hands.ends())
    });
    assert_eq!(outcomes, BTreeSet::from([(0, vec![10])]));
}

/// One leaves while another enters: the one timer is set for the other.
#[test]
fn entered_beside_a_cancel() {
    let outcomes = explore("queue_enter_cancel", || {
        let (queue, hands) = queue();
        hands.set(3);
        let (first, mut second) = (Caller::waiting(&queue), Caller::new(&queue, ONE));
        let enter = move || {
            assert_eq!(second.poll(), Poll::Pending);
            second
        };
        let (second, ()) = race2(enter, move || drop(first));
        (second.wakes(), queue.len(), hands.ends())
    });
    assert_eq!(outcomes, BTreeSet::from([(0, 1, vec![10])]));
}

/// Two enter for one token: the one is admitted, for the other the timer is set.
#[test]
fn entered_twice() {
    let outcomes = explore("queue_enter_twice", || {
        let (queue, hands) = queue();
        hands.set(10);
        let enter = |mut caller: Caller| {
            move || {
                let answer = caller.poll();
                (caller, answer)
            }
        };
        let (one, other) = race2(enter(Caller::new(&queue, ONE)), enter(Caller::new(&queue, ONE)));
        let admitted = [&one, &other].map(|(_, answer)| u8::from(*answer == Poll::Ready(Ok(()))));
        (admitted[0] + admitted[1], queue.len(), hands.ends())
    });
    assert_eq!(outcomes, BTreeSet::from([(1, 1, vec![20])]));
}

/// Nobody is inside a queue that was closed, and nobody is forgotten in it.
#[test]
fn closed_beside_an_enter() {
    let outcomes = explore("queue_close_enter", || {
        let (queue, hands) = queue();
        let (mut caller, closing) = (Caller::new(&queue, ONE), queue.clone());
        let enter = move || {
            let answer = caller.poll();
            (caller, answer)
        };
        let ((mut caller, answer), ()) = race2(enter, move || closing.close(Rest::Refuse));
        (caller.answer(answer) == Poll::Ready(Err(Refused::Closed)), queue.len(), hands.ends())
    });
    assert_eq!(outcomes, BTreeSet::from([(true, 0, vec![])]));
}

/// Somebody asks the bucket itself while one comes that was called: one of the two is admitted, and the other waits on.
#[test]
fn barged_in_beside_a_call() {
    let outcomes = explore("queue_call_barge", || {
        let (queue, hands) = queue();
        let mut caller = Caller::waiting(&queue);
        hands.go_to(10);
        let barging = queue.clone();
        let come = move || {
            let answer = caller.poll();
            (caller, answer)
        };
        let ((_caller, answer), barged) = race2(come, move || barging.bucket().try_acquire().is_ok());
        (answer.is_ready(), barged, queue.len(), hands.ends())
    });
    assert_eq!(outcomes, BTreeSet::from([(true, false, 0, vec![]), (false, true, 1, vec![20])]));
}
