//! An LLM gateway that puts tollgate together: an example to run and to copy. `README.md` has the path of a
//! request.

mod admission;
mod ask;
mod estimates;
mod failure;
mod figures;
mod gateway;
pub mod load;
pub mod providers;
mod runs;
pub mod settings;
mod status;
mod stream;
mod upstreams;

use std::error::Error;

pub use self::gateway::Gateway;

/// What keeps it from starting.
pub type Fault = Box<dyn Error + Send + Sync>;
