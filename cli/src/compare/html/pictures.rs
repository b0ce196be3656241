//! The three kinds of pictures: latency curves, throughput and accuracy against the number of threads.

use tollgate_bench::Scenario;

use super::super::cell::Latencies;
use super::super::rows::Row;
use super::chart::{Chart, Curve, picture};
use crate::plot::axis::{Axis, Scale, label};
use crate::text;

/// Millions of decisions a second against the number of threads, one chart a scenario.
pub(super) fn throughput(rows: &[Row<'_>], scenarios: &[Scenario]) -> String {
    let chart = |&scenario: &Scenario| {
        let rows: Vec<_> = rows.iter().filter(|row| row.scenario() == scenario).collect();
        let curves = by_threads(&rows, |row| row.mops());
        Chart {
            title: format!("{}: million decisions a second", scenario.name()),
            x: threads(&rows),
            y: enclosing(&curves, label),
            curves,
            dots: true,
            limit: None,
        }
    };
    picture("t", "Throughput against threads", &scenarios.iter().map(chart).collect::<Vec<_>>())
}

/// What was admitted of what the bound allows, one chart for each scenario at the bound.
pub(super) fn accuracy(rows: &[Row<'_>], scenarios: &[Scenario]) -> String {
    let chart = |&scenario: &Scenario| {
        let rows: Vec<_> = rows.iter().filter(|row| row.scenario() == scenario).collect();
        let curves = by_threads(&rows, |row| {
            let tally = row.tally();
            tally.admitted as f64 * 100.0 / tally.bound.max(1) as f64
        });
        Chart {
            title: format!("{}: admitted, in per cent of B + r·t", scenario.name()),
            x: threads(&rows),
            y: percents(&curves),
            curves,
            dots: true,
            limit: Some((100.0, "the bound")),
        }
    };
    picture("a", "Accuracy against threads", &scenarios.iter().map(chart).collect::<Vec<_>>())
}

/// The latency that a share of the calls stays within, one chart for each number of threads.
pub(super) fn latency(rows: &[Row<'_>], scenario: Scenario) -> String {
    let rows: Vec<_> = rows.iter().filter(|row| row.scenario() == scenario).collect();
    let curves: Vec<(usize, Vec<Curve>)> =
        counts(&rows).into_iter().map(|n| (n, percentiles(&rows, n))).collect();
    // One scale for all, so that numbers of threads can be compared.
    let y = enclosing(curves.iter().flat_map(|(_, curves)| curves), nanos);
    let chart = |(threads, curves): (usize, Vec<Curve>)| Chart {
        title: format!("{}, {}: latency", scenario.name(), text::threads(threads)),
        x: shares(),
        y: y.clone(),
        curves,
        dots: false,
        limit: None,
    };
    let prefix = format!("l{}", scenario.name());
    picture(&prefix, "Latency curves", &curves.into_iter().map(chart).collect::<Vec<_>>())
}

/// A curve for each limiter. Of near and far the one seen more often counts.
fn by_threads(rows: &[&Row<'_>], value: impl Fn(&Row<'_>) -> f64) -> Vec<Curve> {
    let curve = |name| {
        let points = counts(rows).into_iter().filter_map(|threads| {
            let row = most_seen(rows, name, threads)?;
            Some((threads as f64, value(row)))
        });
        Curve { name, points: points.collect() }
    };
    names(rows).into_iter().map(curve).collect()
}

fn percentiles(rows: &[&Row<'_>], threads: usize) -> Vec<Curve> {
    let curve = |name| {
        let latencies = most_seen(rows, name, threads)?.latencies?;
        Some(Curve { name, points: steps(latencies) })
    };
    names(rows).into_iter().filter_map(curve).collect()
}

/// One in so many calls takes longer: from one in one to one in a million. Where there are too few calls to tell, up to the
/// longest of all.
fn steps(latencies: &Latencies) -> Vec<(f64, f64)> {
    let most = latencies.len() as f64 / 5.0;
    let told = (0..120).map(|step| RAREST.powf(f64::from(step) / 120.0)).take_while(|&one_in| one_in <= most);
    let points = told.map(|one_in| (one_in, latencies.value_at_quantile(1.0 - 1.0 / one_in)));
    points.chain([(RAREST, latencies.max())]).map(|(one_in, nanos)| (one_in, nanos.max(1) as f64)).collect()
}

const RAREST: f64 = 1e6;

fn shares() -> Axis {
    let ticks =
        [(1.0, "0 %"), (10.0, "90 %"), (100.0, "99 %"), (1e3, "99.9 %"), (1e4, "99.99 %"), (1e5, "99.999 %")];
    let ticks = ticks.map(|(one_in, share)| (one_in, share.to_owned())).to_vec();
    Axis {
        name: "share of the calls that take no longer".into(),
        scale: Scale::Log { min: 1.0, max: RAREST },
        ticks,
    }
}

fn threads(rows: &[&Row<'_>]) -> Axis {
    let counts = counts(rows);
    let [least, most] = [counts.first(), counts.last()].map(|count| count.copied().unwrap_or(1) as f64);
    // A lone number stands in the middle.
    let (min, max) = if least < most { (least * 0.93, most * 1.07) } else { (least / 2.0, least * 2.0) };
    let ticks = counts.iter().map(|&count| (count as f64, count.to_string())).collect();
    Axis { name: "threads".into(), scale: Scale::Log { min, max }, ticks }
}

/// Powers of ten around all values.
fn enclosing<'a>(curves: impl IntoIterator<Item = &'a Curve>, name: impl Fn(f64) -> String) -> Axis {
    let values = curves.into_iter().flat_map(|curve| &curve.points).map(|point| point.1);
    let (least, most) =
        values.fold((f64::INFINITY, 0.0), |(least, most), value| (value.min(least), value.max(most)));
    if least <= most { Axis::decades(least, most, name) } else { Axis::decades(1.0, 10.0, name) }
}

/// From a round per cent below all values to a little above the bound, or above what broke it.
fn percents(curves: &[Curve]) -> Axis {
    let values = || curves.iter().flat_map(|curve| &curve.points).map(|point| point.1);
    let (least, most) = (values().fold(100.0, f64::min), values().fold(100.0, f64::max));
    let step =
        [0.5, 1.0, 2.0, 5.0, 10.0, 20.0].into_iter().find(|step| 100.0 - least <= 6.0 * step).unwrap_or(20.0);
    let min = ((least / step).floor() * step).min(100.0 - step);
    let ticks = (0..=12).map(|i| min + f64::from(i) * step).take_while(|&tick| tick <= most.max(100.0));
    let ticks = ticks.map(|tick| (tick, format!("{} %", label(tick)))).collect();
    Axis { name: String::new(), scale: Scale::Linear { min, max: most + (100.0 - min) * 0.12 }, ticks }
}

fn nanos(value: f64) -> String {
    match value {
        1e9.. => format!("{} s", value / 1e9),
        1e6.. => format!("{} ms", value / 1e6),
        1e3.. => format!("{} µs", value / 1e3),
        _ => format!("{value} ns"),
    }
}

/// Numbers of threads, ascending.
fn counts(rows: &[&Row<'_>]) -> Vec<usize> {
    let mut counts: Vec<usize> = rows.iter().map(|row| row.threads()).collect();
    counts.sort_unstable();
    counts.dedup();
    counts
}

/// Limiters in the order of the rows.
fn names(rows: &[&Row<'_>]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for row in rows {
        if !names.contains(&row.limiter()) {
            names.push(row.limiter());
        }
    }
    names
}

fn most_seen<'a, 'b>(rows: &[&'a Row<'b>], name: &str, threads: usize) -> Option<&'a Row<'b>> {
    let of_cell = rows.iter().filter(|row| row.limiter() == name && row.threads() == threads);
    of_cell.max_by_key(|row| row.windows).copied()
}
