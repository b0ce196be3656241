//! Axes: where a value lies, round ticks and readable labels.

/// How values are laid out from one end of an axis to the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scale {
    /// Equal steps for equal differences.
    Linear { min: f64, max: f64 },
    /// Equal steps for equal ratios; both ends are above zero.
    Log { min: f64, max: f64 },
}

impl Scale {
    /// The value at its end.
    pub(crate) fn max(self) -> f64 {
        match self {
            Self::Linear { max, .. } | Self::Log { max, .. } => max,
        }
    }

    /// How far along the axis a value lies: 0 at its begin, 1 at its end.
    pub(crate) fn at(self, value: f64) -> f64 {
        match self {
            Self::Linear { min, max } => (value - min) / (max - min),
            Self::Log { min, max } => (value.max(min * 1e-3) / min).ln() / (max / min).ln(),
        }
    }
}

/// A scale with its ticks and its name.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) name: String,
    pub(crate) scale: Scale,
    /// Values and their labels.
    pub(crate) ticks: Vec<(f64, String)>,
}

impl Axis {
    /// From 0 to `max`, with at least about `wanted` ticks.
    pub(crate) fn linear(max: f64, wanted: f64) -> Self {
        let ticks = ticks(max, wanted).into_iter().map(|tick| (tick, label(tick))).collect();
        Self { name: String::new(), scale: Scale::Linear { min: 0.0, max }, ticks }
    }

    /// Seconds from 0 to `max`, in the unit that suits the span.
    pub(crate) fn time(max: f64, since: &str) -> Self {
        let (unit, seconds) = time_unit(max);
        let ticks = ticks(max / seconds, 6.0).into_iter().map(|tick| (tick * seconds, label(tick))).collect();
        Self { name: format!("{unit} since {since}"), scale: Scale::Linear { min: 0.0, max }, ticks }
    }

    /// Powers of ten that enclose both values, each with a tick.
    pub(crate) fn decades(least: f64, most: f64, name: impl Fn(f64) -> String) -> Self {
        let first = least.log10().floor();
        let last = most.log10().ceil().max(first + 1.0);
        let powers = (first as i32..=last as i32).map(|power| 10_f64.powi(power));
        let ticks = powers.map(|value| (value, name(value))).collect();
        let scale = Scale::Log { min: 10_f64.powf(first), max: 10_f64.powf(last) };
        Self { name: String::new(), scale, ticks }
    }
}

/// Round values from 0 to `max`, at least about `wanted` of them.
fn ticks(max: f64, wanted: f64) -> Vec<f64> {
    let rough = max / wanted;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0].into_iter().rev().find(|step| step * power <= rough).unwrap_or(1.0) * power;
    (0..100).map(|i| f64::from(i) * step).take_while(|tick| *tick <= max * 1.000_001).collect()
}

/// A short label: `450k`, `1.5M`, `0.25`.
pub(crate) fn label(value: f64) -> String {
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
fn time_unit(span_seconds: f64) -> (&'static str, f64) {
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
    fn decades_enclose_what_is_shown() {
        let axis = Axis::decades(9.0, 2_000.0, label);
        assert_eq!(axis.scale, Scale::Log { min: 1.0, max: 10_000.0 });
        let labels: Vec<_> = axis.ticks.iter().map(|(_, label)| label.as_str()).collect();
        assert_eq!(labels, ["1", "10", "100", "1000", "10k"]);
        assert_eq!(Axis::decades(10.0, 10.0, label).ticks.len(), 2, "an axis has two ends");
    }

    #[test]
    fn scales_run_from_one_end_to_the_other() {
        let log = Scale::Log { min: 1.0, max: 100.0 };
        let [begin, middle, end] = [1.0, 10.0, 100.0].map(|value| log.at(value));
        assert!(begin.abs() < 1e-9 && (middle - 0.5).abs() < 1e-9 && (end - 1.0).abs() < 1e-9);
        assert!(log.at(0.0).is_finite(), "zero lies below the axis, not at infinity");
        assert_eq!(Scale::Linear { min: 90.0, max: 100.0 }.at(95.0), 0.5);
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
