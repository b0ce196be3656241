//! What is asked of a limiter, and the audit of what it answered.

use std::fmt;
use std::time::Duration;
use tollgate::{Fill, Quota};

/// A way of loading a limiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scenario {
    /// 10^9 tokens a second, the bucket always full: every call is admitted.
    Admit,
    /// 10^6 tokens a second out of a stock of 4 * 10^9: admitted, neither full nor empty.
    Stock,
    /// A token every second call: half is refused, in no order a branch predictor could learn.
    Boundary,
    /// A token an hour, none left: every call is refused.
    Deny,
    /// As [`Scenario::Admit`], with costs from 1 to 16.
    Weighted,
    /// Clumps of twice the capacity on a full bucket, with pauses (not timed) in which it fills again.
    Burst,
}

impl Scenario {
    /// All of them, in the order of the tables.
    pub const ALL: [Self; 6] =
        [Self::Admit, Self::Stock, Self::Boundary, Self::Deny, Self::Weighted, Self::Burst];

    /// The name in tables and on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Admit => "admit",
            Self::Stock => "stock",
            Self::Boundary => "boundary",
            Self::Deny => "deny",
            Self::Weighted => "weighted",
            Self::Burst => "burst",
        }
    }

    /// The scenario of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scenario| scenario.name() == name)
    }

    /// The quota for a limiter of which `call_nanos` pass between two calls, whose refill comes in steps of
    /// `grain_nanos` (0: it does not).
    ///
    /// Where the limiter must run dry, a token takes a whole number of nanoseconds, so that no limiter has to round,
    /// and the capacity covers two steps of the refill, so that none starves for its coarseness.
    pub fn quota(self, call_nanos: f64, grain_nanos: u64) -> Quota {
        match self {
            Self::Admit | Self::Weighted => quota(1_000_000_000, SECOND, 4_000_000_000, Fill::Full),
            Self::Stock => quota(1_000_000, SECOND, 4_000_000_000, Fill::Full),
            Self::Deny => quota(1, HOUR, 1, Fill::Empty),
            Self::Boundary => paced(2.0 * call_nanos, 100, grain_nanos, Fill::Empty),
            Self::Burst => paced(8.0 * call_nanos, CLUMP, grain_nanos, Fill::Full),
        }
    }
}

/// Capacity, and half of a clump, in [`Scenario::Burst`] for limiters that refill continuously.
pub const CLUMP: u64 = 256;

const SECOND: u64 = 1_000_000_000;
const HOUR: u64 = 3600 * SECOND;

/// As [`Scenario::Admit`], with a rate that only the binary scale can hold.
pub fn admit_binary() -> Quota {
    quota(999_999_937, SECOND, 4_000_000_000, Fill::Full)
}

/// As [`Scenario::Stock`], with a rate that only the binary scale can hold.
pub fn stock_binary() -> Quota {
    quota(999_983, SECOND, 4_000_000_000, Fill::Full)
}

/// As [`Scenario::Deny`], with a rate that only the binary scale can hold.
pub fn deny_binary() -> Quota {
    quota(11, 11 * HOUR + 19, 1, Fill::Empty)
}

fn paced(token_nanos: f64, capacity: u64, grain_nanos: u64, fill: Fill) -> Quota {
    let token_nanos = (token_nanos.ceil() as u64).max(1);
    let capacity = capacity.max(2 * grain_nanos / token_nanos);
    quota(1, token_nanos, capacity, fill)
}

fn quota(tokens: u64, period_nanos: u64, capacity: u64, fill: Fill) -> Quota {
    Quota::with_burst(tokens, Duration::from_nanos(period_nanos), capacity)
        .and_then(|quota| quota.fill(fill))
        .expect("the quotas of the benchmarks are representable")
}

/// The most that `quota` may admit in `elapsed_nanos`: `B + r*t`, rounded down.
pub fn bound(quota: Quota, elapsed_nanos: u64) -> u64 {
    let refilled = u128::from(quota.tokens()) * u128::from(elapsed_nanos) / quota.period().as_nanos();
    u64::try_from(refilled).unwrap_or(u64::MAX).saturating_add(quota.capacity())
}

/// What was asked, what was admitted, and in how much time by the limiter's own clock. Counts are tokens.
#[derive(Clone, Copy, Debug)]
pub struct Account {
    /// Tokens asked for.
    pub offered: u64,
    /// Tokens admitted.
    pub admitted: u64,
    /// From before the first call to after the last one.
    pub elapsed_nanos: u64,
}

/// What an account must satisfy.
#[derive(Clone, Copy, Debug)]
pub enum Audit {
    /// Everything was admitted.
    All,
    /// Nothing was admitted.
    Nothing,
    /// At most `B + r*t` and the limiter's stated slack, and at least `share` of what refill and offer allowed.
    Bound {
        /// The limit that held.
        quota: Quota,
        /// Tokens allowed on top, see [`crate::Contender::slack`].
        slack: u64,
        /// Part of `min(offered, r*t)` that must have been admitted.
        share: f64,
    },
}

/// Why an account does not hold.
#[derive(Clone, Debug)]
pub enum Fault {
    /// More was admitted than the bound allows: the limiter is wrong.
    Over {
        /// The account at fault.
        account: Account,
        /// The most it could have admitted.
        bound: u64,
    },
    /// Less was admitted than the machine could explain: the sample says nothing, or the limiter is wrong.
    Under {
        /// The account at fault.
        account: Account,
        /// The least it should have admitted.
        least: u64,
    },
}

impl Audit {
    /// Checks an account.
    pub fn check(&self, account: Account) -> Result<(), Fault> {
        let (least, most) = self.range(account);
        if account.admitted > most {
            return Err(Fault::Over { account, bound: most });
        }
        if account.admitted < least {
            return Err(Fault::Under { account, least });
        }
        Ok(())
    }

    fn range(&self, account: Account) -> (u64, u64) {
        match *self {
            Self::All => (account.offered, account.offered),
            Self::Nothing => (0, 0),
            Self::Bound { quota, slack, share } => {
                let most = bound(quota, account.elapsed_nanos);
                let sustained = (most - quota.capacity()).min(account.offered);
                ((sustained as f64 * share) as u64, most.saturating_add(slack))
            }
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Over { account, .. } | Self::Under { account, .. }) = self;
        write!(
            f,
            "admitted {} of {} offered in {} ns, ",
            account.admitted, account.offered, account.elapsed_nanos
        )?;
        match self {
            Self::Over { bound, .. } => write!(f, "more than the bound of {bound}"),
            Self::Under { least, .. } => write!(f, "less than {least}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bound_is_capacity_and_refill() {
        let two_a_second = quota(2, SECOND, 3, Fill::Full);
        assert_eq!(bound(two_a_second, 0), 3);
        assert_eq!(bound(two_a_second, SECOND / 2 - 1), 3);
        assert_eq!(bound(two_a_second, SECOND / 2), 4);
    }

    #[test]
    fn audit_catches_both_sides() {
        let audit = Audit::Bound { quota: quota(1, 10, 100, Fill::Full), slack: 0, share: 0.5 };
        let account = |admitted| Account { offered: 2000, admitted, elapsed_nanos: 10_000 };
        assert!(audit.check(account(1100)).is_ok());
        assert!(matches!(audit.check(account(1101)), Err(Fault::Over { bound: 1100, .. })));
        assert!(audit.check(account(500)).is_ok());
        assert!(matches!(audit.check(account(499)), Err(Fault::Under { least: 500, .. })));
        assert!(matches!(Audit::Nothing.check(account(1)), Err(Fault::Over { .. })));
        assert!(matches!(Audit::All.check(account(1999)), Err(Fault::Under { .. })));
    }

    #[test]
    fn boundary_quota_covers_the_grain() {
        let quota = Scenario::Boundary.quota(10.0, 1_000_000);
        assert_eq!(quota.period(), Duration::from_nanos(20));
        assert_eq!(quota.capacity(), 100_000);
        assert_eq!(Scenario::named("boundary"), Some(Scenario::Boundary));
    }
}
