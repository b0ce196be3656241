//! One limit: a bucket that fills evenly, or a window at whose end it is all there.

use std::time::Duration;

/// When a limit gives again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refill {
    /// Evenly.
    Even,
    /// All at the end of each period, counted from the epoch.
    AtOnce,
}

/// So much in a period. Time is seconds of the epoch.
#[derive(Clone, Debug)]
pub(crate) struct Limit {
    size: f64,
    period: f64,
    refill: Refill,
    left: f64,
    seen: f64,
    /// All that it could have given since it was made.
    possible: f64,
}

impl Limit {
    /// A full one.
    pub(crate) fn new(size: u64, period: Duration, refill: Refill, now: f64) -> Self {
        let size = size as f64;
        Self { size, period: period.as_secs_f64(), refill, left: size, seen: now, possible: size }
    }

    /// Another size or period. What is left stays, as far as it fits.
    pub(crate) fn change(&mut self, size: u64, period: Duration, now: f64) {
        self.refill(now);
        (self.size, self.period) = (size as f64, period.as_secs_f64());
        self.left = self.left.min(self.size);
    }

    /// How long until the cost is there: zero if it is.
    pub(crate) fn wait(&mut self, cost: u64, now: f64) -> Duration {
        self.refill(now);
        let missing = cost as f64 - self.left;
        match self.refill {
            _ if missing <= 1e-9 => Duration::ZERO,
            Refill::Even => span(missing * self.period / self.size),
            Refill::AtOnce => self.reset(now),
        }
    }

    pub(crate) fn take(&mut self, cost: u64) {
        self.left -= cost as f64;
    }

    /// Until it is full, or its window ends.
    pub(crate) fn reset(&self, now: f64) -> Duration {
        span(match self.refill {
            Refill::Even => (self.size - self.left) * self.period / self.size,
            Refill::AtOnce => self.period - now % self.period,
        })
    }

    pub(crate) fn size(&self) -> u64 {
        self.size as u64
    }

    /// What is left, rounded down.
    pub(crate) fn left(&self) -> u64 {
        self.left.max(0.0) as u64
    }

    pub(crate) fn period(&self) -> Duration {
        span(self.period)
    }

    pub(crate) fn possible(&mut self, now: f64) -> f64 {
        self.refill(now);
        self.possible
    }

    fn refill(&mut self, now: f64) {
        let (before, now) = (self.seen, now.max(self.seen));
        let more = match self.refill {
            Refill::Even => self.size * (now - before) / self.period,
            Refill::AtOnce => self.size * ((now / self.period).floor() - (before / self.period).floor()),
        };
        self.left = (self.left + more).min(self.size);
        self.possible += more;
        self.seen = now;
    }
}

/// No span that is told is longer than a year, whatever was asked for.
fn span(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds.clamp(0.0, 366.0 * 86_400.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_bucket_fills_evenly_and_not_above_its_size() {
        let mut limit = Limit::new(10, SECOND, Refill::Even, 100.0);
        limit.take(10);
        assert_eq!(limit.wait(1, 100.0), SECOND / 10);
        assert_eq!(limit.reset(100.0), SECOND);
        assert_eq!(limit.wait(5, 100.5), Duration::ZERO);
        assert_eq!((limit.left(), limit.reset(100.5)), (5, SECOND / 2));
        assert_eq!(limit.possible(110.0), 110.0);
        assert_eq!(limit.left(), 10);
    }

    #[test]
    fn a_window_gives_all_at_its_end() {
        let mut limit = Limit::new(10, SECOND * 4, Refill::AtOnce, 101.0);
        limit.take(10);
        assert_eq!(limit.wait(1, 102.0), SECOND * 2);
        assert_eq!(limit.wait(10, 104.0), Duration::ZERO);
        assert_eq!(limit.possible(104.0), 20.0);
    }

    #[test]
    fn a_cost_beyond_all_bounds_is_refused_in_order() {
        let mut limit = Limit::new(1, SECOND, Refill::Even, 0.0);
        assert_eq!(limit.wait(u64::MAX, 0.0), SECOND * 366 * 86_400);
    }

    #[test]
    fn a_change_keeps_what_is_left() {
        let mut limit = Limit::new(100, SECOND, Refill::Even, 0.0);
        limit.take(95);
        limit.change(40, SECOND, 0.0);
        assert_eq!((limit.left(), limit.size()), (5, 40));
        assert_eq!(limit.wait(25, 0.0), SECOND / 2);
    }
}
