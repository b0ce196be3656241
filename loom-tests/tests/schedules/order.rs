//! Linearizability of random calls: every result, and what is left, is that of some order.

use tollgate_loom_tests::{Call, Op, Tub, any_below, at, bucket_of, each, is_some_order, missing, sample};

const PERIOD: u64 = 10;
const CAPACITY: u64 = 3;

/// Readings around the refill of one token.
fn any_call() -> Call {
    let tokens = 1 + any_below(3);
    let op = match any_below(8) {
        0 | 1 => Op::Acquire(tokens),
        2 => Op::UpTo(tokens),
        3 => Op::Charge(tokens),
        4 | 5 => Op::Refund(tokens),
        6 => Op::Drain,
        _ => Op::Reset,
    };
    Call { op, at: 8 + any_below(5) }
}

fn threads_of(threads: u64, calls: usize) {
    let bucket = bucket_of(PERIOD, CAPACITY);
    let made = each(threads, move |_| {
        let call = |_| {
            let call = any_call();
            (call, call.on(bucket))
        };
        (0..calls).map(call).collect::<Vec<_>>()
    });
    let left = missing(bucket, 12);
    let found = is_some_order(Tub::new(PERIOD, CAPACITY), &made, 12, left);
    assert!(found, "no order of {made:?} leaves {left} missing");
}

#[test]
fn three_threads_of_two_calls() {
    sample("order_three_threads_of_two", 20_000, || threads_of(3, 2));
}

#[test]
fn two_threads_of_four_calls() {
    sample("order_two_threads_of_four", 10_000, || threads_of(2, 4));
}

#[test]
fn the_last_of_a_pause_and_a_resume_counts() {
    sample("order_pause_and_resume", 5_000, || {
        let bucket = bucket_of(PERIOD, CAPACITY);
        each(8, move |thread| match thread {
            0 => bucket.resume(),
            _ => bucket.pause_until(at(thread)),
        });
        let paused_for = bucket.peek_at(at(0)).paused_for().as_nanos();
        assert!(paused_for <= 7);
        each(8, move |thread| bucket.pause_until(at(thread)));
        assert_eq!(bucket.peek_at(at(0)).paused_for().as_nanos(), 7);
    });
}
