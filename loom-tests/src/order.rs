//! Linearizability by brute force: whether what a race returned is what some order of its calls would have returned.

use crate::fixture::{Bucket, at};

/// A call and the reading it is made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// What is called.
    pub op: Op,
    /// The reading, in nanoseconds.
    pub at: u64,
}

/// What can be asked of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Admission of a cost.
    Acquire(u64),
    /// As much as is there, at most so many.
    UpTo(u64),
    /// A debt, if need be.
    Charge(u64),
    /// So many back.
    Refund(u64),
    /// All there is.
    Drain,
    /// Back to full.
    Reset,
}

impl Call {
    /// Makes the call. The result is the number of tokens it says were taken.
    pub fn on(self, bucket: &Bucket) -> u64 {
        let now = at(self.at);
        match self.op {
            Op::Acquire(cost) => bucket.try_acquire_n_at(cost, now).map_or(0, |()| cost),
            Op::UpTo(most) => bucket.acquire_up_to_at(most, now),
            Op::Drain => bucket.drain_at(now),
            Op::Charge(cost) => {
                bucket.charge_at(cost, now);
                0
            }
            Op::Refund(cost) => {
                bucket.refund_at(cost, now);
                0
            }
            Op::Reset => {
                bucket.reset_at(now);
                0
            }
        }
    }
}

/// A full bucket as the continuous-state leaky bucket of I.371, for one caller at a time: what is missing from it, in
/// nanoseconds of refill, and since when.
#[derive(Clone, Copy, Debug)]
pub struct Tub {
    period: u64,
    size: u64,
    missing: u64,
    since: u64,
}

impl Tub {
    /// With room for `capacity` tokens, one of which drips in every `period`.
    pub fn new(period: u64, capacity: u64) -> Self {
        Self { period, size: capacity * period, missing: 0, since: 0 }
    }
}

/// Whether some order of the threads' calls, each thread's own kept, returns these results and leaves `missing`
/// nanoseconds of refill at the reading `end`.
pub fn is_some_order(tub: Tub, threads: &[Vec<(Call, u64)>], end: u64, missing: u64) -> bool {
    let rest: Vec<&[(Call, u64)]> = threads.iter().map(Vec::as_slice).collect();
    some_order_from(tub, &rest, &|tub: Tub| tub.missing_at(end) == missing)
}

fn some_order_from(tub: Tub, rest: &[&[(Call, u64)]], ends_well: &dyn Fn(Tub) -> bool) -> bool {
    if rest.iter().all(|calls| calls.is_empty()) {
        return ends_well(tub);
    }
    (0..rest.len()).any(|next| {
        let Some((&(call, result), later)) = rest[next].split_first() else { return false };
        let mut after = tub;
        let mut rest = rest.to_vec();
        rest[next] = later;
        after.call(call) == result && some_order_from(after, &rest, ends_well)
    })
}

impl Tub {
    /// What is missing drains away with time; a reading from before the last change finds that much more missing.
    fn missing_at(self, now: u64) -> u64 {
        (self.missing + self.since).saturating_sub(now)
    }

    /// Makes the call and returns what [`Call::on`] would.
    pub fn call(&mut self, Call { op, at }: Call) -> u64 {
        let missing = self.missing_at(at);
        let there = self.size.saturating_sub(missing) / self.period;
        let taken = match op {
            Op::Acquire(cost) => {
                if cost <= there {
                    cost
                } else {
                    0
                }
            }
            Op::UpTo(most) => most.min(there),
            Op::Drain => there,
            Op::Charge(_) | Op::Refund(_) | Op::Reset => 0,
        };
        let after = match op {
            Op::Acquire(_) | Op::UpTo(_) => missing + taken * self.period,
            Op::Drain => missing.max(self.size),
            Op::Charge(cost) => missing + cost * self.period,
            Op::Refund(cost) => missing.saturating_sub(cost * self.period),
            Op::Reset => 0,
        };
        // Calls that changed nothing do not move time: a full bucket stays full since it was.
        if after != missing || op == Op::Reset {
            (self.missing, self.since) = (after, at);
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(op: Op, at: u64, result: u64) -> (Call, u64) {
        (Call { op, at }, result)
    }

    #[test]
    fn one_of_two_gets_the_last_token() {
        let run = |first, second, missing| {
            let threads = [first, second].map(|result| vec![call(Op::Acquire(1), 5, result)]);
            is_some_order(Tub::new(10, 1), &threads, 5, missing)
        };
        assert!(run(1, 0, 10));
        assert!(run(0, 1, 10));
        assert!(!run(1, 1, 20));
        assert!(!run(0, 0, 0));
        assert!(!run(1, 0, 9));
    }

    #[test]
    fn a_threads_own_calls_keep_their_order() {
        let threads = [vec![call(Op::UpTo(2), 0, 2), call(Op::Refund(2), 0, 0)], vec![call(Op::Drain, 0, 2)]];
        assert!(is_some_order(Tub::new(1, 2), &threads, 0, 2));
        assert!(!is_some_order(Tub::new(1, 2), &threads, 0, 0));
    }

    #[test]
    fn an_older_reading_finds_less() {
        let threads = [vec![call(Op::Acquire(2), 20, 2), call(Op::Acquire(1), 10, 0)], vec![]];
        assert!(is_some_order(Tub::new(10, 2), &threads, 20, 20));
        let threads = [vec![call(Op::Charge(3), 20, 0)], vec![call(Op::Reset, 25, 0)]];
        assert!(is_some_order(Tub::new(10, 2), &threads, 25, 0));
        assert!(is_some_order(Tub::new(10, 2), &threads, 25, 30));
    }
}
