//! The bound across changes: in every interval no more than the capacity at its beginning, plus what the rate in force at
//! each moment issues, plus, unless tokens are kept, what the changes in it made the capacity larger by.

use proptest::prelude::*;
use tollgate::Manual;
use tollgate::adjust::{Adjustable, Held};

use super::helds;
use crate::quotas::{Cost, costs};
use crate::support::{at, quota};

/// Parts in a token that make every rate of the tests a whole number of parts a nanosecond: 1 to 12 all divide it.
const PARTS: i128 = 27_720;

pub(crate) type Plain = (u64, u64, u64);

/// What happened, with its reading. Admissions may come in any order of readings, changes come in theirs.
#[derive(Default, Debug)]
pub(crate) struct Log {
    pub(crate) changes: Vec<(u64, Plain, Held)>,
    pub(crate) admitted: Vec<(u64, u64)>,
}

impl Log {
    /// Parts allowed in `[start, end]`.
    fn allowed(&self, start: u64, end: u64) -> i128 {
        let at_start = self.changes.iter().rposition(|&(at, ..)| at <= start).unwrap_or(0);
        // Changes at the reading `start` itself may come before or after an admission there: the largest capacity counts.
        let first =
            self.changes.iter().position(|&(at, ..)| at == start).map_or(at_start, |at| at.saturating_sub(1));
        let mut largest = 0;
        for from in first..=at_start {
            largest = largest.max(self.allowed_from(from, start, end));
        }
        largest
    }

    fn allowed_from(&self, first: usize, start: u64, end: u64) -> i128 {
        let mut allowed = PARTS * i128::from(self.changes[first].1.2);
        for (nth, &(at, (tokens, period, burst), held)) in self.changes.iter().enumerate().skip(first) {
            let next = self.changes.get(nth + 1).map_or(u64::MAX, |change| change.0);
            let (from, until) = (at.max(start), next.min(end));
            allowed +=
                i128::from(until.saturating_sub(from)) * PARTS * i128::from(tokens) / i128::from(period);
            if nth > first && at <= end && held != Held::Tokens {
                let before = self.changes[nth - 1].1.2;
                allowed += PARTS * i128::from(burst.saturating_sub(before));
            }
        }
        allowed
    }

    pub(crate) fn over(&self) -> Option<(u64, u64, u64)> {
        let readings = || self.admitted.iter().map(|admission| admission.0);
        let intervals = readings().flat_map(|start| readings().map(move |end| (start, end)));
        intervals.filter(|(start, end)| start <= end).find_map(|(start, end)| {
            let inside = self.admitted.iter().filter(|(reading, _)| (start..=end).contains(reading));
            let cost: u64 = inside.map(|admission| admission.1).sum();
            (PARTS * i128::from(cost) > self.allowed(start, end)).then_some((start, end, cost))
        })
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Change(Plain, Held),
    /// A cost, asked for with a reading so much older than now.
    Try(Cost, u64),
    UpTo(Cost, u64),
    Later(u64),
}

pub(crate) fn plains() -> impl Strategy<Value = Plain> {
    (1..=8_u64, 1..=12_u64, 1..=20_u64)
}

fn steps(helds: impl Strategy<Value = Held>) -> impl Strategy<Value = Step> {
    let back = || prop_oneof![2 => Just(0), 1 => 0..15_u64, 1 => 0..200_u64];
    prop_oneof![
        1 => (plains(), helds).prop_map(|(plain, held)| Step::Change(plain, held)),
        4 => (costs(), back()).prop_map(|(cost, back)| Step::Try(cost, back)),
        1 => (costs(), back()).prop_map(|(cost, back)| Step::UpTo(cost, back)),
        2 => (0..12_u64).prop_map(Step::Later),
    ]
}

fn run(plain: Plain, schedule: &[Step]) -> Log {
    let of = |(tokens, period, burst): Plain| quota(tokens, period, burst);
    let limit = Adjustable::with_clock(of(plain), Manual::starting_at(at(1000)));
    let mut log = Log { changes: vec![(0, plain, Held::Tokens)], admitted: Vec::new() };
    let mut now = 1000;
    for &step in schedule {
        let burst = limit.quota().capacity();
        match step {
            Step::Change(plain, held) => {
                limit.adjust(of(plain), held);
                log.changes.push((now, plain, held));
            }
            Step::Try(cost, back) if limit.try_acquire_n_at(cost.of(burst), at(now - back)).is_ok() => {
                log.admitted.push((now - back, cost.of(burst)));
            }
            Step::Try(..) => {}
            Step::UpTo(cost, back) => {
                log.admitted.push((now - back, limit.acquire_up_to_at(cost.of(burst), at(now - back))));
            }
            Step::Later(span) => {
                now += span;
                limit.clock().set(at(now));
            }
        }
    }
    log
}

proptest! {
    #[test]
    fn changes_that_keep_tokens_give_nothing(
        plain in plains(),
        schedule in prop::collection::vec(steps(Just(Held::Tokens)), 1..120),
    ) {
        let log = run(plain, &schedule);
        prop_assert_eq!(log.over(), None, "{:?}", log);
    }

    #[test]
    fn others_give_what_the_capacity_grows_by(
        plain in plains(),
        schedule in prop::collection::vec(steps(helds()), 1..120),
    ) {
        let log = run(plain, &schedule);
        prop_assert_eq!(log.over(), None, "{:?}", log);
    }
}

mod known_bad {
    use super::*;

    #[test]
    fn a_token_too_many_across_a_change_is_caught() {
        let changes = vec![(0, (1, 1, 5), Held::Tokens), (10, (1, 10, 3), Held::Tokens)];
        let over =
            |admitted: &[(u64, u64)]| Log { changes: changes.clone(), admitted: admitted.to_vec() }.over();
        assert_eq!(over(&[(5, 5), (10, 5), (20, 1)]), None);
        assert_eq!(over(&[(5, 5), (10, 5), (20, 2)]), Some((5, 20, 12)));
        assert_eq!(over(&[(11, 4)]), Some((11, 11, 4)));
        assert_eq!(over(&[(10, 5)]), None, "it may have been before the change");
    }

    #[test]
    fn a_gift_counts_only_where_it_is_one() {
        let over = |held| {
            let changes = vec![(0, (1, 12, 1), Held::Tokens), (10, (1, 12, 9), held)];
            Log { changes, admitted: vec![(9, 1), (10, 8)] }.over()
        };
        assert_eq!((over(Held::Deficit), over(Held::Fraction)), (None, None));
        assert_eq!(over(Held::Tokens), Some((9, 10, 9)));
    }
}
