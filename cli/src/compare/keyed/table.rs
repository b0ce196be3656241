//! The results for a person: a table for each scenario.

use tollgate_bench::keyed::keys::Pattern;

use super::super::table::{DISTURBED_NOTE, OVER, digits, grid, heading, reddened};
use super::loads::{Row, rows};
use super::{Compared, Flooded};
use crate::text::{bytes, grouped};

const LOAD: [&str; 6] = ["threads", "limiter", "ns/op", "Mops", "x floor", "x governor"];

const FLOOD: [&str; 11] = [
    "threads",
    "limiter",
    "ns/op",
    "Mops",
    "x governor",
    "admitted",
    "keys known",
    "memory at 1/10",
    "at the end",
    "bytes a key",
    "victim",
];

/// The whole output, with a line feed at its end.
pub(super) fn render(compared: &Compared) -> String {
    let rows = rows(&compared.cells);
    let mut out = heading(&compared.machine, &compared.floors);
    for &pattern in &compared.patterns {
        let of_pattern = rows.iter().filter(|row| row.cell.pattern == pattern);
        out += &format!("\n{}\n{}\n", title(pattern), grid(&LOAD, of_pattern.map(figures)));
    }
    if let Some(flooded) = compared.floods.first() {
        let table = grid(&FLOOD, compared.listed_floods().map(|flooded| flood_figures(flooded, compared)));
        let title = format!("flood: {} keys that come once", grouped(flooded.flood.keys));
        out += &format!("\n{title}\n{}\n", reddened(&table.to_string()));
    }
    if rows.iter().any(|row| row.disturbed) {
        out += DISTURBED_NOTE;
    }
    out
}

/// What a stream is, in a line.
fn title(pattern: Pattern) -> &'static str {
    match pattern {
        Pattern::Hot => "hot: one key, every call is admitted",
        Pattern::Uniform => "uniform: 100,000 keys, each as often as any other, every call is admitted",
        Pattern::Zipf => "zipf: 100,000 keys, the n-th an n-th as often as the first, every call is admitted",
    }
}

fn figures(row: &Row<'_>) -> Vec<String> {
    let placement = row.placement.map_or(String::new(), |placement| format!(" {}", placement.name()));
    let disturbed = if row.disturbed { "* " } else { "" };
    vec![
        format!("{}{placement}", row.cell.threads),
        row.cell.entry.name.to_owned(),
        format!("{disturbed}{}", digits(row.nanos)),
        digits(1e3 / row.nanos),
        row.ratio_to_floor.map_or("-".into(), digits),
        row.ratio_to_governor.map_or("-".into(), digits),
    ]
}

fn flood_figures(flooded: &Flooded, compared: &Compared) -> Vec<String> {
    let flood = &flooded.flood;
    let memory = |count: Option<u64>| count.map_or("-".into(), bytes);
    vec![
        flooded.threads.to_string(),
        flooded.entry.name.to_owned(),
        digits(flood.ns_per_op),
        digits(1e3 / flood.ns_per_op),
        compared.ratio_to_governor(flooded).map_or("-".into(), digits),
        grouped(flood.admitted),
        grouped(flood.keys_live),
        memory(flood.memory_bytes_at_a_tenth),
        memory(flood.memory_bytes),
        flood.bytes_a_live_key().map_or("-".into(), digits),
        match flood.victim_admitted {
            0 => "refused".into(),
            count => format!("{OVER}: {count}"),
        },
    ]
}
