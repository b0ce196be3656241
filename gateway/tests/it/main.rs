//! The gateway as it is started, over real sockets.

mod calls;
mod page;
mod support;
mod trace;
