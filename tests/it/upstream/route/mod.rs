//! `upstream::Router`: which of several upstreams takes a call.

mod choose;
mod closed;
mod flow;
mod law;
mod simulated;
mod sockets;
mod support;
mod threads;
