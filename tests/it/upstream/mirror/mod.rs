//! `upstream::Mirror`: what an upstream has left.

mod alone;
mod figures;
mod order;
mod provider;
mod support;
mod together;
