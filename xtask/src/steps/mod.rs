//! The steps, by what they look at.

pub(crate) mod examples;
pub(crate) mod features;
pub(crate) mod figures;
pub(crate) mod fuzz;
pub(crate) mod measures;
pub(crate) mod models;
pub(crate) mod mutants;
pub(crate) mod pictures;
pub(crate) mod proofs;
pub(crate) mod readme;
mod sample;
pub(crate) mod style;
pub(crate) mod suites;
pub(crate) mod targets;
pub(crate) mod twins;
