//! What another file would change, and for whom.

use std::fmt;

use super::config::{Config, Consumer, for_whom};
use super::table::Table;

/// What changes from one set of declarations to another. Printed, it is a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changes {
    changes: Vec<Change>,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// What changes, as a path from the top of the file: `allowance.openai`.
    pub what: String,
    /// What it was; nothing if it is new.
    pub before: Option<String>,
    /// What it will be; nothing if it is gone.
    pub after: Option<String>,
    /// What becomes of what is held.
    pub held: Holdings,
    /// The tools and callers that consume it, before or after.
    pub tools: Vec<String>,
    /// The callers that it is for, before or after.
    pub callers: Vec<String>,
}

/// What a reload makes of what an allowance holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holdings {
    /// It is kept, as far as it fits.
    Kept,
    /// It starts as its quota says.
    Starts,
    /// The allowance is not consulted any more. What was admitted before is settled with it.
    Ends,
    /// Nothing is held: it is a mapping.
    Nothing,
}

/// An allowance, a tool or a caller, on both sides.
struct Sides<'a> {
    what: String,
    before: Option<String>,
    after: Option<String>,
    held: Holdings,
    tools: Vec<&'a str>,
    callers: Vec<&'a str>,
}

impl Changes {
    pub(super) fn between(old: &Config, new: &Config) -> Self {
        let allowances = names(old, new).into_iter().map(|name| allowance(name, old, new));
        let tools = united(old.tools.keys(), new.tools.keys()).map(|name| {
            let text = |config: &Config| config.tools.get(name).map(|tool| config.uses_of(tool));
            Sides { tools: vec![name], ..Sides::mapping("tool", name, text(old), text(new)) }
        });
        let callers = united(old.callers.keys(), new.callers.keys()).map(|name| {
            let text = |config: &Config| config.callers.get(name).map(|caller| of_caller(config, caller));
            Sides { callers: vec![name], ..Sides::mapping("caller", name, text(old), text(new)) }
        });
        Self { changes: allowances.chain(tools).chain(callers).filter_map(Sides::change).collect() }
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Allowances first, then tools, then callers.
    pub fn iter(&self) -> std::slice::Iter<'_, Change> {
        self.changes.iter()
    }
}

impl<'a> Sides<'a> {
    fn mapping(kind: &str, name: &str, before: Option<String>, after: Option<String>) -> Self {
        let what = super::file::path([kind, name]);
        Self { what, before, after, held: Holdings::Nothing, tools: Vec::new(), callers: Vec::new() }
    }

    fn change(self) -> Option<Change> {
        let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
        (self.before != self.after).then(|| Change {
            what: self.what,
            before: self.before,
            after: self.after,
            held: self.held,
            tools: owned(self.tools),
            callers: owned(self.callers),
        })
    }
}

fn allowance<'a>(name: &'a str, old: &'a Config, new: &'a Config) -> Sides<'a> {
    let places = (old.named(name), new.named(name));
    let unit = |config: &Config, place: Option<usize>| Some(config.allowances.get(place?)?.unit);
    let held = match (unit(old, places.0), unit(new, places.1)) {
        (Some(before), Some(after)) if before == after => Holdings::Kept,
        (_, Some(_)) => Holdings::Starts,
        _ => Holdings::Ends,
    };
    let users = |config: &'a Config, place: Option<usize>| {
        place.map_or((Vec::new(), Vec::new()), |place| config.users_of(place))
    };
    let (before, after) = (users(old, places.0), users(new, places.1));
    Sides {
        held,
        tools: united(before.0, after.0).collect(),
        callers: united(before.1, after.1).collect(),
        ..Sides::mapping("allowance", name, of_allowance(old, places.0), of_allowance(new, places.1))
    }
}

fn of_allowance(config: &Config, place: Option<usize>) -> Option<String> {
    let allowance = config.allowances.get(place?)?;
    let share = match allowance.share {
        Some(_) => format!(" ({})", config.share_of(allowance)),
        None => String::new(),
    };
    Some(format!("{} {}{share}", allowance.unit, allowance.limit))
}

fn of_caller(config: &Config, caller: &Consumer) -> String {
    format!("within {}; uses {}", config.within_of(caller), config.uses_of(caller))
}

/// The names of allowances on either side, in the order of the new file, then of the old one.
fn names<'a>(old: &'a Config, new: &'a Config) -> Vec<&'a str> {
    let gone = old.allowances.iter().filter(|allowance| new.named(&allowance.name).is_none());
    new.allowances.iter().chain(gone).map(|allowance| &*allowance.name).collect()
}

/// The names on either side, once each, in their own order.
fn united<'a, N: AsRef<str> + ?Sized + 'a>(
    one: impl IntoIterator<Item = &'a N>,
    other: impl IntoIterator<Item = &'a N>,
) -> impl Iterator<Item = &'a str> {
    let names: std::collections::BTreeSet<_> = one.into_iter().chain(other).map(AsRef::as_ref).collect();
    names.into_iter()
}

impl<'a> IntoIterator for &'a Changes {
    type Item = &'a Change;
    type IntoIter = std::slice::Iter<'a, Change>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Holdings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kept => "kept",
            Self::Starts => "starts",
            Self::Ends => "ends",
            Self::Nothing => "-",
        })
    }
}

impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("nothing changes\n");
        }
        let mut table = Table::new(["what", "before", "after", "held", "for whom"]);
        for change in self {
            let text = |side: &Option<String>| side.clone().unwrap_or_else(|| "-".to_owned());
            let (tools, callers): (Vec<_>, Vec<_>) = (
                change.tools.iter().map(String::as_str).collect(),
                change.callers.iter().map(String::as_str).collect(),
            );
            let (before, after) = (text(&change.before), text(&change.after));
            table.row([
                change.what.clone(),
                before,
                after,
                change.held.to_string(),
                for_whom(&tools, &callers),
            ]);
        }
        write!(f, "{table}")
    }
}
