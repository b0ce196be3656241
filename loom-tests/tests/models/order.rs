//! Linearizability: every result, and what is left, is that of some order of the calls.

use tollgate_loom_tests::{Bucket, Call, Count, Op, Tub, bucket_of, is_some_order, missing, race2, race3};

const PERIOD: u64 = 10;
const CAPACITY: u64 = 3;

/// At 5 half a token has been issued since the origin, at 10 one, at 20 two.
const END: u64 = 20;

/// One of each kind, around the refill boundary at 10.
const CALLS: [Call; 9] = [
    Call { op: Op::Acquire(1), at: 10 },
    Call { op: Op::Acquire(2), at: 9 },
    Call { op: Op::Acquire(3), at: 20 },
    Call { op: Op::UpTo(2), at: 10 },
    Call { op: Op::Charge(2), at: 10 },
    Call { op: Op::Refund(1), at: 10 },
    Call { op: Op::Refund(2), at: 20 },
    Call { op: Op::Drain, at: 9 },
    Call { op: Op::Reset, at: 10 },
];

/// All pairs of first calls, each thread's second being one that tells what is there, and moves it.
#[test]
fn two_threads_of_two_calls() {
    let mut count = Count::new("order_two_threads_of_two");
    let seconds = [Call { op: Op::UpTo(1), at: 10 }, Call { op: Op::Acquire(2), at: 20 }];
    for (index, a) in CALLS.into_iter().enumerate() {
        for &b in &CALLS[index..] {
            count.explore(move || {
                let bucket = two_missing();
                let (a, b) = race2(calls(bucket, [a, seconds[0]]), calls(bucket, [b, seconds[1]]));
                judge(bucket, &[a, b]);
            });
        }
    }
    count.finish();
}

/// All triples with an admission in them.
#[test]
fn three_threads_of_one_call() {
    let mut count = Count::new("order_three_threads_of_one");
    for (index, b) in CALLS.into_iter().enumerate() {
        for &c in &CALLS[index..] {
            count.explore(move || {
                let bucket = two_missing();
                let (a, b, c) = race3(calls(bucket, [CALLS[0]]), calls(bucket, [b]), calls(bucket, [c]));
                judge(bucket, &[a, b, c]);
            });
        }
    }
    count.finish();
}

const FIRST: Call = Call { op: Op::Acquire(2), at: 0 };

/// A bucket from which two of three tokens were taken at 0.
fn two_missing() -> &'static Bucket {
    let bucket = bucket_of(PERIOD, CAPACITY);
    FIRST.on(bucket);
    bucket
}

fn calls<const N: usize>(
    bucket: &'static Bucket,
    calls: [Call; N],
) -> impl FnOnce() -> Vec<(Call, u64)> + Send + 'static {
    move || calls.into_iter().map(|call| (call, call.on(bucket))).collect()
}

fn judge(bucket: &Bucket, threads: &[Vec<(Call, u64)>]) {
    let (mut tub, left) = (Tub::new(PERIOD, CAPACITY), missing(bucket, END));
    tub.call(FIRST);
    assert!(is_some_order(tub, threads, END, left), "no order of {threads:?} leaves {left} missing");
}
