//! Scales: round ticks, readable labels, and time in the unit that suits the span.

/// Round values from 0 to `max`, at least about `wanted` of them.
pub(super) fn ticks(max: f64, wanted: f64) -> Vec<f64> {
    let rough = max / wanted;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0].into_iter().rev().find(|step| step * power <= rough).unwrap_or(1.0) * power;
    (0..100).map(|i| f64::from(i) * step).take_while(|tick| *tick <= max * 1.000_001).collect()
}

/// A short label: `450k`, `1.5M`, `0.25`.
pub(super) fn label(value: f64) -> String {
    let (scaled, suffix) = match value {
        1e15.. => return format!("{value:.1e}"),
        1e12.. => (value / 1e12, "T"),
        1e9.. => (value / 1e9, "G"),
        1e6.. => (value / 1e6, "M"),
        1e4.. => (value / 1e3, "k"),
        _ => (value, ""),
    };
    // Four significant digits.
    let decimals = if scaled >= 1_000.0 {
        0
    } else if scaled >= 100.0 {
        1
    } else if scaled >= 10.0 {
        2
    } else {
        3
    };
    let digits = format!("{scaled:.decimals$}");
    let trimmed = if decimals == 0 { &digits } else { digits.trim_end_matches('0').trim_end_matches('.') };
    format!("{trimmed}{suffix}")
}

/// The unit for the time axis: its name and its length in seconds.
pub(super) fn time_unit(span_seconds: f64) -> (&'static str, f64) {
    match span_seconds {
        ..=300.0 => ("seconds", 1.0),
        ..=18_000.0 => ("minutes", 60.0),
        ..=432_000.0 => ("hours", 3_600.0),
        _ => ("days", 86_400.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_cover_the_axis() {
        assert_eq!(ticks(10.0, 5.0), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(ticks(472_500.0, 4.0), [0.0, 100_000.0, 200_000.0, 300_000.0, 400_000.0]);
        for max in [1e-3, 0.7, 1.0, 3.0, 99.0, 12_345.0, 3.7e18] {
            let ticks = ticks(max, 5.0);
            assert!((5..=14).contains(&ticks.len()), "{max}: {ticks:?}");
        }
    }

    #[test]
    fn labels_are_short() {
        for (value, want) in
            [(0.0, "0"), (0.25, "0.25"), (5_000.0, "5000"), (450_000.0, "450k"), (1.5e6, "1.5M")]
        {
            assert_eq!(label(value), want);
        }
        assert_eq!(label(1_666.667), "1667");
        assert_eq!(label(128_125.0), "128.1k");
        assert_eq!(label(3e17), "3.0e17");
    }
}
