//! The gateway as it is started, over real sockets.

mod answers;
mod calls;
mod page;
mod support;
mod trace;
