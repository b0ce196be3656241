//! `upstream`: what responses say.

mod adapt;
mod read;
mod vectors;
