//! `upstream`: what responses say.

mod read;
mod vectors;
