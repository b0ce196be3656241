//! Where results go.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, ContentArrangement, Table};

use crate::failure::Failure;

/// Tells the results: as JSON where that is asked for, and as text on standard output unless JSON goes there.
pub(crate) fn tell(
    json: Option<&Destination>,
    as_json: impl FnOnce() -> Result<String, Failure>,
    as_text: impl FnOnce() -> String,
) -> Result<(), Failure> {
    let written = match json {
        Some(destination) => destination.write(&as_json()?),
        None => Ok(()),
    };
    match json {
        Some(Destination::Stdout) => written,
        _ => written.and(Destination::Stdout.write(&as_text())),
    }
}

/// Where a result goes: standard output (`-`) or a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    Stdout,
    File(PathBuf),
}

impl Destination {
    /// Writes the whole of `text`.
    pub(crate) fn write(&self, text: &str) -> Result<(), Failure> {
        let written = match self {
            Self::Stdout => write_stdout(text),
            Self::File(path) => std::fs::write(path, text),
        };
        written.map_err(|error| Failure::writing(self, &error))
    }
}

impl FromStr for Destination {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(if text == "-" { Self::Stdout } else { Self::File(text.into()) })
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdout => f.write_str("standard output"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

/// Unlike `print!`, gives a closed pipe back as an error and does not panic.
fn write_stdout(text: &str) -> io::Result<()> {
    use io::Write;
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// What is for machines, as text with a line feed at its end.
pub(crate) fn json_text(report: &impl serde::Serialize) -> Result<String, Failure> {
    let text =
        serde_json::to_string_pretty(report).map_err(|error| Failure::Output(format!("JSON: {error}")))?;
    Ok(text + "\n")
}

/// An empty table that keeps to the width of the terminal.
pub(crate) fn table() -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    if let Some((_, width)) = console::Term::stdout().size_checked() {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    table
}

/// Titles to the left, figures to the right.
pub(crate) fn figures_right(mut table: Table) -> Table {
    table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table
}
