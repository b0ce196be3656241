//! Random schedules, under shuttle, of more threads and operations than loom can exhaust. Shuttle takes every ordering
//! for sequentially consistent; what weaker ones may show is loom's part.

#[cfg(shuttle)]
mod clocks;
#[cfg(shuttle)]
mod keyed;
#[cfg(shuttle)]
mod order;
#[cfg(shuttle)]
mod tokens;
#[cfg(shuttle)]
mod undo;

/// So that a run without the cfg cannot be mistaken for a proof.
#[cfg(not(shuttle))]
#[test]
fn no_schedule_is_here_without_cfg_shuttle() {
    println!("no schedule ran: RUSTFLAGS=\"--cfg shuttle\" is missing");
}
