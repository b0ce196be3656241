//! Layers in real servers, asked by real clients over sockets of this machine.

mod axum_server;
mod cases;
mod hyper_server;
mod metrics;
mod support;
mod tonic_server;
