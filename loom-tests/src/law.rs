//! The bound of `GUARANTEES` section 2, by its definition.

/// An admitted cost and the reading it was admitted at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission {
    /// The reading, in nanoseconds.
    pub at: u64,
    /// Tokens.
    pub cost: u64,
}

/// Whether in every interval of readings no more than `capacity` tokens and one for each `period` of it were admitted.
pub fn within(period: u64, capacity: u64, admissions: &[Admission]) -> bool {
    let ends = admissions.iter().map(|admission| admission.at);
    let mut intervals = ends.clone().flat_map(|start| ends.clone().map(move |end| (start, end)));
    intervals.all(|(start, end)| {
        let inside = admissions.iter().filter(|admission| (start..=end).contains(&admission.at));
        let cost: u64 = inside.map(|admission| admission.cost).sum();
        end < start || cost * period <= capacity * period + (end - start)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admissions(pairs: &[(u64, u64)]) -> Vec<Admission> {
        pairs.iter().map(|&(at, cost)| Admission { at, cost }).collect()
    }

    #[test]
    fn refill_counts_to_the_nanosecond() {
        assert!(within(10, 3, &admissions(&[(0, 3), (10, 1), (20, 1)])));
        assert!(!within(10, 3, &admissions(&[(0, 3), (9, 1)])));
    }

    #[test]
    fn an_interval_inside_counts_and_the_order_of_readings_does_not() {
        assert!(!within(10, 3, &admissions(&[(0, 1), (100, 2), (100, 2), (500, 1)])));
        assert!(!within(10, 3, &admissions(&[(100, 2), (0, 1), (99, 2)])));
        assert!(within(10, 3, &admissions(&[(100, 2), (0, 1), (90, 2)])));
    }
}
