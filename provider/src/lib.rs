//! A server on the loopback with the limits, headers and refusals of the usual providers, for tests of
//! clients.
//!
//! It counts in floats under a mutex and shares no code with tollgate. [`Settings`] say whom it behaves like
//! and how much it allows; a client under test speaks to it over a real socket, as to any upstream.
//!
//! | path | what it does |
//! |---|---|
//! | `/v1/chat/completions` | a call in OpenAI's form, that costs the tokens of its prompt and its answer; `"stream": true` gives server-sent events |
//! | any other, `?tokens=N` | a call that costs one request and `N` tokens |
//! | `/_control?key=value&...` | changes [`Settings`] |
//! | `/_reset?key=value&...` | the same, and fills the limits and counts from nothing |
//! | `/_stats` | what became of the calls, as JSON |

mod answer;
mod chat;
mod limit;
mod server;
mod settings;
mod state;

pub use self::server::run;
pub use self::settings::{Family, Mode, Settings};
