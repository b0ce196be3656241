//! A throttle around a program's own HTTP client: what waits, what is sent, and what is learnt from the answer.

mod call;
mod nudge;
mod refusal;
mod throttle;

pub use self::call::Call;
pub use self::refusal::{NotSent, RunError};
pub use self::throttle::Throttle;
