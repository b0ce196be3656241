//! The few statistics that the method needs.

/// The middle value; of an even number the lower one. NaN for none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(f64::NAN)
}

/// The least of the medians of blocks of `block` values: what the machine does in its calmest minute.
pub fn least_block_median(values: &[f64], block: usize) -> f64 {
    values.chunks(block.max(1)).map(median).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_is_the_lower_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), 2.0);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn block_median_takes_the_calmest_block() {
        let noisy_then_calm = [9.0, 8.0, 9.5, 1.0, 1.2, 50.0];
        assert_eq!(least_block_median(&noisy_then_calm, 3), 1.2);
    }
}
