//! `upstream::Mirror`: what an upstream has left.

mod figures;
mod support;
