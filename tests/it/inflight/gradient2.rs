//! The published gradient once more, written down from `Gradient2Limit` of Netflix' concurrency-limits as plainly as it
//! stands there.

use tollgate::inflight::{Algorithm, Sample};

/// With the published defaults. It does not look at drops.
#[derive(Default)]
pub(crate) struct Gradient2 {
    count: u32,
    sum: f64,
    long: f64,
}

impl Algorithm for Gradient2 {
    fn next(&mut self, estimate: f64, sample: &Sample) -> f64 {
        let rtt = sample.latency.as_nanos() as f64;
        if self.count < 10 {
            self.count += 1;
            self.sum += rtt;
            self.long = self.sum / f64::from(self.count);
        } else {
            let factor = 2.0 / (600.0 + 1.0);
            self.long = self.long * (1.0 - factor) + rtt * factor;
        }
        let long = self.long;
        if long / rtt > 2.0 {
            self.long *= 0.95;
        }
        if f64::from(sample.in_flight) < estimate / 2.0 {
            return estimate;
        }
        let gradient = (1.5 * long / rtt).clamp(0.5, 1.0);
        let next = estimate * gradient + 4.0;
        estimate * (1.0 - 0.2) + next * 0.2
    }
}
