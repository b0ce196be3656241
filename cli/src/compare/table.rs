//! The results for a person: the figures of each scenario, and how the bound was kept.

use std::time::Duration;

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, ContentArrangement, Table};
use console::style;
use tollgate_bench::Scenario;
use tollgate_bench::machine::Machine;

use super::Compared;
use super::floors::Floors;
use super::rows::{Row, rows};
use crate::plot::axis::label;
use crate::text::span;

/// A way to tell rows in columns. The second one is the limiter's name.
pub(super) trait Tabular {
    const HEADER: &'static [&'static str];

    /// The rows to be told.
    fn rows<'a, 'b>(rows: &[&'a Row<'b>]) -> Vec<&'a Row<'b>>;

    fn figures(row: &Row<'_>) -> Vec<String>;
}

/// Speed and latency.
pub(super) struct Figures;

/// What was admitted of what could have been.
pub(super) struct Bounds;

impl Tabular for Figures {
    const HEADER: &'static [&'static str] = &[
        "threads",
        "limiter",
        "ns/op",
        "Mops",
        "x floor",
        "x governor",
        "p50",
        "p99",
        "p99.9",
        "p99.99",
        "max",
    ];

    fn rows<'a, 'b>(rows: &[&'a Row<'b>]) -> Vec<&'a Row<'b>> {
        rows.to_vec()
    }

    fn figures(row: &Row<'_>) -> Vec<String> {
        let nanos = |nanos| span(Duration::from_nanos(nanos));
        let placement = row.placement.map_or(String::new(), |placement| format!(" {}", placement.name()));
        let disturbed = if row.disturbed { "* " } else { "" };
        vec![
            format!("{}{placement}", row.threads()),
            row.limiter().to_owned(),
            format!("{disturbed}{}", digits(row.nanos)),
            digits(row.mops()),
            row.ratio_to_floor.map_or("-".into(), digits),
            row.ratio_to_governor.map_or("-".into(), digits),
            nanos(row.latency(500_000)),
            nanos(row.latency(990_000)),
            nanos(row.latency(999_000)),
            nanos(row.latency(999_900)),
            nanos(row.longest()),
        ]
    }
}

impl Tabular for Bounds {
    const HEADER: &'static [&'static str] = &[
        "threads",
        "limiter",
        "offered",
        "admitted",
        "B + r*t",
        "unused",
        "admitted of B + r*t",
        "of promised",
        "over",
    ];

    /// Near and far share one account.
    fn rows<'a, 'b>(rows: &[&'a Row<'b>]) -> Vec<&'a Row<'b>> {
        let mut rows = rows.to_vec();
        rows.dedup_by_key(|row| std::ptr::from_ref(row.cell));
        rows
    }

    fn figures(row: &Row<'_>) -> Vec<String> {
        let (tally, violations) = (row.tally(), row.cell.violations());
        let promised = row.cell.accuracy.as_ref().map(|accuracy| accuracy.promised());
        let tokens = |tokens: u64| label(tokens as f64);
        vec![
            row.threads().to_string(),
            row.limiter().to_owned(),
            tokens(tally.offered),
            tokens(tally.admitted),
            tokens(tally.bound),
            tokens(tally.unused()),
            share(tally.admitted, tally.bound),
            promised.map_or("-".into(), |promised| share(tally.admitted, promised)),
            if violations == 0 { "no".into() } else { format!("{OVER} in {violations} intervals") },
        ]
    }
}

/// What stands in the line of a limiter that broke its bound.
pub(super) const OVER: &str = "OVER";

/// Stands under tables in which figures are marked with a star.
pub(super) const DISTURBED_NOTE: &str =
    "* taken although the machine disturbed it, for want of calm moments\n";

/// Whether a limiter runs dry, so that it matters how exactly it gives out what it has.
pub(super) fn at_the_bound(scenario: Scenario) -> bool {
    matches!(scenario, Scenario::Boundary | Scenario::Burst)
}

/// Whether it is worth telling how the bound was kept: in a scenario that reaches it, or when it was not.
pub(super) fn tells_bound(scenario: Scenario, rows: &[&Row<'_>]) -> bool {
    at_the_bound(scenario) || rows.iter().any(|row| row.cell.violations() > 0)
}

/// The whole output, with a line feed at its end.
pub(crate) fn render(compared: &Compared) -> String {
    let rows = rows(&compared.cells);
    let mut out = heading(&compared.machine, &compared.floors);
    for &scenario in &compared.plan.scenarios {
        let of_scenario: Vec<_> = rows.iter().filter(|row| row.scenario() == scenario).collect();
        out += &format!("\n{}\n{}\n", title(scenario), table::<Figures>(&of_scenario));
        if tells_bound(scenario, &of_scenario) {
            out += &format!("{}\n", reddened(&table::<Bounds>(&of_scenario).to_string()));
        }
    }
    if rows.iter().any(|row| row.disturbed) {
        out += DISTURBED_NOTE;
    }
    out
}

/// What the figures were taken on.
pub(super) fn heading(machine: &Machine, floors: &Floors) -> String {
    let debug =
        if cfg!(debug_assertions) { "NOT OPTIMIZED: a debug build, its figures say nothing\n" } else { "" };
    format!("{machine}\n{floors}\n{debug}")
}

/// What a scenario is, in a line.
pub(crate) fn title(scenario: Scenario) -> &'static str {
    match scenario {
        Scenario::Admit => "admit: every call is admitted",
        Scenario::Boundary => "boundary: at least twice the rate is offered",
        Scenario::Deny => "deny: every call is refused",
        Scenario::Weighted => "weighted: every call is admitted, costs from 1 to 16",
        Scenario::Burst => "burst: twice the capacity at once",
        Scenario::Stock => "stock: every call is admitted, the limiter neither full nor empty",
    }
}

fn table<T: Tabular>(rows: &[&Row<'_>]) -> Table {
    grid(T::HEADER, T::rows(rows).into_iter().map(T::figures))
}

/// A table whose first two columns are the number of threads and the limiter's name.
pub(super) fn grid(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    if let Some((_, width)) = console::Term::stdout().size_checked() {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    table.set_header(header);
    table.add_rows(rows);
    for (index, column) in table.column_iter_mut().enumerate() {
        let alignment = if index <= 1 { CellAlignment::Left } else { CellAlignment::Right };
        column.set_cell_alignment(alignment);
    }
    table
}

/// A share in per cent, never rounded up to all.
fn share(part: u64, whole: u64) -> String {
    let thousandths = (u128::from(part) * 100_000 / u128::from(whole.max(1))) as u64;
    format!("{}.{:03} %", thousandths / 1000, thousandths % 1000)
}

/// Three digits that count.
pub(super) fn digits(value: f64) -> String {
    let decimals = match value {
        100.0.. => 0,
        10.0.. => 1,
        1.0.. => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

/// Lines that tell an over-admission, in red where the terminal has colours.
pub(super) fn reddened(table: &str) -> String {
    let line = |line: &str| {
        if line.contains(OVER) { style(line).red().bold().to_string() } else { line.to_owned() }
    };
    table.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_never_rounded_up_to_all() {
        assert_eq!(share(999_999, 1_000_000), "99.999 %");
        assert_eq!(share(9_999_999, 10_000_000), "99.999 %");
        assert_eq!(share(7, 7), "100.000 %");
        assert_eq!(share(0, 0), "0.000 %");
        assert_eq!(share(u64::MAX, u64::MAX), "100.000 %");
    }

    #[test]
    fn an_over_admission_is_red() {
        console::set_colors_enabled(true);
        let reddened = reddened("kept 99.9 %\nOVER in 3 intervals\nkept 99.8 %");
        let lines: Vec<_> = reddened.lines().collect();
        assert_eq!((lines[0], lines[2]), ("kept 99.9 %", "kept 99.8 %"));
        assert!(lines[1].starts_with("\u{1b}[31m") && lines[1].ends_with("\u{1b}[0m"), "{:?}", lines[1]);
    }

    #[test]
    fn figures_have_three_digits() {
        let told = [0.0417, 0.98, 9.13, 42.67, 2631.4].map(digits);
        assert_eq!(told, ["0.042", "0.980", "9.13", "42.7", "2631"]);
    }
}
