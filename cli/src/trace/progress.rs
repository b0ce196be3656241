//! A progress bar for long inputs, on a terminal only.

use std::fs;
use std::io::{self, IsTerminal};
use std::path::Path;

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

/// An input is long from this many bytes on.
const LONG: u64 = 16 << 20;

/// Arrivals between two looks.
const EVERY: u64 = 1 << 14;

/// How far the reading of a trace has come.
pub(crate) struct Progress {
    length: Option<u64>,
    wanted: bool,
    bar: Option<ProgressBar>,
    arrivals: u64,
}

impl Progress {
    /// For the trace in a file; of standard input the length is unknown.
    pub(crate) fn new(file: Option<&Path>) -> Self {
        let length = file
            .and_then(|file| fs::metadata(file).ok())
            .filter(fs::Metadata::is_file)
            .map(|file| file.len());
        Self { length, wanted: io::stderr().is_terminal(), bar: None, arrivals: 0 }
    }

    /// One more arrival, after `bytes` bytes of input.
    pub(crate) fn step(&mut self, bytes: u64) {
        self.arrivals += 1;
        if self.wanted && self.arrivals.is_multiple_of(EVERY) && self.length.unwrap_or(bytes) >= LONG {
            let length = self.length;
            self.bar.get_or_insert_with(|| bar(length)).set_position(bytes);
        }
    }
}

/// The bar goes away when it is dropped, before an error is told too.
fn bar(length: Option<u64>) -> ProgressBar {
    let (bar, template) = match length {
        Some(length) => (ProgressBar::new(length), "{wide_bar} {bytes}/{total_bytes}, {eta} left"),
        None => (ProgressBar::no_length(), "{spinner} {bytes}, {bytes_per_sec}"),
    };
    let bar = bar.with_finish(ProgressFinish::AndClear);
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
