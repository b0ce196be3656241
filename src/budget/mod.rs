//! Budgets for work whose cost is known only when it is done: reservations that are settled.
//!
//! A call to a language model, or of a tool, costs what it turns out to cost. So an estimate is *reserved*
//! before it starts, and *settled* when the cost is known: a [`Budget`] is a bucket that remembers what is
//! needed to do that exactly. A call is often within several limits: [`AllOf`] asks them as one. And an agent
//! that makes many calls is a [`Run`], with ceilings on what all of them may use.

mod all_of;
mod reserve;
mod run;

pub use self::all_of::{
    AllOf, AnyGrant, AnyLimit, BySize, Demand, Grant, Limit, Reading, Reason, Refused, acquire_all,
};
pub use self::reserve::{
    Account, Budget, BudgetBuilder, BudgetError, Charging, Estimate, Late, Progress, Reservation, Settled,
    Unsettled,
};
pub use self::run::{
    Call, Calling, Ceiling, Ceilings, Ended, FanOut, NoCall, Planned, Reserved, Run, Spent, ToolName,
    ToolTrace, Trace,
};
