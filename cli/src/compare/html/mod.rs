//! `--html`: one file with the tables and the pictures. It needs neither scripts nor a network, and prints well.

mod chart;
mod pictures;

use jiff::Timestamp;
use tollgate_bench::Scenario;

use super::Compared;
use super::rows::{Row, rows};
use super::table::{Bounds, Figures, Tabular, at_the_bound, tells_bound, title};
use crate::plot::svg::escaped;

const STYLE: &str = "\
body { font: 15px/1.5 Helvetica, Arial, 'DejaVu Sans', sans-serif; color: #222; max-width: 1130px; margin: 2em auto; \
padding: 0 1em; }
h1 { font-size: 24px; margin-bottom: 0; }
h2 { font-size: 18px; margin-top: 2em; }
figure { margin: 0; }
p.note, td.note { color: #555; }
svg { width: 100%; height: auto; }
table { border-collapse: collapse; font-size: 12.5px; font-variant-numeric: tabular-nums; width: 100%; }
th, td { padding: 2px 7px; text-align: right; border-bottom: 1px solid #e4e4e4; white-space: nowrap; }
th { border-bottom: 1.5px solid #888; font-weight: 600; }
th.name, td.name { text-align: left; }
tr.ours td { background: #eef5fb; }
tr.first td { border-top: 1.5px solid #bbb; }
tr.over td { color: #b00020; font-weight: 700; }
@media print {
  @page { size: A4; margin: 12mm; }
  body { font-size: 12px; margin: 0; max-width: none; padding: 0; }
  table { font-size: 8.5px; }
  th, td { padding: 1px 4px; }
  tr, figure { break-inside: avoid; }
  h2 { break-after: avoid; }
  thead { display: table-header-group; }
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
}";

/// The whole document.
pub(crate) fn render(compared: &Compared) -> String {
    let rows = rows(&compared.cells);
    let scenarios = &compared.plan.scenarios;
    let mut body = heading(compared);
    body += &section("Throughput against threads", THROUGHPUT, &pictures::throughput(&rows, scenarios));
    let at_bound: Vec<Scenario> =
        scenarios.iter().copied().filter(|&scenario| at_the_bound(scenario)).collect();
    if !at_bound.is_empty() {
        body += &section("Accuracy against threads", ACCURACY, &pictures::accuracy(&rows, &at_bound));
    }
    for &scenario in scenarios {
        let heading = format!("Latency: {}", scenario.name());
        body += &section(&heading, LATENCY, &pictures::latency(&rows, scenario));
    }
    body += &tables(&rows, scenarios);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" \
         content=\"width=device-width\"/>\n<title>tollgate compare</title>\n<style>\n{STYLE}\n</style>\n</head>\n\
         <body>\n{body}</body>\n</html>\n"
    )
}

const THROUGHPUT: &str = "Decisions of all threads together, calls back to back, on a logarithmic scale. Where near and \
far were both seen, the more frequent one is drawn; the tables have both.";

const ACCURACY: &str = "What was admitted against what the bound allows when more is asked for all the time (boundary) \
or at once (burst). Above the line would be wrong. Below it lies what a limiter left unused: shards keep N*C tokens of the \
capacity apart, which weighs the less the longer the time.";

const LATENCY: &str = "Each call timed by itself, a fence and one reading of the clock included. Both axes are \
logarithmic; to the right is the tail.";

fn heading(compared: &Compared) -> String {
    let Compared { machine, floors, plan, .. } = compared;
    format!(
        "<h1>tollgate compare</h1>\n<p class=\"note\">{}, {}<br/>{}<br/>Measured for {} s; limiters interleaved in \
         rounds, medians.</p>\n",
        escaped(&machine.to_string()),
        Timestamp::now().strftime("%Y-%m-%d"),
        escaped(&floors.to_string()),
        plan.time.as_secs_f64().ceil(),
    )
}

fn section(heading: &str, note: &str, picture: &str) -> String {
    format!("<figure>\n<h2>{heading}</h2>\n<p class=\"note\">{note}</p>\n{picture}</figure>\n")
}

fn tables(rows: &[Row<'_>], scenarios: &[Scenario]) -> String {
    let mut out = String::new();
    for &scenario in scenarios {
        let of_scenario: Vec<_> = rows.iter().filter(|row| row.scenario() == scenario).collect();
        out += &format!("<h2>Figures: {}</h2>\n{}", escaped(title(scenario)), table::<Figures>(&of_scenario));
        if tells_bound(scenario, &of_scenario) {
            out += &format!("<h2>Bound: {}</h2>\n{}", scenario.name(), table::<Bounds>(&of_scenario));
        }
    }
    out
}

fn table<T: Tabular>(rows: &[&Row<'_>]) -> String {
    let head: String = T::HEADER.iter().enumerate().map(|(i, name)| cell("th", i, name)).collect();
    let mut body = String::new();
    let mut threads = None;
    for row in T::rows(rows) {
        let mut class = Vec::new();
        if threads.replace(row.threads()) != Some(row.threads()) {
            class.push("first");
        }
        if row.limiter().starts_with("tollgate/") {
            class.push("ours");
        }
        if row.cell.violations() > 0 {
            class.push("over");
        }
        let cells: String = T::figures(row).iter().enumerate().map(|(i, text)| cell("td", i, text)).collect();
        body += &format!("<tr class=\"{}\">{cells}</tr>\n", class.join(" "));
    }
    format!("<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n")
}

/// The second column is a name.
fn cell(tag: &str, index: usize, text: &str) -> String {
    let class = if index == 1 { " class=\"name\"" } else { "" };
    format!("<{tag}{class}>{}</{tag}>", escaped(text))
}
