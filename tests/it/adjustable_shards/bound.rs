//! The bound across changes, over all schedules of one thread: what is held never exceeds the capacity in force, and from
//! any step to any later one no more is admitted than the capacity before the first, plus what the rates issue, plus,
//! unless tokens are kept, what the changes make the capacity larger by.

use proptest::prelude::*;
use tollgate::adjust::Held;

use super::{Shard, adjustable, helds};
use crate::support::{at, quota};

/// Parts in a token that make every rate of the tests a whole number of parts a nanosecond: 1 to 12 all divide it.
const PARTS: i128 = 27_720;

const HANDLES: usize = 3;

type Plain = (u64, u64, u64);

#[derive(Clone, Copy, Debug)]
enum Step {
    Take(usize, u64),
    UpTo(usize, u64),
    Park(usize),
    Replace(usize),
    LookUp(u64),
    LookUpTo(u64),
    ParkLookUp,
    Charge(u64),
    Pause(u64),
    Resume,
    Wait(u64),
    Change(Plain, Held),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let plain = (1..=8_u64, 1..=12_u64, prop_oneof![2 => 1..=300_u64, 1 => 90..=110_u64, 1 => 1..=12_u64]);
    let step = prop_oneof![
        8 => (0..HANDLES, 1..40_u64).prop_map(|(shard, cost)| Step::Take(shard, cost)),
        2 => (0..HANDLES, 0..60_u64).prop_map(|(shard, most)| Step::UpTo(shard, most)),
        3 => (0..HANDLES).prop_map(Step::Park),
        2 => (0..HANDLES).prop_map(Step::Replace),
        2 => (1..40_u64).prop_map(Step::LookUp),
        1 => (0..60_u64).prop_map(Step::LookUpTo),
        1 => Just(Step::ParkLookUp),
        1 => (0..20_u64).prop_map(Step::Charge),
        1 => (0..30_u64).prop_map(Step::Pause),
        1 => Just(Step::Resume),
        3 => (0..50_u64).prop_map(Step::Wait),
        3 => (plain, helds()).prop_map(|(plain, held)| Step::Change(plain, held)),
    ];
    prop::collection::vec(step, 1..120)
}

impl Step {
    fn looks_up(self) -> bool {
        matches!(self, Step::LookUp(_) | Step::LookUpTo(_) | Step::ParkLookUp)
    }
}

/// What a step admitted, and how much it may have brought, in parts.
#[derive(Clone, Copy, Debug)]
struct Entry {
    capacity_before: u64,
    brought: i128,
    admitted: u64,
}

/// The first stretch of steps that admitted more than the bound.
fn over(log: &[Entry]) -> Option<(usize, usize)> {
    (0..log.len()).find_map(|first| {
        let mut left = PARTS * i128::from(log[first].capacity_before);
        let last = log[first..].iter().position(|entry| {
            left += entry.brought - PARTS * i128::from(entry.admitted);
            left < 0
        });
        last.map(|last| (first, first + last))
    })
}

/// The handles, and the most that each will keep of its credit.
struct Shards(Vec<(Shard, u64)>);

impl Shards {
    fn used(&mut self, shard: usize) -> &Shard {
        self.0[shard].1 = u64::MAX;
        &self.0[shard].0
    }

    fn held(&self) -> u64 {
        self.0.iter().map(|(shard, most)| shard.credit().min(*most)).sum()
    }
}

/// Without look-ups all credit can be seen, and what is there rises by no more than what a step brings.
fn run(shards: u32, ceiling: u64, schedule: &[Step], look_up: bool) -> Result<Vec<Entry>, TestCaseError> {
    let (mut now, mut plain) = (0_u64, (1, 1, 100_u64));
    let limit = adjustable(quota(plain.0, plain.1, plain.2), shards, ceiling);
    let mut handles = Shards((0..HANDLES).map(|_| (limit.shard(), u64::MAX)).collect());
    let mut log = Vec::new();
    let mut seen = limit.peek().available();
    for &step in schedule.iter().filter(|step| look_up || !step.looks_up()) {
        let (capacity_before, mut brought, mut admitted) = (plain.2, 0, 0);
        match step {
            Step::Take(shard, cost) if handles.used(shard).try_acquire_n(cost).is_ok() => admitted = cost,
            Step::Take(..) => {}
            Step::UpTo(shard, most) => admitted = handles.used(shard).acquire_up_to(most),
            Step::Park(shard) => handles.used(shard).park(),
            Step::Replace(shard) => handles.0[shard] = (limit.shard(), u64::MAX),
            Step::LookUp(cost) if limit.try_acquire_n(cost).is_ok() => admitted = cost,
            Step::LookUp(_) => {}
            Step::LookUpTo(most) => admitted = limit.acquire_up_to(most),
            Step::ParkLookUp => limit.park(),
            Step::Charge(cost) => limit.charge(cost),
            Step::Pause(span) => limit.pause_until(at(now + span)),
            Step::Resume => limit.resume(),
            Step::Wait(span) => {
                now += span;
                brought = i128::from(span) * PARTS * i128::from(plain.0) / i128::from(plain.1);
                limit.clock().set(at(now));
            }
            Step::Change(next, held) => {
                limit.adjust(quota(next.0, next.1, next.2), held);
                if held != Held::Tokens {
                    brought = PARTS * i128::from(next.2.saturating_sub(plain.2));
                }
                plain = next;
                for (_, most) in &mut handles.0 {
                    *most = (*most).min(ceiling * plain.2 / 100);
                }
            }
        }
        log.push(Entry { capacity_before, brought, admitted });
        let (held, there) = (handles.held(), limit.peek().available());
        prop_assert!(
            held + there <= plain.2,
            "{held} in shards, {there} at the root, of {} after {step:?}",
            plain.2
        );
        prop_assert_eq!(limit.quota().capacity(), plain.2);
        let more = PARTS * (i128::from(held + there + admitted) - i128::from(seen));
        prop_assert!(
            look_up || more < brought + PARTS,
            "{seen} were there, then {held} and {there} after {step:?}"
        );
        seen = held + there;
    }
    Ok(log)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_more_than_the_bound_from_any_step_to_any_other(
        shards in 1..4_u32,
        ceiling in 1..30_u64,
        schedule in steps(),
        look_up in any::<bool>(),
    ) {
        let log = run(shards, ceiling, &schedule, look_up)?;
        prop_assert_eq!(over(&log), None, "{:?}", log);
    }
}

#[test]
fn one_token_more_is_caught() {
    let entry = |brought, admitted| Entry { capacity_before: 5, brought, admitted };
    let log = |last| [entry(0, 5), entry(2 * PARTS, 0), entry(0, 2), entry(PARTS - 1, 0), entry(0, last)];
    assert_eq!(over(&log(0)), None);
    assert_eq!(over(&log(1)), Some((0, 4)));
    assert_eq!(over(&[entry(9 * PARTS, 1), entry(0, 5), entry(0, 1)]), Some((1, 2)));
}
