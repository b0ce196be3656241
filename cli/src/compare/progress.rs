//! A bar that shows how much of the time has passed, on a terminal only. It is drawn between two measurements, by the
//! thread that measures: a thread of its own would disturb what is measured.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

/// How far a comparison has come.
pub(crate) struct Progress {
    start: Instant,
    bar: Option<ProgressBar>,
}

impl Progress {
    pub(crate) fn new(total: Duration) -> Self {
        let bar = io::stderr().is_terminal().then(|| bar(total));
        Self { start: Instant::now(), bar }
    }

    /// What is measured now.
    pub(crate) fn show(&self, what: impl FnOnce() -> String) {
        if let Some(bar) = &self.bar {
            bar.set_message(what());
            self.step();
        }
    }

    /// Time has passed.
    pub(crate) fn step(&self) {
        if let Some(bar) = &self.bar {
            bar.set_position(self.start.elapsed().as_millis() as u64);
        }
    }
}

fn bar(total: Duration) -> ProgressBar {
    let bar = ProgressBar::new(total.as_millis() as u64).with_finish(ProgressFinish::AndClear);
    match ProgressStyle::with_template("{wide_bar} {msg}, {eta} left") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
