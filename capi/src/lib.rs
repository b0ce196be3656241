//! The C interface of tollgate: a [bucket] that all processes of a machine share, and a [table] of
//! limits by key in one process. `include/tollgate.h` is written from it.
//!
//! # Rules for callers
//!
//! * A handle comes from a function with an out-parameter and goes to the `_free` of its kind, once. Threads may use one
//!   at the same time; freeing is for whoever has it alone. A region may be freed before its buckets.
//! * Functions answer with a [`Status`]: 0 or above is an answer, below 0 something is wrong, and
//!   [`tollgate_error`] has a text about it.
//! * A null pointer, text that is not UTF-8, or a number out of range is answered with a status. Any other pointer must
//!   be what the parameter says; nothing can check that.
//! * Nothing unwinds into C, and nothing exits.
//!
//! Texts of quotas are those of the library: `500k/min burst 750k`.

#![allow(unsafe_code, reason = "a C interface takes pointers; each block says what it relies on")]

mod arguments;
pub mod bucket;
mod outcome;
pub mod table;

pub use self::outcome::{Level, Status, tollgate_error, tollgate_retry_after_seconds};
