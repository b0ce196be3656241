//! `upstream::Mirror`: what an upstream has left.

mod alone;
mod figures;
mod provider;
mod support;
mod together;
