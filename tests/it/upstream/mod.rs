//! `upstream`: what responses say, and what is made of it.

mod adapt;
#[cfg(feature = "tokio")]
mod client;
mod mirror;
mod read;
mod retry;
mod route;
mod vectors;
