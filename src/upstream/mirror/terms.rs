//! Another limit than before.

use core::time::Duration;

use super::cell::Cell;
use crate::gcra::Gcra;
use crate::quota::Quota;

impl Cell {
    /// The tokens of a period and the capacity that a told limit stands for, both no more than configured.
    ///
    /// Where the two differ the limit may be either: it is taken for the one that is nearer, by their ratio, and the other becomes
    /// lower with it.
    pub(super) fn terms_of(&self, limit: u64) -> (u64, u64) {
        let (tokens, capacity) = (self.configured.tokens(), self.configured.capacity());
        let (smaller, larger) = (tokens.min(capacity), tokens.max(capacity));
        let is_nearer_to_larger =
            u128::from(limit) * u128::from(limit) >= u128::from(smaller) * u128::from(larger);
        let whole = if is_nearer_to_larger { larger } else { smaller };
        let limit = limit.min(whole);
        let part = |of: u64| {
            let part = u128::from(of) * u128::from(limit) / u128::from(whole);
            u64::try_from(part).unwrap_or(u64::MAX).max(1)
        };
        (part(tokens), part(capacity))
    }

    /// Puts the tokens of a period and the capacity to these. It gives nothing at once: where there are fewer tokens it keeps what
    /// is missing, where there are more what is there.
    pub(super) fn take_terms(&mut self, (tokens, capacity): (u64, u64), now: u64) {
        if let Ok(quota) = Quota::with_burst(tokens, self.quota.period(), capacity) {
            self.take(quota, now);
        }
    }

    /// Puts the time in which the tokens of a period are issued to this.
    pub(super) fn take_period(&mut self, period: Duration, now: u64) {
        if let Ok(quota) = Quota::with_burst(self.quota.tokens(), period, self.quota.capacity()) {
            self.take(quota, now);
        }
    }

    fn take(&mut self, quota: Quota, now: u64) {
        let issued = self.gcra.issued(now);
        let deficit = self.arrival.saturating_sub(issued);
        let (missing, there) = (self.missing(deficit), self.gcra.available(deficit));
        let grows = quota.capacity() > self.quota.capacity();
        (self.quota, self.gcra) = (quota, Gcra::new(&quota));
        let missing = if grows { quota.capacity().saturating_sub(there) } else { missing };
        self.arrival = self.gcra.lacking(self.gcra.issued(now), self.gcra.units(missing));
        self.known = 0;
        let limit = quota.tokens();
        if let Some(windowed) = &mut self.windowed {
            let used = if grows { limit } else { windowed.limit }.saturating_sub(windowed.left);
            windowed.change_limit(limit, used);
        }
        if let Some(share) = &mut self.share {
            share.restart(self.arrival, limit);
        }
    }

    /// Tokens missing at a deficit, rounded up; in debt more than the capacity.
    fn missing(&self, deficit: u64) -> u64 {
        let there = self.gcra.available(deficit);
        self.quota.capacity().saturating_sub(there).saturating_add(self.gcra.debt(deficit))
    }
}
