//! Listening to an upstream: what it says about its own limits.
//!
//! A limiter that guesses an upstream's quota wastes it, or is punished for passing it. Most upstreams tell how much is left,
//! each in a way of its own. [`Reader`] brings that into one form, [`Reading`].

mod read;

pub use self::read::{
    Class, Dimension, IetfDraft, LONGEST, Period, Policy, Provider, Pushback, Reader, Reading, Reset,
    RetryAfter, RetrySource, Scope, Status, Window,
};
