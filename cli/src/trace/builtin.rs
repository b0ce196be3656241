//! A bursty trace that needs no file: ten minutes of requests with a cost in tokens, the same on every machine.
//!
//! Each minute has 48 calm seconds with about 3 requests a second and 12 busy ones with about 40. Most requests cost
//! 50 to 400 tokens, one in six 1,000 to 4,000, and one in 500 asks for 20,000 to 60,000 at once. All is drawn in
//! integers from SplitMix64 (Steele, Lea and Flood 2014) with a fixed seed.

use super::time::{Stamps, Unit};
use super::{CostRule, Problem, Record};
use crate::text;

/// The only column.
pub(crate) const TOKENS: &str = "tokens";

const SEED: u64 = 0x746f_6c6c_6761_7465;
const LENGTH: u64 = 600 * SECOND;
const SECOND: u64 = 1_000_000;

pub(super) struct Builtin {
    random: SplitMix64,
    cost: CostRule,
    stamps: Stamps,
    now_micros: u64,
    line: u64,
}

impl Builtin {
    pub(super) fn new(cost: &CostRule) -> Result<Self, String> {
        if let Some(name) = cost.columns().iter().find(|name| *name != TOKENS) {
            return Err(format!(
                "built-in trace: no column is named {}; the only one is {TOKENS}",
                text::quoted(name)
            ));
        }
        let stamps = Stamps::new(Some(Unit::Micros));
        Ok(Self { random: SplitMix64(SEED), cost: cost.clone(), stamps, now_micros: 0, line: 0 })
    }

    pub(super) fn line(&self) -> u64 {
        self.line
    }

    pub(super) fn next(&mut self) -> Result<Option<Record>, Problem> {
        self.now_micros += self.gap();
        if self.now_micros >= LENGTH {
            return Ok(None);
        }
        self.line += 1;
        let bad = |what| Problem::at(self.line, what);
        let tokens = tokens(&mut self.random).to_string();
        let cost = self.cost.total(|_, _| Ok((&tokens).into())).map_err(bad)?;
        let stamp = super::stamp(&mut self.stamps, "time", &self.now_micros.to_string()).map_err(bad)?;
        Ok(Some(Record { line: self.line, stamp, cost, key: None, latency: None }))
    }

    /// The time to the next request, evenly drawn from 1 to twice the mean.
    fn gap(&mut self) -> u64 {
        let busy = self.now_micros / SECOND % 60 >= 48;
        self.random.between(1, if busy { SECOND / 20 } else { 2 * SECOND / 3 })
    }
}

fn tokens(random: &mut SplitMix64) -> u64 {
    match random.between(1, 500) {
        1 => random.between(20_000, 60_000),
        2..=84 => random.between(1_000, 4_000),
        _ => random.between(50, 400),
    }
}

struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from `low` to `high`; the bias of the remainder, below 2^-40, does not matter here.
    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_splitmix64() {
        let mut random = SplitMix64(1_234_567);
        let want = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([random.next(), random.next(), random.next()], want);
    }
}
