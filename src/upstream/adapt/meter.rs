//! The tokens: a bucket of plain numbers whose rate is a part of a base.

use std::time::Duration;

use super::settings::WHOLE;
use crate::decision::Denied;
use crate::gcra::Gcra;
use crate::held::Held;
use crate::level::Level;
use crate::quota::Quota;

/// A bucket at a part of the base's rate, and with the base's capacity. It stands under the limiter's lock, so word and rules
/// change together.
#[derive(Debug)]
pub(super) struct Meter {
    base: Quota,
    permille: u32,
    gcra: Gcra,
    arrival: u64,
    /// The latest reading that it was asked or changed with.
    latest: u64,
    /// The reading of the last change. At one from before it nothing is admitted: that time was counted at another rate.
    since: u64,
}

impl Meter {
    /// Holding what the base says, at a rate that is known to be one.
    pub(super) fn new(base: Quota, permille: u32, now: u64) -> Self {
        let gcra = Gcra::new(&part(&base, permille).unwrap_or(base));
        let arrival = gcra.holding(gcra.issued(now), base.initial_tokens());
        Self { base, permille, gcra, arrival, latest: now, since: 0 }
    }

    /// Whether the base can be run at that part of its rate. If it can at two, it can at all between them.
    pub(super) fn can_run_at(base: &Quota, permille: u32) -> bool {
        base.tokens() <= u64::MAX / u64::from(permille)
            && base.period().checked_mul(WHOLE).is_some()
            && part(base, permille).is_some()
    }

    /// The tokens of the cost are taken, or not one of them.
    pub(super) fn admit(&mut self, cost: u64, now: u64) -> Result<(), Denied> {
        let asked = self.gcra.cost(cost)?;
        let is_open = now >= self.since && self.gcra.counts(now);
        let next = is_open.then(|| self.gcra.admit(self.arrival, self.gcra.issued(now), asked)).flatten();
        self.arrival = next.ok_or_else(|| self.gcra.not_yet(self.arrival, now, asked, self.since))?;
        self.latest = self.latest.max(now);
        Ok(())
    }

    /// Takes what is there. A debt stays.
    pub(super) fn drain(&mut self, now: u64) {
        self.arrival = self.arrival.max(self.gcra.holding(self.gcra.issued(now), 0));
    }

    /// Another rate, with the tokens that are held: a change gives none.
    pub(super) fn run_at(&mut self, permille: u32, now: u64) {
        let Some(quota) = part(&self.base, permille).filter(|_| permille != self.permille) else { return };
        let gcra = Gcra::new(&quota);
        // Not before a reading that tokens were admitted at: the time up to it has been counted.
        let now = now.max(self.latest);
        self.arrival = Held::Tokens.carried(&self.gcra, &gcra, self.arrival, now);
        (self.permille, self.gcra, self.latest, self.since) = (permille, gcra, now, now);
    }

    pub(super) fn permille(&self) -> u32 {
        self.permille
    }

    pub(super) fn quota(&self) -> Quota {
        part(&self.base, self.permille).unwrap_or(self.base)
    }

    /// What is there, with a pause until `hold`.
    pub(super) fn peek(&self, now: u64, hold: u64) -> Level {
        Level::new(self.gcra, self.arrival, now, hold.max(self.since))
    }

    /// So many tokens in so many nanoseconds, in parts per thousand of the base's rate, rounded down.
    pub(super) fn permille_of(&self, tokens: u64, nanos: u64) -> u32 {
        let flow = u128::from(tokens).saturating_mul(self.base.period().as_nanos());
        let base = u128::from(self.base.tokens()) * u128::from(nanos);
        let permille = flow.saturating_mul(WHOLE.into()).checked_div(base).unwrap_or(u128::MAX);
        u32::try_from(permille).unwrap_or(u32::MAX)
    }
}

/// The base with so many thousandths of its rate, in lowest terms; `None` if there is no such quota.
fn part(base: &Quota, permille: u32) -> Option<Quota> {
    let tokens = base.tokens().checked_mul(permille.into())?;
    let common = gcd(tokens, WHOLE.into());
    let period: Duration = base.period().checked_mul(WHOLE / u32::try_from(common).ok()?)?;
    Quota::with_burst(tokens / common, period, base.capacity()).ok()
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
