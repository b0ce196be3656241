//! The results for a person: what is offered, what is recommended and why, and the alternatives.

use std::path::Path;

use comfy_table::Table;

use super::advice::{Advice, decimal};
use super::curve::{self, Point};
use super::sweep::{Cell, Sweep};
use super::{MINUTE, Planned, SECOND};
use crate::text::{grouped, percent, plain, span};

const BUILTIN_NOTE: &str = "
This trace comes with the program: ten minutes, each with 48 calm seconds and a burst of 12, the same on every machine.
Try:  tollgate plan --admit 100%    tollgate plan --headroom 25%    tollgate plan --capacity 150000    tollgate plan --help
";

/// The whole output, with a line feed at its end.
pub(super) fn render(planned: &Planned, file: Option<&Path>) -> String {
    let mut out = format!("{}\n{}\n", heading(planned), offered(planned));
    out += &format!("\nrecommended, to admit {} at once:\n{}", planned.target, figures(&planned.advice));
    out += &replay_hint(planned, file);
    if !planned.curve.is_empty() {
        out += &format!("\nleast capacity for each rate:\n{}\n", fits(planned));
    }
    out += "\nalternatives: admitted, refused, longest wait told, and used of what the limit allows:\n";
    out += &format!("{}\n", sweep(&planned.sweep));
    if let Some(first) = &planned.load.first_skipped {
        let skipped = grouped(planned.load.skipped);
        out += &format!("bad lines skipped: {skipped}, the first: {first}\n");
    }
    if file.is_none() {
        out += BUILTIN_NOTE;
    }
    out
}

/// The recommendation alone, with a line feed at its end.
pub(super) fn figures(advice: &Advice) -> String {
    let mut table = crate::output::table();
    table.set_header(["", "value", "how"]);
    table.add_row(["limit", &advice.quota.to_string(), ""]);
    for line in &advice.lines {
        let how = match line.numbers.as_str() {
            "" => line.formula.clone(),
            numbers => format!("{}\n{numbers}", line.formula),
        };
        table.add_row([line.what, &line.value, &how]);
    }
    let mut out = format!("{table}\n");
    for warning in &advice.warnings {
        out += &format!("warning: {}\n", warning.message);
    }
    out
}

fn heading(planned: &Planned) -> String {
    let load = &planned.load;
    let zero = match load.zero_cost {
        0 => String::new(),
        count => format!(", {} more cost nothing and are set aside", grouped(count)),
    };
    format!(
        "{}: {} requests over {}, cost {}{zero}",
        load.name,
        grouped(load.len()),
        span(load.span),
        planned.wanted.cost
    )
}

fn offered(planned: &Planned) -> Table {
    let load = &planned.load;
    let mut table = crate::output::table();
    table.set_header(["cost offered", "mean", "p50", "p95", "p99", "most"]);
    for (title, width) in [("in a second", SECOND), ("in a minute", MINUTE)] {
        let windows = load.windows(width);
        let [p50, p95, p99] = [50, 95, 99].map(|percent| grouped(windows.percentile(percent)));
        let mean = decimal(load.mean_cost_in(width));
        table.add_row([title.into(), mean, p50, p95, p99, grouped(windows.most())]);
    }
    let mean = decimal(load.mean_cost());
    let empty = String::new;
    table.add_row(["by a request".into(), mean, empty(), empty(), empty(), grouped(load.largest)]);
    crate::output::figures_right(table)
}

/// The command that replays what is recommended.
fn replay_hint(planned: &Planned, file: Option<&Path>) -> String {
    let trace = file.map_or_else(String::new, |file| {
        format!("{} --cost '{}' ", plain(&file.display().to_string()), planned.wanted.cost)
    });
    format!("see its course:  tollgate replay {trace}--limit '{}' --plot replay.svg\n", planned.choice.quota)
}

fn fits(planned: &Planned) -> Table {
    let knee = curve::knee(&planned.curve);
    let all = planned.target.of(planned.load.len()) == planned.load.len();
    let mut table = crate::output::table();
    let mut header = vec!["rate".to_owned(), format!("for {}", planned.target)];
    header.extend((!all).then(|| "for all".to_owned()));
    header.push(String::new());
    table.set_header(header);
    let row = |(index, point): (usize, &Point)| {
        let mut row = vec![point.rate.to_string(), grouped(point.for_target)];
        row.extend((!all).then(|| grouped(point.for_all)));
        row.push(if Some(index) == knee { "knee" } else { "" }.to_owned());
        row
    };
    planned.curve.iter().enumerate().for_each(|point| _ = table.add_row(row(point)));
    crate::output::figures_right(table)
}

fn sweep(sweep: &Sweep) -> Table {
    let mut table = crate::output::table();
    let rates = sweep.rates.iter().map(ToString::to_string);
    table.set_header(std::iter::once("capacity".to_owned()).chain(rates));
    for (index, capacity) in sweep.capacities.iter().enumerate() {
        let cells =
            (0..sweep.rates.len()).map(|rate| sweep.cell(rate, index).map_or_else(String::new, tried));
        table.add_row(std::iter::once(grouped(*capacity)).chain(cells));
    }
    crate::output::figures_right(table)
}

fn tried(cell: &Cell) -> String {
    let outcome = &cell.outcome;
    let (refused, admitted) = (outcome.refused + outcome.never, outcome.admitted);
    let wait = if outcome.refused == 0 { "-".to_owned() } else { span(outcome.longest_wait) };
    let (admitted, refused) = (percent(admitted, admitted + refused), grouped(refused));
    format!("{admitted}\n{refused}\n{wait}\n{:.1} %", cell.utilisation * 100.0)
}
