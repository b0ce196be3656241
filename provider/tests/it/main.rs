//! The provider over real sockets, and tollgate's clients against it.

mod families;
mod provider;
mod shared_key;
mod support;
