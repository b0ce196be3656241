//! Models of the bucket and its clocks through their public methods, run under loom in every interleaving.
//!
//! Each is named for its hazard and asserts the whole set of outcomes: none may be missing, none may be more. Buckets
//! get a token every nanosecond unless said otherwise, so a reading of 4 has brought four tokens.

#[cfg(loom)]
mod adjust;
#[cfg(loom)]
mod adjustable_shards;
#[cfg(loom)]
mod booking;
#[cfg(loom)]
mod budget;
#[cfg(loom)]
mod costs;
#[cfg(loom)]
mod give_back;
#[cfg(loom)]
mod inflight;
#[cfg(loom)]
mod keyed;
#[cfg(loom)]
mod keyed_change;
#[cfg(loom)]
mod last_token;
#[cfg(loom)]
mod non_decreasing;
#[cfg(loom)]
mod order;
#[cfg(loom)]
mod partial;
#[cfg(loom)]
mod pause;
#[cfg(loom)]
mod queue;
#[cfg(loom)]
mod reading;
#[cfg(loom)]
mod replace;
#[cfg(loom)]
mod retry;
#[cfg(loom)]
mod route;
#[cfg(loom)]
mod run;
#[cfg(loom)]
mod sharded;
#[cfg(loom)]
mod table;
#[cfg(loom)]
mod tree;
#[cfg(loom)]
mod undo;
#[cfg(loom)]
mod window;

/// So that a run without the cfg cannot be mistaken for a proof.
#[cfg(not(loom))]
#[test]
fn no_model_is_here_without_cfg_loom() {
    println!("no model ran: RUSTFLAGS=\"--cfg loom\" is missing");
}
