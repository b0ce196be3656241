//! The bound of GUARANTEES 2, checked over every interval of a log.

use crate::oracle::Oracle;
use crate::support::Scale;

/// One admission: the reading its own call took, and its cost.
pub(crate) type Admission = (u64, u64);

/// The first interval (by its end) in which more was admitted than GUARANTEES 2 allows, as `(start, end, cost)`.
///
/// Sorted by reading, an interval from admission `i` to admission `j` holds `sum(i..=j)`. It is over the bound when
/// `(sum(..=j) - r t_j) - (sum(..i) - r t_i)` is more than the capacity, so for each `j` only the `i` with the least
/// `sum(..i) - r t_i` matters: one pass looks at every pair.
pub(crate) fn over_the_bound(
    admissions: &[Admission],
    model: &Oracle,
    scale: Scale,
) -> Option<(u64, u64, u128)> {
    let mut sorted = admissions.to_vec();
    sorted.sort_unstable();
    let ((p, q), full) = (model.rate(), i128::from(model.capacity()) * model.parts_of_a_token());
    let height = |sum: i128, reading: u64| sum * q as i128 - p as i128 * i128::from(reading);
    let (mut sum, mut least, mut start) = (0i128, i128::MAX, (0, 0));
    for &(reading, cost) in &sorted {
        if height(sum, reading) < least {
            (least, start) = (height(sum, reading), (reading, sum));
        }
        sum += i128::from(cost);
        if !scale.forgives(height(sum, reading) - least - full, q as i128) {
            return Some((start.0, reading, (sum - start.1) as u128));
        }
    }
    None
}

mod tests {
    use super::*;
    use crate::support::S;

    #[test]
    fn the_bound_is_checked_over_every_interval() {
        let (model, scale) = (Oracle::new(2, S.into(), 3), Scale::of(2, S, 3));
        let good = [(0, 3), (S / 2, 1), (S, 1), (9 * S, 3)];
        assert_eq!(over_the_bound(&good, &model, scale), None);
        let early = [(0, 3), (S / 2, 1), (S - 1, 1), (9 * S, 3)];
        assert_eq!(over_the_bound(&early, &model, scale), Some((0, S - 1, 5)));
        let shuffled = [(9 * S + 1, 1), (0, 2), (9 * S, 3)];
        assert_eq!(over_the_bound(&shuffled, &model, scale), Some((9 * S, 9 * S + 1, 4)));
    }
}
