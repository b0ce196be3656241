//! Longer texts: why the promises hold, and how the source is laid out.

#[doc = include_str!("../docs/theory.md")]
pub mod theory {}

#[doc = include_str!("../docs/internals.md")]
pub mod internals {}
