//! Opening a trace: which input, which format, which columns.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use clap::ValueEnum;

use super::time::Stamps;
use super::{CostRule, Latency, Lines, Problem, Records, Source, Trace, Unit, builtin, combined, csv, jsonl};
use crate::failure::Failure;

/// How a trace is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Decide by the first line
    #[default]
    Auto,
    /// Comma-separated values under a header line
    Csv,
    /// One JSON object a line
    Jsonl,
    /// The access log of Apache and nginx: combined, or common without referer and agent
    Combined,
}

/// What the user wants to be read, and from which columns.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) format: Format,
    pub(crate) time: Option<String>,
    pub(crate) unit: Option<Unit>,
    pub(crate) cost: CostRule,
    /// The column with the key; the built-in trace has none.
    pub(crate) key: Option<String>,
    /// The column with how long a request took.
    pub(crate) latency: Option<Latency>,
    pub(crate) skip_bad: bool,
}

impl Wanted {
    /// The reader of times for the column `name`: the user knows the unit best, then the name.
    pub(super) fn stamps(&self, name: &str) -> Stamps {
        Stamps::new(self.unit.or_else(|| super::columns::unit_of(name)))
    }
}

impl Trace {
    /// The trace in `file`, or without one the built-in trace.
    pub(crate) fn of(file: Option<&Path>, wanted: &Wanted) -> Result<Self, Failure> {
        match file {
            Some(file) => Self::open(file, wanted),
            None => Self::builtin(wanted),
        }
    }

    /// The trace that the program brings along.
    fn builtin(wanted: &Wanted) -> Result<Self, Failure> {
        let builtin = builtin::Builtin::new(&wanted.cost).map_err(Failure::Input)?;
        Ok(Self::new("built-in trace".into(), Source::Builtin(builtin), wanted.skip_bad))
    }

    /// The trace in `file`, where `-` is standard input.
    fn open(file: &Path, wanted: &Wanted) -> Result<Self, Failure> {
        let (name, input): (_, Box<dyn Read>) = if file == Path::new("-") {
            ("<stdin>".to_owned(), Box::new(io::stdin()))
        } else {
            let name = file.display().to_string();
            let opened = File::open(file).map_err(|error| Failure::Input(format!("{name}: {error}")))?;
            (name, Box::new(opened))
        };
        let lines = Lines::new(Box::new(BufReader::with_capacity(1 << 16, input)));
        Self::read(name, lines, file, wanted)
    }

    fn read(name: String, mut lines: Lines, file: &Path, wanted: &Wanted) -> Result<Self, Failure> {
        let format = match wanted.format {
            Format::Auto => sniff(&mut lines, file)
                .map_err(|p| Failure::Input(format!("{name}:{}: {}", p.line, p.what)))?,
            chosen => chosen,
        };
        let records: Box<dyn Records> = match format {
            Format::Jsonl => Box::new(jsonl::Jsonl::new(wanted.clone())),
            Format::Combined => Box::new(combined::Combined::new(wanted).map_err(Failure::Input)?),
            Format::Csv | Format::Auto => Box::new(csv::Csv::new(wanted.clone())),
        };
        Ok(Self::new(name, Source::Input { lines, records }, wanted.skip_bad))
    }
}

/// The format of the first line with text, which is then read again; the file's name decides only where it could be
/// anything.
fn sniff(lines: &mut Lines, file: &Path) -> Result<Format, Problem> {
    if !lines.advance_to_text()? {
        return Ok(Format::Csv);
    }
    lines.hold();
    let line = lines.text().trim_ascii();
    let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    Ok(match ending.to_ascii_lowercase().as_str() {
        _ if line.starts_with(b"{") => Format::Jsonl,
        _ if combined::Entry::read(line).is_ok() => Format::Combined,
        "jsonl" | "ndjson" => Format::Jsonl,
        "log" => Format::Combined,
        _ => Format::Csv,
    })
}
