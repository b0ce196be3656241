//! Another limit than before.

use core::time::Duration;

use super::cell::Cell;
use crate::gcra::Gcra;

impl Cell {
    /// Puts the limit to `limit` tokens a period, more than 0 and no more than configured, with the capacity in proportion. It gives nothing at once: a lower one keeps what is missing, a higher one what is there.
    pub(super) fn change_terms(&mut self, limit: u64, period: Duration, now: u64) {
        let configured = self.configured;
        let part = u128::from(configured.capacity()) * u128::from(limit) / u128::from(configured.tokens());
        let capacity = u64::try_from(part).unwrap_or(u64::MAX).max(1);
        let quota = crate::quota::Quota::with_burst(limit, period, capacity);
        let Ok(quota) = quota else { return };
        let issued = self.gcra.issued(now);
        let deficit = self.arrival.saturating_sub(issued);
        let (missing, there) = (self.missing(deficit), self.gcra.available(deficit));
        let grows = limit > self.quota.tokens();
        (self.quota, self.gcra) = (quota, Gcra::new(&quota));
        let missing = if grows { capacity.saturating_sub(there) } else { missing };
        self.arrival = self.gcra.lacking(self.gcra.issued(now), self.gcra.units(missing));
        self.known = 0;
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
