//! The results for a person: one column a limit.

use comfy_table::Table;

use super::Replayed;
use super::by_key::ByKey;
use super::lane::{Form, Lane};
use crate::output;
use crate::text::{bytes, grouped, plain, share, span};

const BUILTIN_NOTE: &str = "
This trace comes with the program: ten minutes, each with 48 calm seconds and a burst of 12, the same on every machine.
The mean demand is below the rate, yet bursts are refused: what the bucket holds (burst) decides how much of them passes.
Try others side by side:  tollgate replay --limit '450k/min burst 80k' --limit '450k/min burst 320k' --plot replay.svg
";

/// So many of the most refused keys are told.
pub(crate) const TOP: usize = 10;

/// A row: its title, and its value for a limit.
type Row<'a> = (&'a str, Box<dyn Fn(&Lane) -> String + 'a>);

/// The whole output, with a line feed at its end.
pub(crate) fn render(replayed: &Replayed, builtin: bool) -> String {
    let mut out = format!("{}\n{}\n", heading(replayed), table(replayed));
    for lane in &replayed.lanes {
        out += &lane.keys().map_or(String::new(), |keys| most_refused(lane.name(), keys));
    }
    if let Some(first) = replayed.trace.first_skipped() {
        out += &format!("the first bad line: {first}\n");
    }
    if replayed.lanes.iter().any(|lane| lane.tally().never.requests > 0) {
        out += "never: the cost is above the capacity, no wait would help\n";
    }
    if builtin {
        out += BUILTIN_NOTE;
    }
    out
}

fn heading(replayed: &Replayed) -> String {
    let Replayed { trace, cost, key, store, .. } = replayed;
    let store =
        store.as_ref().map_or(String::new(), |store| format!(", in memory and in {}", plain(store.name())));
    let by_key = key.as_ref().map_or(String::new(), |key| format!(", a bucket for each {}", plain(key)));
    format!("{}: arrivals over {}, cost {cost}{by_key}{store}", trace.name(), span(trace.span()))
}

fn table(replayed: &Replayed) -> Table {
    let mut table = output::table();
    table.set_header(std::iter::once("limit").chain(replayed.lanes.iter().map(Lane::name)));
    for (title, value) in rows(replayed) {
        table.add_row(std::iter::once(title.to_owned()).chain(replayed.lanes.iter().map(&value)));
    }
    output::figures_right(table)
}

/// The keys to which a limit refused most.
fn most_refused(limit: &str, keys: &ByKey) -> String {
    let top = keys.top_refused(TOP);
    if top.is_empty() {
        return format!("{limit}: no key was refused anything\n");
    }
    let mut table = output::table();
    table.set_header(["key", "refused", "cost refused"]);
    for refused in top {
        table.add_row([plain(refused.key), grouped(refused.count.requests), grouped(refused.count.cost)]);
    }
    format!("most refused by {limit}:\n{}\n", output::figures_right(table))
}

fn rows(replayed: &Replayed) -> Vec<Row<'_>> {
    let skipped = replayed.trace.skipped();
    let mut rows: Vec<Row<'_>> = vec![
        ("requests", Box::new(|lane| grouped(lane.tally().offered().requests))),
        (
            "  admitted",
            Box::new(|lane| share(lane.tally().admitted.requests, lane.tally().offered().requests)),
        ),
        ("  refused", Box::new(|lane| share(lane.tally().refused.requests, lane.tally().offered().requests))),
        ("  never", Box::new(|lane| share(lane.tally().never.requests, lane.tally().offered().requests))),
        ("cost offered", Box::new(|lane| grouped(lane.tally().offered().cost))),
        ("  admitted", Box::new(|lane| share(lane.tally().admitted.cost, lane.tally().offered().cost))),
        ("  refused", Box::new(|lane| share(lane.tally().refused.cost, lane.tally().offered().cost))),
        ("  never", Box::new(|lane| share(lane.tally().never.cost, lane.tally().offered().cost))),
        ("longest wait told", Box::new(|lane| wait(lane, lane.tally().longest_wait))),
        ("mean wait told", Box::new(|lane| wait(lane, lane.tally().mean_wait().unwrap_or_default()))),
        ("least tokens left", Box::new(|lane| lane.least_available().map_or("-".into(), grouped))),
        ("bound violations", Box::new(|lane| grouped(lane.violations()))),
    ];
    if replayed.store.is_some() {
        let told = |lane: &Lane| lane.otherwise().map_or(String::new(), grouped);
        rows.push(("decided otherwise", Box::new(told)));
    }
    if replayed.key.is_some() {
        rows.extend(rows_of_keys());
    }
    if replayed.lanes.iter().any(|lane| lane.form().is_some()) {
        rows.push((
            "most in a period",
            Box::new(|lane| lane.form().map_or(String::new(), |form| most_in_a_period(lane, form))),
        ));
    }
    if replayed.lanes.iter().any(|lane| lane.tally().zero_cost > 0) {
        rows.push(("zero cost, set aside", Box::new(|lane| grouped(lane.tally().zero_cost))));
    }
    if skipped > 0 {
        rows.push(("bad lines skipped", Box::new(move |_| grouped(skipped))));
    }
    rows
}

fn rows_of_keys<'a>() -> [Row<'a>; 4] {
    fn told<'a>(of: impl Fn(&ByKey) -> String + 'a) -> Box<dyn Fn(&Lane) -> String + 'a> {
        Box::new(move |lane| lane.keys().map_or(String::new(), &of))
    }
    [
        ("keys", told(|keys| grouped(keys.distinct()))),
        ("  most known at a time", told(|keys| grouped(keys.most_known()))),
        ("  not full at the end", told(|keys| grouped(keys.live()))),
        ("memory for keys, about", told(|keys| bytes(keys.memory_bytes()))),
    ]
}

/// `412,000 (137.3 %)` of the limit's tokens.
fn most_in_a_period(lane: &Lane, form: &Form) -> String {
    share(form.in_period.most(), lane.quota().tokens())
}

/// A wait, or a dash where nothing was refused.
fn wait(lane: &Lane, wait: std::time::Duration) -> String {
    if lane.tally().refused.requests == 0 { "-".into() } else { span(wait) }
}
