//! Any schedule of bookings, cancellations and admissions: never is more there than in a replay without what was
//! cancelled, and every interval of due times keeps the bound.

use std::time::Duration;

use proptest::prelude::*;
use tollgate::wait::Booking;
use tollgate::{Bucket, Manual};

use crate::oracle::Oracle;
use crate::support::{Scale, at, bucket, nanos, over_the_bound, quota};

/// One token every `period` nanoseconds, so a unit of the axis is a nanosecond.
#[derive(Clone, Copy, Debug)]
struct Small {
    period: u64,
    burst: u64,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Book(u64, u64),
    Try(u64),
    Cancel(usize),
    Later(u64),
    /// To the due time of a booking, or close to it.
    Due(usize, i64),
    Pause(u64),
    Resume,
}

/// What was taken, in the order of the word.
#[derive(Clone, Copy, Debug)]
struct Taken {
    cost: u64,
    /// The reading as of which it asked: its own, or the end of the pause.
    start: u64,
    due: u64,
}

struct World<'a> {
    small: Small,
    bucket: &'a Bucket<Manual>,
    standing: Vec<Option<Taken>>,
    open: Vec<(usize, Booking<&'a Bucket<Manual>>)>,
    now: u64,
    paused_until: u64,
}

impl<'a> World<'a> {
    fn new(small: Small, bucket: &'a Bucket<Manual>) -> Self {
        World { small, bucket, standing: Vec::new(), open: Vec::new(), now: 0, paused_until: 0 }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Book(cost, longest) => self.book(cost, longest),
            Step::Try(cost) => {
                if self.bucket.try_acquire_n_at(cost, at(self.now)).is_ok() {
                    self.standing.push(Some(Taken { cost, start: self.now, due: self.now }));
                }
            }
            Step::Cancel(which) if !self.open.is_empty() => {
                let (taken, booking) = self.open.remove(which % self.open.len());
                booking.cancel_at(at(self.now));
                self.standing[taken] = None;
            }
            Step::Due(which, offset) if !self.open.is_empty() => {
                let due = self.open[which % self.open.len()].1.due().as_u64();
                self.now = self.now.max(due.saturating_add_signed(offset));
            }
            Step::Later(span) => self.now += span,
            Step::Pause(span) => {
                self.bucket.pause_until(at(self.now + span));
                self.paused_until = self.paused_until.max(self.now + span);
            }
            Step::Resume => {
                self.bucket.resume();
                self.paused_until = 0;
            }
            Step::Cancel(_) | Step::Due(..) => {}
        }
        self.check();
    }

    /// A booking is accepted exactly if its due time, by the model, is near enough; and it is due exactly then.
    fn book(&mut self, cost: u64, longest: u64) {
        let start = self.now.max(self.paused_until);
        let full = self.small.burst * self.small.period;
        let missing =
            |reading: u64| u64::try_from(self.bucket.peek_at(at(reading)).time_to_full().as_nanos()).unwrap();
        let due = start + (missing(start) + cost * self.small.period).saturating_sub(full);
        match self.bucket.book_at(cost, nanos(longest), at(self.now)) {
            Ok(booking) => {
                assert!(due <= self.now + longest, "{due} is too late");
                assert_eq!(booking.due(), at(due));
                assert_eq!(booking.wait(), nanos(due - self.now));
                self.open.push((self.standing.len(), booking));
                self.standing.push(Some(Taken { cost, start, due }));
            }
            Err(denied) => {
                assert!(due > self.now + longest, "{due} is near enough");
                let wait = denied.wait().unwrap();
                assert_eq!(wait, nanos(due - longest - self.now), "until the same booking is taken");
            }
        }
    }

    fn standing(&self) -> impl Iterator<Item = Taken> + '_ {
        self.standing.iter().flatten().copied()
    }

    /// The word of a bucket that was never asked for what is cancelled.
    fn replayed(&self) -> u64 {
        self.standing().fold(0, |word, taken| word.max(taken.start) + taken.cost * self.small.period)
    }

    fn check(&self) {
        let there = self.bucket.peek_at(at(self.now)).time_to_full();
        let replayed = nanos(self.replayed().saturating_sub(self.now));
        assert!(there >= replayed, "{there:?} missing, {replayed:?} in a replay: {:?}", self.standing);
        let Small { period, burst } = self.small;
        let log: Vec<_> = self.standing().map(|taken| (taken.due, taken.cost)).collect();
        let model = Oracle::new(1, period.into(), burst);
        let over = over_the_bound(&log, &model, Scale::of(1, period, burst));
        assert_eq!(over, None, "of due times: {:?}", self.standing);
    }
}

fn steps(small: Small) -> impl Strategy<Value = Step> {
    let Small { period, burst } = small;
    prop_oneof![
        6 => (1..=burst, 0..=6 * period * burst).prop_map(|(cost, longest)| Step::Book(cost, longest)),
        2 => (1..=burst).prop_map(Step::Try),
        6 => any::<usize>().prop_map(Step::Cancel),
        2 => (0..=2 * period).prop_map(Step::Later),
        1 => (0..=2 * period * burst).prop_map(Step::Later),
        3 => (any::<usize>(), -1..=1_i64).prop_map(|(which, offset)| Step::Due(which, offset)),
        1 => (0..=3 * period * burst).prop_map(Step::Pause),
        1 => Just(Step::Resume),
    ]
}

fn schedules(periods: u64, bursts: u64) -> impl Strategy<Value = (Small, Vec<Step>)> {
    (1..=periods, 1..=bursts).prop_flat_map(|(period, burst)| {
        let small = Small { period, burst };
        (Just(small), prop::collection::vec(steps(small), 1..60))
    })
}

fn walk(small: Small, schedule: &[Step]) {
    let bucket = bucket(quota(1, small.period, small.burst));
    let mut world = World::new(small, &bucket);
    schedule.iter().for_each(|&step| world.step(step));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Small numbers meet more often than large ones.
    #[test]
    fn no_schedule_of_bookings_breaks_the_bound((small, schedule) in schedules(4, 6)) {
        walk(small, &schedule);
    }

    #[test]
    fn nor_in_a_large_bucket((small, schedule) in schedules(1_000_000_000, 1000)) {
        walk(small, &schedule);
    }

    /// What is all cancelled leaves nothing, in any order, whatever was there before and whatever time passes meanwhile.
    #[test]
    fn bookings_that_are_all_cancelled_leave_nothing(
        before in 0..=10_u64,
        costs in prop::collection::vec((1..=10_u64, any::<u64>(), 0..4_u64), 1..20),
    ) {
        let bucket = bucket(quota(1, 3, 10));
        let _taken = bucket.charge_at(before, at(0));
        let mut places: Vec<_> = costs
            .iter()
            .map(|&(cost, order, _)| (order, bucket.book_at(cost, Duration::MAX, at(0)).unwrap()))
            .collect();
        places.sort_by_key(|place| place.0);
        let mut now = 0;
        for ((_, booking), (_, _, later)) in places.into_iter().zip(costs) {
            now += later;
            booking.cancel_at(at(now));
        }
        let left = bucket.peek_at(at(now)).time_to_full();
        prop_assert_eq!(left, nanos((before * 3).saturating_sub(now)));
    }
}
