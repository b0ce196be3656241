//! Strategies: quotas of every kind and schedules that sit on the boundaries.

use proptest::prelude::*;
use proptest::sample::select;

use crate::support::{DAY, FIFTY_YEARS, HOUR, MINUTE, S, YEAR};

/// `tokens` a `period` nanoseconds with a capacity of `burst`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain {
    pub(crate) tokens: u64,
    pub(crate) period: u64,
    pub(crate) burst: u64,
}

/// Any number, every size as likely as any other.
pub(crate) fn sized() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0..64_u32).prop_map(|(bits, shift)| (bits | 1 << 63) >> shift)
}

/// From one a year to ten a nanosecond.
pub(crate) fn rates() -> impl Strategy<Value = (u64, u64)> {
    let periods = || select(vec![S, MINUTE, HOUR, DAY, 30 * DAY, YEAR]);
    prop_oneof![
        (1..=8_u64, 1..=YEAR),
        (1..=1_000_000_u64, periods()),
        (1..=10_000_000_000_u64, Just(S)),
        (1..=10_u64, 1..=10_u64),
        (sized(), sized().prop_map(|period| period.min(YEAR))),
        select(vec![
            (1, YEAR),
            (10_000_000_000, S),
            (10, 1),
            (9, 1),
            (8, 1),
            (1, 1),
            (10, 13 * S),
            (150_000, MINUTE)
        ]),
    ]
    .prop_map(|(tokens, period)| (tokens.min(10 * YEAR), period.max(tokens.min(10 * YEAR).div_ceil(10))))
}

/// A rate and a capacity up to `2^60`, often the tokens of a period, often at the edge between the two scales.
pub(crate) fn quotas() -> impl Strategy<Value = Plain> {
    let burst = prop_oneof![
        (1..=10_u64).prop_map(Burst::Of),
        Just(Burst::OfAPeriod),
        sized().prop_map(|burst| Burst::Of(burst.min(1 << 60))),
        Just(Burst::Of(1 << 60)),
        (-1..=1_i64).prop_map(Burst::AtTheEdge),
    ];
    (rates(), burst).prop_map(|((tokens, period), burst)| Plain {
        tokens,
        period,
        burst: burst.of(tokens, period),
    })
}

/// Quotas on the exact scale with one unit a nanosecond, where a time to full tells the deficit to the unit.
pub(crate) fn exact_quotas() -> impl Strategy<Value = Plain> {
    (1..=1_000_000_000_u64, 1..=1_000_000_u64).prop_map(|(period, burst)| Plain { tokens: 1, period, burst })
}

#[derive(Clone, Copy, Debug)]
enum Burst {
    Of(u64),
    OfAPeriod,
    /// So far from the largest capacity that the exact scale holds.
    AtTheEdge(i64),
}

impl Burst {
    fn of(self, tokens: u64, period: u64) -> u64 {
        let q = period / crate::oracle::gcd(tokens.into(), period.into()) as u64;
        let burst = match self {
            Burst::Of(burst) => burst,
            Burst::OfAPeriod => tokens,
            Burst::AtTheEdge(offset) => (((1_u64 << 61) - 1) / q).saturating_add_signed(offset),
        };
        burst.clamp(1, 1 << 60)
    }
}

/// A cost by its meaning for the bucket.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cost {
    Zero,
    One,
    Capacity,
    AboveCapacity,
    Largest,
    /// So many 2^-16ths of the capacity.
    Part(u16),
    Of(u64),
}

impl Cost {
    pub(crate) fn of(self, burst: u64) -> u64 {
        match self {
            Cost::Zero => 0,
            Cost::One => 1,
            Cost::Capacity => burst,
            Cost::AboveCapacity => burst + 1,
            Cost::Largest => u64::MAX,
            Cost::Part(part) => ((u128::from(burst) * u128::from(part)) >> 16) as u64,
            Cost::Of(cost) => cost,
        }
    }
}

pub(crate) fn costs() -> impl Strategy<Value = Cost> {
    prop_oneof![
        6 => Just(Cost::One),
        3 => Just(Cost::Capacity),
        1 => Just(Cost::Zero),
        1 => Just(Cost::AboveCapacity),
        1 => Just(Cost::Largest),
        4 => any::<u16>().prop_map(Cost::Part),
        3 => (1..=4_u64).prop_map(Cost::Of),
        1 => sized().prop_map(Cost::Of),
    ]
}

/// A reading to begin with: near the origin, or after fifty years.
pub(crate) fn origins() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        0..1000_u64,
        Just(FIFTY_YEARS - YEAR),
        Just(FIFTY_YEARS - S),
        sized().prop_map(|t| t % FIFTY_YEARS)
    ]
}

/// When a step happens, seen from the step before.
#[derive(Clone, Copy, Debug)]
pub(crate) enum When {
    Same,
    Later(u64),
    /// So far from the reading at which a cost becomes due.
    Due(Cost, i64),
    /// So far from the reading at which the bucket becomes full.
    Full(i64),
}

pub(crate) fn whens() -> impl Strategy<Value = When> {
    prop_oneof![
        3 => Just(When::Same),
        2 => (1..=4_u64).prop_map(When::Later),
        2 => sized().prop_map(|span| When::Later(span % YEAR)),
        5 => (costs(), -2..=2_i64).prop_map(|(cost, offset)| When::Due(cost, offset)),
        2 => (-2..=2_i64).prop_map(When::Full),
    ]
}
