//! The file as it is written: what serde makes of the TOML, and where in it things stand.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::amount::Written;
use super::fault::{ConfigError, Fault, Problem};

/// Things by name, both with their places.
pub(super) type Named<T> = BTreeMap<Spanned<String>, Spanned<T>>;

/// The whole of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    #[serde(default)]
    pub(super) allowance: Named<AllowanceRow>,
    #[serde(default)]
    pub(super) tool: Named<ToolRow>,
    #[serde(default)]
    pub(super) caller: Named<CallerRow>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct AllowanceRow {
    pub(super) unit: Option<Spanned<String>>,
    pub(super) rate: Option<Spanned<String>>,
    pub(super) in_flight: Option<Spanned<i64>>,
    pub(super) share_of: Option<Spanned<String>>,
    pub(super) share: Option<Spanned<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolRow {
    pub(super) uses: Option<Spanned<Named<Written>>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CallerRow {
    #[serde(default)]
    pub(super) within: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) uses: Named<Written>,
}

/// Where the lines of a text begin.
pub(super) struct Lines<'t> {
    text: &'t str,
}

impl File {
    pub(super) fn read(text: &str) -> Result<Self, ConfigError> {
        toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let problem = Problem::Syntax { message: error.message().to_owned() };
            let fault = Fault { line: Lines::of(text).line(at), field: field_at(text, at), problem };
            ConfigError::new(vec![fault])
        })
    }
}

impl<'t> Lines<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self { text }
    }

    /// The line of a byte, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        let before = self.text.as_bytes().iter().take(at);
        1 + before.filter(|byte| **byte == b'\n').count()
    }
}

/// A path of names; those that are not bare in TOML stand in quotes.
pub(super) fn path<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let bare = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    let quoted = |name: &str| if bare(name) { name.to_owned() } else { format!("{name:?}") };
    names.into_iter().map(quoted).collect::<Vec<_>>().join(".")
}

/// The field that a byte belongs to: the last one that begins before it.
fn field_at(text: &str, at: usize) -> String {
    let (table, _) = DeTable::parse_recoverable(text);
    let mut last = (0, String::new());
    find_last(table.get_ref(), &mut Vec::new(), at, &mut last);
    last.1
}

fn find_last<'t>(table: &'t DeTable<'_>, above: &mut Vec<&'t str>, at: usize, last: &mut (usize, String)) {
    for (key, value) in table {
        above.push(key.get_ref());
        if (last.0..=at).contains(&key.span().start) {
            *last = (key.span().start, path(above.iter().copied()));
        }
        if let DeValue::Table(table) = value.get_ref() {
            find_last(table, above, at, last);
        }
        above.pop();
    }
}
