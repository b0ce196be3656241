//! Threads: exact totals.

use std::sync::Arc;
use std::thread;

use tollgate::upstream::AdaptiveRate;
use tollgate::{Manual, quota};

use super::{BASE, Rate, S, Sent, built, send};

const THREADS: usize = 4;

/// What each thread makes of it, all at once.
fn at_once<T: Send>(work: impl Fn() -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(&work)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// On a clock that stands still.
fn standing() -> Rate {
    built(AdaptiveRate::builder(quota!("1000/s burst 1000")))
}

#[test]
fn each_token_is_given_once() {
    let rate = standing();
    let sent = at_once(|| (0..500).filter_map(|_| rate.try_send().ok()).collect::<Vec<Sent>>());
    assert_eq!(sent.iter().map(Vec::len).sum::<usize>(), 1_000);
    let calls: std::sync::Mutex<Vec<Sent>> = sent.into_iter().flatten().collect::<Vec<_>>().into();
    at_once(|| {
        while let Some(call) = { calls.lock().unwrap().pop() } {
            call.refused(None);
        }
    });
    assert_eq!(rate.permille(), 500, "a thousand refusals, one event");
}

#[test]
fn one_of_all_is_the_probe() {
    for _ in 0..100 {
        let rate = standing();
        send(&rate).refused(Some(S));
        rate.clock().advance(S);
        let sent = at_once(|| rate.try_send().ok());
        assert_eq!(sent.iter().flatten().count(), 1);
    }
}

/// Any number of clones, in any threads.
#[test]
fn it_goes_anywhere() {
    fn anywhere<T: Send + Sync + 'static>() {}
    anywhere::<AdaptiveRate>();
    anywhere::<AdaptiveRate<Arc<Manual>>>();
    anywhere::<Sent>();
    AdaptiveRate::builder(BASE).build().unwrap().try_send().unwrap().succeeded();
}
