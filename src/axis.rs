//! The axis of tokens issued: how many units a rate has issued by a reading, and when it will have issued so many.
//!
//! A limiter's state is a point on this axis, not on the axis of time (`GUARANTEES` section 1, told in
//! [`docs::theory`](crate::docs)). One token is [`Axis::unit`] units, a whole number, so costs are exact; the only
//! rounding is in [`Rate::issued`], it is always down, and it does not accumulate, because every reading is converted
//! on its own from the clock's origin.

/// Capacity in units stays below 2^61, so that capacity, debt and fifty years of issue fit one `u64` together.
pub(crate) const SPAN_BITS: u32 = 61;

/// A rate of more than this many units a nanosecond is put on the binary scale.
const MAX_EXACT_RATE: u128 = 8;

/// The largest shift of a 128-bit product.
const MAX_SHIFT: u32 = 127;

/// The rate of issue, and the fraction of a token in which it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Axis {
    /// Units issued in a nanosecond.
    pub(crate) rate: Rate,
    /// Units in one token.
    pub(crate) unit: u64,
}

/// Units issued in a nanosecond: `(whole + part / 2^64) / 2^right`.
///
/// Exact scale: a whole number, so that every reading falls on a unit. Binary scale: `multiplier / 2^shift` with
/// a multiplier of at most 64 bits, never above the true rate; told like this, a reading takes no shift of 128
/// bits. The shift is at least 60, and above 64 only for a bucket that takes decades to fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rate {
    whole: u64,
    part: u64,
    right: u32,
}

impl Axis {
    /// The axis for `tokens` every `period` nanoseconds and a capacity of `capacity` tokens, which is less than
    /// `2^span_bits` units on it.
    ///
    /// The exact scale (`r = p/q` in lowest terms, `p` units a nanosecond, `q` units a token) where it fits, else the
    /// binary scale with the finest power of two that fits. The caller has checked that nothing is zero, that the
    /// capacity is below 2^span_bits and that the rate is at most ten tokens a nanosecond.
    pub(crate) const fn new(tokens: u64, period: u128, capacity: u64, span_bits: u32) -> Self {
        let limit = 1 << span_bits;
        let divisor = gcd(tokens as u128, period);
        let (p, q) = (tokens as u128 / divisor, period / divisor);
        if p <= MAX_EXACT_RATE && q < limit && capacity as u128 * q < limit {
            return Self { rate: Rate::exact(p as u64), unit: q as u64 };
        }
        Self::binary(p, q, capacity, limit)
    }

    const fn binary(p: u128, q: u128, capacity: u64, limit: u128) -> Self {
        let mut fraction = 0;
        while fits_binary(p, q, capacity, limit, fraction + 1) {
            fraction += 1;
        }
        let (multiplier, shift) = binary_rate(p, q, fraction);
        Self { rate: Rate::binary(multiplier, shift), unit: 1 << fraction }
    }
}

impl Rate {
    /// A unit each nanosecond, so that readings are units.
    #[cfg(feature = "window")]
    pub(crate) const OF_TIME: Self = Self::exact(1);

    const fn exact(units: u64) -> Self {
        Self { whole: units, part: 0, right: 0 }
    }

    /// `multiplier / 2^shift` with a shift from 60 to 127.
    const fn binary(multiplier: u64, shift: u32) -> Self {
        if shift >= 64 {
            return Self { whole: 0, part: multiplier, right: shift - 64 };
        }
        let fixed = (multiplier as u128) << (64 - shift);
        Self { whole: (fixed >> 64) as u64, part: fixed as u64, right: 0 }
    }

    /// Units issued from the origin to the reading `now`, rounded down; meaningless where that is 2^64 or more.
    #[inline(always)]
    pub(crate) const fn issued(self, now: u64) -> u64 {
        let whole = now.wrapping_mul(self.whole);
        if self.part == 0 {
            return whole;
        }
        let parts = (now as u128 * self.part as u128) >> 64;
        whole.wrapping_add(parts as u64) >> self.right
    }

    /// The first reading at which `issued` units have been issued; `u64::MAX` if there is none, and for `u64::MAX`.
    #[inline]
    pub(crate) const fn reached(self, issued: u64) -> u64 {
        if issued == u64::MAX {
            return u64::MAX;
        }
        // No rate is zero, but the compiler cannot know that, and would panic.
        let whole = if self.whole == 0 { 1 } else { self.whole };
        if self.part == 0 { issued.div_ceil(whole) } else { self.reached_binary(issued) }
    }

    /// The smallest `t` with `t * multiplier >= issued * 2^shift`: a division of up to 191 bits by 64, in two limbs.
    /// The quotient fits 64 bits: with a whole unit a nanosecond it is at most `issued`, and otherwise the upper limb
    /// is less than the divisor.
    const fn reached_binary(self, issued: u64) -> u64 {
        let issued = issued as u128;
        if self.whole == 0 {
            let high = issued << self.right;
            let part = self.part as u128;
            return if high >= part { u64::MAX } else { (high << 64).div_ceil(part) as u64 };
        }
        // A multiplier of 64 bits, so that there is nothing in the bits that are shifted out of the part.
        let bits = u64::BITS - self.whole.leading_zeros();
        let multiplier = (self.whole << (64 - bits)) + (self.part >> bits);
        (issued << (64 - bits)).div_ceil(multiplier as u128) as u64
    }

    /// The last reading at which no more than `issued` units have been issued.
    pub(crate) const fn last_within(self, issued: u64) -> u64 {
        self.reached(issued.saturating_add(1)).saturating_sub(1)
    }
}

/// Whether a token of `2^fraction` units keeps the capacity below the limit and the rate at two units a nanosecond.
const fn fits_binary(p: u128, q: u128, capacity: u64, limit: u128, fraction: u32) -> bool {
    ((capacity as u128) << fraction) < limit && p << fraction <= 2 * q
}

/// `p / q * 2^fraction` units a nanosecond as a multiplier of 64 significant bits and a shift, rounded down.
///
/// Long division, one bit a round, until 64 bits are found or the shift is as large as a 128-bit product allows. At
/// most ten units a nanosecond make the shift 60 or more.
const fn binary_rate(p: u128, q: u128, fraction: u32) -> (u64, u32) {
    let (mut quotient, mut remainder, mut bits) = (p / q, p % q, 0);
    while quotient >> 63 == 0 && bits < fraction + MAX_SHIFT {
        remainder *= 2;
        quotient *= 2;
        if remainder >= q {
            remainder -= q;
            quotient += 1;
        }
        bits += 1;
    }
    (quotient as u64, bits - fraction)
}

const fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u128 = 1_000_000_000;

    fn axis(tokens: u64, period: u128, capacity: u64) -> Axis {
        Axis::new(tokens, period, capacity, SPAN_BITS)
    }

    fn exact(units: u64, unit: u64) -> Axis {
        Axis { rate: Rate::exact(units), unit }
    }

    #[test]
    fn a_rate_that_fits_is_exact() {
        assert_eq!(axis(1, SECOND, 1), exact(1, 1_000_000_000));
        assert_eq!(axis(100, SECOND, 100), exact(1, 10_000_000));
        assert_eq!(axis(3, SECOND, 3), exact(3, 1_000_000_000));
        assert_eq!(axis(150_000, 60 * SECOND, 150_000), exact(1, 400_000));
        assert_eq!(axis(2_000_000_000, SECOND, 1), exact(2, 1));
        assert_eq!(axis(8, 1, 1), exact(8, 1));
    }

    #[test]
    fn the_exact_scale_ends_at_eight_units_and_at_two_to_the_61() {
        assert_eq!(axis(8, SECOND, 1), exact(1, 125_000_000));
        assert_eq!(axis(8, 7, 1), exact(8, 7));
        assert_ne!(axis(9, 7, 1).rate.part, 0);
        assert_eq!(axis(1, 1 << 30, (1 << 31) - 1), exact(1, 1 << 30));
        assert_ne!(axis(1, 1 << 30, 1 << 31).unit, 1 << 30);
    }

    /// The rate by its definition, `floor(p / q * 2^(fraction + shift))`, for numbers that fit 128 bits.
    fn defined(p: u128, q: u128, capacity: u64) -> Rate {
        let fits = |f: &u32| *f == 0 || ((u128::from(capacity) << f) < 1 << 61 && p << f <= 2 * q);
        let fraction = (0..61).rev().find(fits).unwrap_or(0);
        let shift = (0..127).find(|s| (p << (fraction + s)) / q >= 1 << 63).unwrap_or(127);
        Rate::binary(((p << (fraction + shift)) / q) as u64, shift)
    }

    #[test]
    fn the_binary_scale_is_the_finest_that_fits() {
        let cases =
            [(9, SECOND, 1), (10, 1, 1), (10, 1, (1 << 61) - 1), (19, 7, 1000), (1 << 20, 997, 1 << 40)];
        for (p, q, capacity) in cases {
            let axis = axis(p as u64, q, capacity);
            assert_eq!(axis.rate, defined(p, q, capacity), "{p}/{q}, capacity {capacity}");
        }
        assert_eq!(axis(10, 1, 1).unit, 1);
        assert_eq!(axis(9, SECOND, 1).unit, 1 << 27);
        assert_eq!(axis(9, SECOND, 1 << 40).unit, 1 << 20);
    }

    #[test]
    fn fewer_bits_make_coarser_units() {
        let axis = |capacity| Axis::new(100, SECOND, capacity, 40);
        assert_eq!(axis(100), exact(1, 10_000_000));
        assert_eq!(axis(109_951), exact(1, 10_000_000), "the last below 2^40 units");
        assert_eq!(axis(109_952).unit, 1 << 23);
        assert_ne!(axis(109_952).rate.part, 0);
        assert_eq!(axis((1 << 40) - 1).unit, 1);
    }

    #[test]
    fn a_rate_too_slow_for_64_bits_keeps_the_bits_it_can() {
        let axis = axis(1, 1 << 94, 1 << 60);
        assert_eq!(axis, Axis { rate: Rate::binary(1 << 33, 127), unit: 1 });
        assert_eq!(
            (axis.rate.issued(u64::MAX), axis.rate.reached(0), axis.rate.reached(1)),
            (0, 0, u64::MAX)
        );
    }

    /// What `GUARANTEES` section 1 writes down, for every shift: the product shifted down, and the first reading that
    /// gets there.
    #[test]
    fn a_rate_issues_what_its_multiplier_and_shift_say() {
        let most = u64::MAX;
        for shift in 60..=127 {
            for multiplier in [1 << 63, (1 << 63) + 1, 0xDEAD_BEEF_F00D_CAFE, most - 1, most] {
                let (rate, shown) = (Rate::binary(multiplier, shift), (multiplier, shift));
                for now in [0, 1, 2, 3, 999_999_999, 0x0123_4567_89AB_CDEF, 1 << 60, most - 1, most] {
                    let product = u128::from(now) * u128::from(multiplier);
                    let issued = product >> shift;
                    if issued > u128::from(most - 1) {
                        continue;
                    }
                    assert_eq!(u128::from(rate.issued(now)), issued, "{shown:?} at {now}");
                    let reached = u128::from(rate.reached(issued as u64));
                    assert!(reached <= u128::from(now), "{shown:?}: {issued} reached at {reached}");
                    let before = reached.saturating_sub(1) * u128::from(multiplier);
                    assert!(reached == 0 || before < issued << shift, "{shown:?}: {issued} before {reached}");
                }
            }
        }
    }

    #[test]
    fn reached_inverts_issued() {
        let binary = [axis(9, SECOND, 1), axis(10, 1, 9), axis(1, SECOND << 40, 1 << 60)];
        for rate in binary.map(|axis| axis.rate).into_iter().chain([exact(1, 1).rate, exact(7, 1).rate]) {
            for issued in [0, 1, 2, 3, 8, 1000, 12_345_678_901, 1 << 60, u64::MAX - 100] {
                let reading = rate.reached(issued);
                assert!(
                    reading == 0 || rate.issued(reading - 1) < issued,
                    "{rate:?}: {issued} before {reading}"
                );
                assert!(
                    reading == u64::MAX || rate.issued(reading) >= issued,
                    "{rate:?}: {issued} after {reading}"
                );
                assert_eq!(rate.last_within(issued), rate.reached(issued + 1).saturating_sub(1));
            }
        }
    }

    #[test]
    fn half_a_unit_a_nanosecond_reaches_no_further_than_readings_do() {
        let half = Rate::binary(1 << 63, 64);
        assert_eq!(half.reached((1 << 63) - 1), u64::MAX - 1);
        assert_eq!((half.reached(1 << 63), half.reached(u64::MAX - 1)), (u64::MAX, u64::MAX));
        let whole = Rate::binary(1 << 63, 63);
        assert_eq!((whole.reached(1 << 63), whole.reached(u64::MAX - 1)), (1 << 63, u64::MAX - 1));
    }

    #[test]
    fn what_no_reading_reaches_saturates() {
        assert_eq!(axis(1, SECOND << 40, 1 << 60).rate.reached(u64::MAX - 1), u64::MAX);
        assert_eq!(exact(8, 1).rate.reached(u64::MAX), u64::MAX);
        assert_eq!(exact(8, 1).rate.reached(u64::MAX - 1), 1 << 61);
    }
}
