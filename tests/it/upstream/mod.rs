//! `upstream`: what responses say, and what is made of it.

mod mirror;
mod read;
mod retry;
mod route;
mod vectors;
