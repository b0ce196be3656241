//! Ticks of a counter in nanoseconds.

/// Nanoseconds in a tick: a whole number of them, and parts of 2^-64.
///
/// So a reading takes two multiplications that do not wait for each other and no shift. A shift of 128 bits by a
/// number that is known only at run time is half a dozen instructions, all of them on the way from the counter to
/// the decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scale {
    whole: u64,
    part: u64,
}

impl Scale {
    /// The scale that quanta has found for its counter.
    pub(crate) fn of(counter: &quanta::Clock) -> Self {
        Self::by(|ticks| counter.delta_as_nanos(0, ticks))
    }

    /// The scale by which so many ticks are so many nanoseconds, as fine as a `u64` can tell it. A tick is less than
    /// 2^32 of them.
    fn by(nanos: impl Fn(u64) -> u64) -> Self {
        const PROBE_BITS: u32 = 32;
        let whole = nanos(1 << PROBE_BITS) >> PROBE_BITS;
        let bits = whole.leading_zeros() - 1;
        Self::from_fixed(nanos(1 << bits), bits)
    }

    /// `nanos / 2^bits` nanoseconds in a tick; `bits` is from 1 to 63.
    pub(crate) const fn from_fixed(nanos: u64, bits: u32) -> Self {
        Self { whole: nanos >> bits, part: nanos << (64 - bits) }
    }

    /// The scale in 2^-`bits`, rounded down; `bits` is from 1 to 63.
    #[cfg(feature = "shared-memory")]
    pub(crate) const fn to_fixed(self, bits: u32) -> u64 {
        (self.whole << bits) + (self.part >> (64 - bits))
    }

    /// Nanoseconds in so many ticks, rounded down.
    #[inline(always)]
    pub(crate) const fn nanos(self, ticks: u64) -> u64 {
        let parts = (ticks as u128 * self.part as u128) >> 64;
        ticks.wrapping_mul(self.whole).wrapping_add(parts as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAST_TICKS: u64 = 3_700_000_000;
    /// A second of counters from 1 kHz on. There are some of 12 MHz and of 1 MHz.
    const TICKS: [u64; 6] = [FAST_TICKS, 1_000_000_000, 24_000_000, 12_000_000, 1_000_000, 1_000];

    /// The scale of a counter by what it counts in a second.
    fn of(ticks_a_second: u64) -> Scale {
        // As quanta does it: of what does not fit, the upper bits are lost.
        Scale::by(|ticks| (u128::from(ticks) * 1_000_000_000 / u128::from(ticks_a_second)) as u64)
    }

    #[test]
    fn a_year_of_a_fast_and_of_a_slow_counter_is_a_year() {
        const YEAR: u64 = 365 * 86_400;
        for ticks in TICKS {
            let late = YEAR * 1_000_000_000 - of(ticks).nanos(YEAR * ticks);
            assert!(late <= 5, "{ticks}: {late}");
        }
    }

    #[test]
    fn what_quanta_converts_is_converted_alike() {
        let counter = quanta::Clock::new();
        let scale = Scale::of(&counter);
        for ticks in [0, 1, 2, 3, 1_000, 123_456_789, 1 << 40, FAST_TICKS * 86_400] {
            assert!(scale.nanos(ticks).abs_diff(counter.delta_as_nanos(0, ticks)) <= 1, "{ticks}");
        }
    }

    #[cfg(feature = "shared-memory")]
    #[test]
    fn a_scale_in_a_file_is_the_scale_to_its_precision() {
        for ticks in TICKS {
            let (scale, told) = (of(ticks), Scale::from_fixed(of(ticks).to_fixed(32), 32));
            assert_eq!(told.whole, scale.whole);
            assert!(told.part <= scale.part && scale.part - told.part < 1 << 32);
        }
    }
}
