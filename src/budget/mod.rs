//! Work of unknown cost: what it will cost, what it did cost, and budgets that hold until that is known.
//!
//! A call to a language model, or of a tool, costs what it turns out to cost. So an estimate is *reserved* before it starts,
//! and *settled* when the cost is known: a [`Budget`] is a bucket that remembers what is needed to do that exactly. A call is
//! often within several limits: [`AllOf`] asks them as one. And an agent that makes many calls is a [`Run`], with ceilings on what
//! all of them may use.
//!
//! | to | use |
//! |---|---|
//! | charge an estimate, and settle it | [`Budget`] and [`Reservation`] |
//! | ask several limits at once | [`AllOf`], or [`acquire_all`] for a list |
//! | end an agent's loop at its ceilings | [`Run`] |
//! | count the tokens of a text | [`CountTokens`]: [`CharsPerToken`], [`BytesPerToken`], or a tokenizer |
//! | correct a count by what it turned out to be | [`Calibrated`] |
//! | estimate an output that is not there yet | [`OutputEstimator`] on a [`History`] |
//! | bring a provider's usage figures into one form | [`Shape`] and [`Usage`] |
//! | turn usage into what a limit counts | [`Weights`] |
//! | turn usage into money | [`PriceList`], [`Price`] and [`Spend`] |
//! | share an allowance by guarantees that are lent while they are not used | [`tree`] |
//! | declare by name, in a file, what a program shares | `allowances` |
//!
//! Tokens and money are two limits. A cached input may cost a tenth of its price and still count in full against a
//! quota, so neither is worked out from the other.
//!
//! All of it is arithmetic on whole numbers, exact until it is rounded once, at the end and against the caller.

mod all_of;
#[cfg(feature = "allowances")]
pub mod allowances;
mod decimal;
mod estimate;
mod ratio;
mod reserve;
mod run;
mod spend;
pub mod tree;
mod usage;

#[cfg(feature = "window")]
pub use self::all_of::Counted;
pub use self::all_of::{
    AllOf, AnyGrant, AnyLimit, BySize, CallTime, Demand, Grant, Limit, Reading, Reason, Refused, acquire_all,
};
pub use self::estimate::{
    BytesPerToken, Calibrated, CharsPerToken, CountTokens, Estimate, EstimateError, Figure, History,
    OutputEstimator, PerKey, Percentile, WithFallback,
};
pub use self::ratio::{Ratio, RatioError};
pub use self::reserve::{
    Account, Budget, BudgetBuilder, BudgetError, ById, Charging, Late, NotReserved, NotSettled, Progress,
    Reservation, Settled, Unsettled,
};
pub use self::run::{
    Call, Calling, Ceiling, Ceilings, Ended, FanOut, NoCall, Planned, Reserved, Run, Spent, ToolName,
    ToolTrace, Trace,
};
pub use self::spend::{Carry, Currency, Price, PriceError, PriceList, Spend, Tier, UnknownModel};
pub use self::usage::{Absent, Reported, Shape, Side, TokenClass, Usage, Weights};
