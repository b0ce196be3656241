//! What waits: order, deadlines and bounds, without a clock.
