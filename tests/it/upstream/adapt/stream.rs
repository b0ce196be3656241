//! Streams: latency to the first part, and silence.

use super::{MS, S, rate, send};
use tollgate::Nanos;

#[test]
fn a_stream_is_stalled_after_ten_silent_seconds() {
    let rate = rate();
    let mut stream = send(&rate);
    rate.clock().advance(20 * S);
    assert!(!stream.is_stalled() && stream.stalls_at().is_none(), "it has not begun");
    stream.progress();
    rate.clock().advance(5 * S);
    stream.progress();
    assert_eq!(stream.stalls_at(), Some(Nanos::from(35 * S)));
    assert!(!stream.is_stalled_at(Nanos::from(35 * S - MS)));
    assert!(stream.is_stalled_at(Nanos::from(35 * S)));
    stream.progress_at(Nanos::from(S));
    assert_eq!(stream.stalls_at(), Some(Nanos::from(35 * S)), "an older reading changes nothing");
    stream.stalled_at(Nanos::from(35 * S));
    assert_eq!(rate.permille(), 800);
}

/// A minute of output after a second is no latency of a minute.
#[test]
fn the_latency_of_a_stream_is_that_of_its_first_part() {
    let rate = rate();
    let mut stream = send(&rate);
    rate.clock().advance(S);
    stream.progress();
    rate.clock().advance(60 * S);
    stream.succeeded();
    assert_eq!(rate.permille(), 1_000);
    let mut stream = send(&rate);
    rate.clock().advance(31 * S);
    stream.progress();
    stream.succeeded();
    assert_eq!(rate.permille(), 800);
}

#[test]
fn streams_that_stall_together_are_one_event() {
    let rate = rate();
    let streams: Vec<_> = (0..10).map(|_| send(&rate)).collect();
    streams.into_iter().for_each(|stream| stream.stalled());
    assert_eq!(rate.permille(), 800);
}
