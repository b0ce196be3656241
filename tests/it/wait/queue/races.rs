//! Threads that call, come, give up and close at the same moment: no token and no caller is lost.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use tollgate::wait::{Entry, Outcomes, Queue, Queued, Refused, Rest, Timer};
use tollgate::{Bucket, Monotonic};

use super::{Hands, drained};
use crate::support::{MS, S, US, nanos, quota};

const ROUNDS: u64 = 10_000;
const ONE: Entry = Entry::new(1);

type Future1 = Pin<Box<Queued<Hands, Hands>>>;

/// Remembers that it was woken.
#[derive(Default)]
struct Woken(AtomicU64);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn poll<F: Future>(future: &mut Pin<Box<F>>, woken: &Arc<Woken>) -> Poll<F::Output> {
    future.as_mut().poll(&mut Context::from_waker(&Waker::from(Arc::clone(woken))))
}

/// Runs `both` in two threads, at the same moment in each round, and `check` after each.
fn race(mut prepare: impl FnMut(u64), both: [&(dyn Fn(u64) + Sync); 2], mut check: impl FnMut(u64)) {
    let gate = Barrier::new(3);
    thread::scope(|scope| {
        for work in both {
            let gate = &gate;
            scope.spawn(move || {
                for round in 1..=ROUNDS {
                    gate.wait();
                    work(round);
                    gate.wait();
                }
            });
        }
        for round in 1..=ROUNDS {
            prepare(round);
            gate.wait();
            gate.wait();
            check(round);
        }
    });
}

/// The first is called while its caller drops it or comes, whoever is faster. The token goes to it or to the second, in
/// the same nanosecond.
#[test]
fn a_turn_that_is_called_and_cancelled() {
    let (queue, hands) = drained(quota(1, S, 1), 100 * S, 10);
    let (first, second) = (Mutex::new(None::<Future1>), Mutex::new(None::<Future1>));
    let (woken, next, served) = (Arc::default(), Arc::<Woken>::default(), AtomicU64::new(0));
    let call_and_come = |round: u64| {
        hands.go_to(round * S);
        if let Some(mut first) = first.lock().unwrap().take() {
            assert_eq!(poll(&mut first, &woken), Poll::Ready(Ok(())));
            served.fetch_add(1, SeqCst);
        }
    };
    let cancel = |_| drop(first.lock().unwrap().take());
    let mut seconds = 0;
    race(
        |_| {
            let mut both = [Box::pin(queue.acquire(ONE)), Box::pin(queue.acquire(ONE))];
            assert!(
                both.iter_mut().zip([&woken, &next]).all(|(future, woken)| poll(future, woken).is_pending())
            );
            let [one, other] = both;
            (*first.lock().unwrap(), *second.lock().unwrap()) = (Some(one), Some(other));
        },
        [&call_and_come, &cancel],
        |round| {
            let mut second = second.lock().unwrap().take().unwrap();
            let before = served.load(SeqCst);
            if poll(&mut second, &next).is_ready() {
                seconds += 1;
            }
            drop(second);
            assert_eq!(before + seconds, round, "one token each second, one caller served");
            assert_eq!((queue.len(), queue.bucket().peek().available()), (0, 0));
        },
    );
    let outcomes = queue.outcomes();
    assert_eq!(outcomes.admitted, ROUNDS);
    assert_eq!(outcomes.admitted + outcomes.cancelled, 2 * ROUNDS);
    assert_eq!(next.0.load(SeqCst), seconds, "the second is woken when it is called, and not else");
}

/// A queue that closes beside one that enters: it is inside and served or refused, or it is refused; nobody is forgotten.
#[test]
fn entering_and_closing() {
    let queues = Mutex::new(None);
    let entered = Mutex::new(None);
    let woken = Arc::<Woken>::default();
    let enter = |_| {
        let queue: Queue<_, _> = queues.lock().unwrap().clone().unwrap();
        let mut future = Box::pin(queue.acquire(ONE));
        let answer = poll(&mut future, &woken);
        *entered.lock().unwrap() = Some((future, answer));
    };
    let close = |round: u64| {
        let queue: Queue<_, _> = queues.lock().unwrap().clone().unwrap();
        queue.close(if round.is_multiple_of(2) { Rest::Refuse } else { Rest::Drain });
    };
    let hands = Mutex::new(None);
    race(
        |_| {
            let (queue, of) = drained(quota(1, S, 1), 100 * S, 10);
            (*queues.lock().unwrap(), *hands.lock().unwrap()) = (Some(queue), Some(of));
        },
        [&enter, &close],
        |round| {
            let (mut future, answer) = entered.lock().unwrap().take().unwrap();
            let hands = hands.lock().unwrap().take().unwrap();
            let refused = Poll::Ready(Err(Refused::Closed));
            if answer.is_ready() {
                assert_eq!(answer, refused);
            } else if round.is_multiple_of(2) {
                assert_eq!(poll(&mut future, &woken), refused);
            } else {
                hands.go_to(S);
                assert_eq!(poll(&mut future, &woken), Poll::Ready(Ok(())));
            }
            assert!(queues.lock().unwrap().take().unwrap().is_empty());
        },
    );
}

struct Tokio;

impl Timer for Tokio {
    type Sleep = Pin<Box<tokio::time::Sleep>>;

    fn sleep(&self, span: Duration) -> Self::Sleep {
        Box::pin(tokio::time::sleep(span))
    }
}

/// Tasks on all threads of a runtime, a third of which are aborted somewhere in between, in real time. Every task ends,
/// and what was counted is what the tasks saw.
#[test]
fn tasks_that_are_aborted() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_time().build().unwrap();
    let bucket = Bucket::with_clock(quota(20_000, S, 200), Monotonic::new());
    let queue = Queue::with_depth(bucket, Duration::from_secs(60), 20_000, Tokio);
    let seen = Arc::new(AtomicU64::new(0));
    runtime.block_on(async {
        let mut tasks = Vec::new();
        for number in 0..ROUNDS {
            let (queue, seen) = (queue.clone(), Arc::clone(&seen));
            tasks.push(tokio::spawn(async move {
                let answer = queue.acquire(Entry::new(1 + number % 3).class((number % 5) as u8)).await;
                assert_eq!(answer, Ok(()));
                seen.fetch_add(1, SeqCst);
            }));
            if number.is_multiple_of(100) {
                tokio::time::sleep(nanos(500 * US)).await;
            }
            if number >= 60 && number.is_multiple_of(3) {
                tasks[number as usize - 60].abort();
            }
        }
        for task in tasks {
            match tokio::time::timeout(nanos(60_000 * MS), task).await.expect("no task is forgotten") {
                Ok(()) => {}
                Err(error) => assert!(error.is_cancelled(), "{error}"),
            }
        }
    });
    let Outcomes { admitted, cancelled, .. } = queue.outcomes();
    assert_eq!((queue.len(), admitted), (0, seen.load(SeqCst)));
    assert!(cancelled > 0 && admitted + cancelled <= ROUNDS, "{admitted} admitted, {cancelled} cancelled");
}
