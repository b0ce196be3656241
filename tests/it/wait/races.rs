//! Many threads that book and cancel at once: no token is lost and none is made.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Barrier, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use std::future::Future;

use tollgate::wait::{Acquire, Timer};
use tollgate::{Bucket, Manual};

use crate::support::{S, at, bucket, nanos, quota};

/// Each of 10 000 rounds lets two threads book at once, then cancel at once, or one cancel while the other books and cancels
/// later. The clock stands still, so every token is there or was taken.
#[test]
fn ten_thousand_races_of_booking_and_cancelling_lose_no_token() {
    let (limit, gate) = (bucket(quota(1, S, 10)), Barrier::new(2));
    let (taken, wrong) = (AtomicU64::new(0), Mutex::new(None));
    let book = |thread: u64| limit.book(1 + thread, Duration::MAX).unwrap();
    let run = |thread: u64| {
        for round in 0..10_000 {
            gate.wait();
            let mut booking = book(thread);
            gate.wait();
            // Only one of the two books here: that the other's book and cancel leave the word as it was is not told apart.
            if (round + thread).is_multiple_of(3) {
                taken.fetch_add(1 + thread, Relaxed);
                booking = book(thread);
                gate.wait();
                booking.cancel();
            } else {
                booking.cancel();
                gate.wait();
            }
            if gate.wait().is_leader() {
                let (there, owed) = (limit.peek().available(), limit.peek().debt());
                let taken = taken.swap(0, Relaxed);
                if there + taken != 10 + owed {
                    wrong.lock().unwrap().get_or_insert((round, there, taken, owed));
                }
                limit.reset();
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| run(0));
        run(1);
    });
    // Not where it happens: a thread that panics there leaves the other one at the gate for ever.
    assert_eq!(wrong.into_inner().unwrap(), None, "round, there, taken, owed");
}

/// A sleep that never ends by itself.
struct Never;

impl Timer for Never {
    type Sleep = std::future::Pending<()>;

    fn sleep(&self, _: Duration) -> Self::Sleep {
        std::future::pending()
    }
}

type Turn = Acquire<Arc<Bucket<Manual>>, Never>;

fn poll(turn: &mut Turn) -> Poll<Result<(), tollgate::Denied>> {
    std::pin::Pin::new(turn).poll(&mut Context::from_waker(Waker::noop()))
}

/// One thread polls for the grant while the other drops its own future and the clock moves: what was granted is spent,
/// what was dropped is there again. Case C56 for bookings, in a loop.
#[test]
fn ten_thousand_races_of_grant_and_cancel_lose_no_token() {
    let mut granted = 0;
    for round in 0..10_000_u64 {
        let limit = Arc::new(bucket(quota(1, S, 1)));
        assert_eq!(limit.try_acquire(), Ok(()));
        let mut turns = [(); 2].map(|()| Acquire::new(Arc::clone(&limit), 1, Never));
        assert!(turns.iter_mut().all(|turn| poll(turn).is_pending()));
        let [first, mut second] = turns;
        let (first_goes, gate) = (round % 2 == 0, Barrier::new(2));
        let (dropped, mut polled) = if first_goes { (first, second) } else { (second, first) };
        second = thread::scope(|scope| {
            scope.spawn(|| {
                gate.wait();
                drop(dropped);
            });
            gate.wait();
            limit.clock().set(at(2 * S));
            let _pending: Poll<_> = poll(&mut polled);
            polled
        });
        drop(second);
        // Both were cancelled: at 2 s the bucket is as full as if nobody had waited.
        granted += u64::from(limit.peek_at(at(2 * S)).available() == 1);
    }
    assert_eq!(granted, 10_000);
}

/// Threads that wait and give up on a real clock: those that were admitted are within the bound.
#[test]
fn blocked_threads_are_admitted_in_time() {
    let limit = Bucket::new(quota(1000, S, 1));
    let started = std::time::Instant::now();
    let admitted = AtomicU64::new(0);
    thread::scope(|scope| {
        for thread in 0..8 {
            let (limit, admitted) = (&limit, &admitted);
            scope.spawn(move || {
                for _ in 0..10 {
                    let longest = if thread % 2 == 0 { Duration::MAX } else { nanos(1_000_000) };
                    admitted.fetch_add(u64::from(limit.acquire_blocking(longest).is_ok()), Relaxed);
                }
            });
        }
    });
    let (admitted, elapsed) = (admitted.load(Relaxed), started.elapsed());
    assert!(admitted >= 40, "the patient are all admitted: {admitted}");
    let bound = 1 + elapsed.as_millis() as u64;
    assert!(admitted <= bound, "{admitted} in {elapsed:?}");
}
