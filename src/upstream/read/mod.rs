//! What an upstream's response says about its limits, in one form.

mod body;
mod fields;
mod grpc;
mod ietf;
mod moment;
mod names;
mod number;
mod provider;
mod reader;
mod reading;
mod retry;
mod window;

use core::time::Duration;

pub use self::ietf::{IetfDraft, Policy};
pub use self::provider::Provider;
pub use self::reader::Reader;
pub use self::reading::{Class, Reading, Scope};
pub use self::retry::{Pushback, RetryAfter, RetrySource};
pub(super) use self::window::share;
pub use self::window::{Dimension, Period, Reset, Status, Window};

/// No wait or reset that was read is longer: 366 days. One of this length was that long or longer.
pub const LONGEST: Duration = Duration::from_secs(366 * 86_400);
