//! Limits on work in flight.
