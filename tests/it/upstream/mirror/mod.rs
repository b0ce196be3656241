//! `upstream::Mirror`: what an upstream has left.

mod alone;
mod any;
mod figures;
mod learn;
mod order;
mod provider;
mod scopes;
mod support;
mod together;
