//! Any operations at any readings: the bucket answers as the exact rational model does.
//!
//! The model, and the pair of a bucket and a model that checks every answer, are those of the integration tests: equal
//! on the exact scale, at most 1 ns late and early by less than a unit on the binary one.

#![no_main]

#[path = "../../tests/it/oracle.rs"]
mod oracle;
#[allow(dead_code, unused_imports, reason = "the integration tests use more of it")]
#[path = "../../tests/it/support/mod.rs"]
mod support;

use arbitrary::{Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;

use crate::oracle::Answer;
use crate::support::{DAY, FIFTY_YEARS, Pair, at, over_the_bound};

/// Ten tokens a nanosecond are the highest rate.
const MOST_TOKENS_A_NANOSECOND: u64 = 10;

#[derive(Arbitrary, Debug)]
struct Schedule {
    quota: Plain,
    held: u64,
    start: Span,
    steps: Vec<(Wait, Step)>,
}

/// A quota that can be represented.
#[derive(Debug)]
struct Plain {
    tokens: u64,
    period: u64,
    burst: u64,
}

/// Nanoseconds of every magnitude.
#[derive(Debug)]
struct Span(u64);

#[derive(Arbitrary, Debug)]
enum Wait {
    None,
    For(Span),
    /// Until beside the reading at which the cost is due.
    Due(Cost, i8),
    Full(i8),
    /// Back to an older reading, as of a thread that stalled. The exact scale's answers are the model's there too.
    Back(Span),
}

#[derive(Arbitrary, Debug)]
enum Cost {
    One,
    Few(u8),
    Burst,
    BesideBurst(i8),
    Any(u64),
}

#[derive(Arbitrary, Debug)]
enum Step {
    Try(Cost),
    Ask(Cost),
    TakeUpTo(Cost),
    Drain,
    Charge(Cost),
    ChargeAndUndo(Cost),
    Refund(Cost),
    Pause(Span),
    Resume,
    Reset,
}

impl<'a> Arbitrary<'a> for Span {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let magnitude = bytes.int_in_range(0..=60)?;
        Ok(Self(bytes.int_in_range(0..=1_u64 << magnitude)?))
    }
}

impl<'a> Arbitrary<'a> for Plain {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let period = Span::arbitrary(bytes)?.0.max(1);
        let most = period.saturating_mul(MOST_TOKENS_A_NANOSECOND);
        let tokens = Span::arbitrary(bytes)?.0.clamp(1, most);
        Ok(Self { tokens, period, burst: Span::arbitrary(bytes)?.0.max(1) })
    }
}

impl Cost {
    fn of(&self, burst: u64) -> u64 {
        match *self {
            Self::One => 1,
            Self::Few(cost) => cost.into(),
            Self::Burst => burst,
            Self::BesideBurst(offset) => burst.saturating_add_signed(offset.into()),
            Self::Any(cost) => cost,
        }
    }
}

struct Walk {
    pair: Pair,
    burst: u64,
    now: u64,
    /// What was admitted since something was given back, which may widen the bound.
    admitted: Vec<(u64, u64)>,
}

impl Walk {
    fn go_on(&mut self, wait: &Wait) -> bool {
        if let (Wait::Back(span), true) = (wait, self.pair.is_exact()) {
            self.now = self.now.saturating_sub(span.0);
        }
        let now = u128::from(self.now);
        let due = match wait {
            Wait::None | Wait::Back(_) => now,
            Wait::For(span) => now + u128::from(span.0),
            Wait::Due(cost, offset) => match cost.of(self.burst) {
                cost if (1..=self.burst).contains(&cost) => {
                    self.pair.model.earliest(cost, self.now).saturating_add_signed((*offset).into())
                }
                _ => now,
            },
            Wait::Full(offset) => {
                (now + self.pair.model.to_full(self.now)).saturating_add_signed((*offset).into())
            }
        };
        let counts = due <= u128::from(FIFTY_YEARS);
        if counts {
            self.now = self.now.max(due as u64);
        }
        counts
    }

    fn step(&mut self, step: &Step) {
        let (now, burst) = (self.now, self.burst);
        match step {
            Step::Try(cost) => {
                let cost = cost.of(burst);
                if self.pair.try_take(cost, now) == Answer::Admitted {
                    self.admitted.push((now, cost));
                }
            }
            Step::Ask(cost) => drop(self.pair.ask(cost.of(burst), now)),
            Step::TakeUpTo(cost) => {
                let taken = self.pair.take_up_to(cost.of(burst), now);
                self.admitted.push((now, taken));
            }
            Step::Drain => self.pair.drain(now),
            Step::Charge(cost) => self.pair.charge(cost.of(burst).clamp(1, burst), now),
            Step::ChargeAndUndo(cost) => self.charge_and_undo(cost.of(burst).clamp(1, burst)),
            Step::Refund(cost) => {
                self.pair.refund(cost.of(burst), now);
                self.admitted.clear();
            }
            Step::Pause(span) => self.pair.pause_until(now + span.0 % DAY),
            Step::Resume => self.pair.resume(),
            Step::Reset => self.reset(),
        }
        self.pair.check_level(self.now);
    }

    /// Undone at once all of it comes back, so the level is what it was.
    fn charge_and_undo(&mut self, cost: u64) {
        let level = |pair: &Pair| format!("{:?}", pair.bucket.peek_at(at(self.now)));
        let before = level(&self.pair);
        self.pair.bucket.charge_at(cost, at(self.now)).undo_at(at(self.now));
        assert_eq!(before, level(&self.pair), "cost {cost} undone at {}", self.now);
        self.pair.model.charge(cost, self.now);
        self.pair.model.refund(cost, self.now);
    }

    /// The bucket was filled to `held` at the start, and is so again.
    fn reset(&mut self) {
        self.pair.bucket.reset_at(at(self.now));
        let held = self.pair.bucket.quota().initial_tokens();
        self.pair.model = self.pair.model.clone().holding(held, self.now);
        self.admitted.clear();
    }
}

fuzz_target!(|schedule: Schedule| {
    let Plain { tokens, period, burst } = schedule.quota;
    let pair = Pair::holding(tokens, period, burst, schedule.held % (burst + 1), schedule.start.0);
    let mut walk = Walk { pair, burst, now: schedule.start.0, admitted: Vec::new() };
    for (wait, step) in schedule.steps.iter().take(200) {
        if !walk.go_on(wait) || !fits(&walk) {
            break;
        }
        walk.step(step);
    }
    assert_eq!(over_the_bound(&walk.admitted, &walk.pair.model, walk.pair.scale), None);
});

/// Whether a debt of one more capacity is far from where debts saturate, which the model does elsewhere.
fn fits(walk: &Walk) -> bool {
    walk.pair.bucket.peek_at(at(walk.now)).debt() < walk.burst
}
