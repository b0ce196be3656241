//! A clock that steps, behind the adaptor that does not.

use tollgate::{Clock, Manual, NonDecreasing};
use tollgate_loom_tests::{any_below, at, each, leak, sample};

/// One thread steps the wall clock about, the others read: readings do not fall, and no more time passes than the wall
/// clock has moved forward.
#[test]
fn readings_do_not_fall_nor_run_ahead() {
    sample("clocks_do_not_fall_nor_run_ahead", 10_000, || {
        let wall = leak(Manual::starting_at(at(100)));
        let clock = leak(NonDecreasing::new(wall));
        let start = clock.now().as_u64();
        let passed = each(4, move |thread| {
            let mut forward = 0;
            let mut last = 0;
            for _ in 0..8 {
                if thread == 0 {
                    let (before, after) = (wall.now().as_u64(), 50 + any_below(100));
                    wall.set(at(after));
                    forward += after.saturating_sub(before);
                } else {
                    let reading = clock.now().as_u64();
                    assert!(reading >= last, "{reading} after {last}");
                    last = reading;
                }
            }
            forward
        });
        let (end, forward) = (clock.now().as_u64(), passed.iter().sum::<u64>());
        assert!(end >= start && end - start <= forward, "{start} to {end}, forward {forward}");
    });
}
