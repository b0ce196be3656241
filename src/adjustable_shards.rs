//! One allowance leased to cores, whose quota changes: a root that is [`Adjustable`] under the shards of [`Sharded`].

use crate::adjust::{Adjustable, Held};
use crate::clock::Clock;
use crate::decision::Denied;
use crate::level::Level;
use crate::nanos::Nanos;
use crate::quota::Quota;
use crate::sharded::{Lender, Plan, Sharded};

impl<C: Clock> Sharded<C, Adjustable<C>> {
    /// An allowance divided by `plan`, on a clock of the caller's, whose quota can be [changed](Self::adjust). Needs the
    /// feature `adjust`.
    ///
    /// Spending credit costs what it costs without; what goes to the root costs as much more as asking an
    /// [`Adjustable`].
    pub fn adjustable(plan: Plan, clock: C) -> Self {
        Self::with_root(plan, Adjustable::with_clock(plan.root_quota(), clock))
    }

    /// Changes rate and capacity, both as the quota says, from now on. Its initial fill is ignored. Needs the feature
    /// `adjust`.
    ///
    /// The new capacity `B'` is divided as the plan divided the old one: the ceiling of each shard becomes `C*B'/B`, rounded
    /// down, with `C` and `B` those of the plan that was made, and the root has the rest. A capacity that leaves the shards
    /// no token makes a plain bucket, until a larger one comes.
    ///
    /// What the root holds becomes what `held` says. The credit of each shard stays, as far as the new ceiling has room
    /// for it; what is above is lost, at most `C - C'` tokens for each shard. As ceilings are whole tokens, the root's part
    /// differs from the proportion by less than `N` tokens; where that makes it larger although the whole is not, tokens are
    /// kept whatever `held` says.
    ///
    /// The same rate and capacity as before change nothing. Changes by several threads take turns.
    ///
    /// # The bound
    ///
    /// That of [`Adjustable`], for the root and all shards together: in every interval of the clock no more is admitted
    /// than the capacity at its beginning, plus what the rate in force at each moment issues in it, plus, unless tokens are
    /// kept, what each change in the interval makes the capacity larger by. A call that another thread has begun already may
    /// complete with credit from before the change, one call a thread; see [pauses](crate::sharded#pauses).
    ///
    /// ```
    /// use tollgate::adjust::Held;
    /// use tollgate::sharded::{Plan, Sharded};
    /// use tollgate::{Manual, quota};
    ///
    /// let plan = Plan::new(&quota!("1000/s"), 4, 50)?;
    /// let limit = Sharded::adjustable(plan, Manual::new());
    /// assert_eq!(limit.max_cost(), 800);
    ///
    /// limit.adjust(quota!("100/s"), Held::Tokens);
    /// assert_eq!((limit.plan().ceiling(), limit.max_cost()), (5, 80));
    /// assert_eq!(limit.acquire_up_to(1000), 80);
    /// # Ok::<(), tollgate::sharded::PlanError>(())
    /// ```
    pub fn adjust(&self, quota: Quota, held: Held) {
        self.divide(&quota, |root, from, to| root.adjust(to.root_quota(), of_the_root(held, from, to)));
    }
}

/// The choice for the root. Ceilings are whole tokens, so the root may grow by a few where the whole does not; that gives
/// nothing. The other way round the choice stands, or changes in a circle would give what this has not taken.
fn of_the_root(held: Held, from: &Plan, to: &Plan) -> Held {
    let root_grows = to.root_capacity() > from.root_capacity();
    let whole_grows = to.quota().capacity() > from.quota().capacity();
    if root_grows && !whole_grows { Held::Tokens } else { held }
}

impl<C: Clock> Lender<C> for Adjustable<C> {
    const CHANGES: bool = true;

    #[inline]
    fn lend(&self, least: u64, most: u64, part: u32) -> Result<u64, Denied> {
        Self::lend(self, least, most, part)
    }

    fn charge(&self, cost: u64) {
        Self::charge(self, cost);
    }

    fn refund(&self, cost: u64) {
        Self::refund(self, cost);
    }

    fn pause_until(&self, until: Nanos) {
        Self::pause_until(self, until);
    }

    fn resume(&self) {
        Self::resume(self);
    }

    fn peek(&self) -> Level {
        Self::peek(self)
    }

    fn quota(&self) -> Quota {
        Self::quota(self)
    }

    fn clock(&self) -> &C {
        Self::clock(self)
    }
}
