//! Running other programs.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::iter;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use crate::{project, tools};

/// A program with its arguments, run in the root of the repository, without input, and shown before it
/// starts.
pub(crate) struct Run {
    command: Command,
    shown: String,
    limit: Option<Duration>,
}

/// How a program ended, and what it printed to its standard output.
pub(crate) struct Ended {
    pub(crate) passed: bool,
    pub(crate) in_time: bool,
    pub(crate) output: String,
}

/// Ends a process group when its time is over.
struct Watch {
    ended: Sender<()>,
    thread: thread::JoinHandle<bool>,
}

impl Run {
    pub(crate) fn new(program: impl AsRef<OsStr>) -> Self {
        let program = program.as_ref();
        let mut command = Command::new(program);
        command.current_dir(project::root()).stdin(Stdio::null()).env("PATH", search_path());
        Self { command, shown: program.to_string_lossy().into_owned(), limit: None }
    }

    /// Cargo with these words.
    pub(crate) fn cargo(words: &str) -> Self {
        Self::new("cargo").words(words)
    }

    pub(crate) fn words(self, words: &str) -> Self {
        words.split_whitespace().fold(self, Self::arg)
    }

    pub(crate) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(&argument);
        let _ = write!(self.shown, " {}", argument.as_ref().to_string_lossy());
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.shown = format!("{name}={:?} {}", value.as_ref(), self.shown);
        self.command.env(name, value);
        self
    }

    /// Sets what changes how fast it goes but not what it does; it is not shown.
    pub(crate) fn tuned(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Builds where the program itself chooses.
    pub(crate) fn no_target(mut self) -> Self {
        self.command.env_remove("CARGO_TARGET_DIR");
        self
    }

    /// Builds in a target folder of its own.
    pub(crate) fn target_of(self, flags: &str) -> Self {
        let folder = project::target_of(flags);
        self.env("CARGO_TARGET_DIR", folder)
    }

    pub(crate) fn folder(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Ends the program and all that it started after so long.
    pub(crate) fn limit(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Whether it can be started and succeeds; nothing is shown.
    pub(crate) fn succeeds(mut self) -> bool {
        self.command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    }

    /// What it prints to its standard output, if it succeeds; nothing is shown.
    pub(crate) fn answer(mut self) -> Option<String> {
        let output = self.command.stderr(Stdio::null()).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned();
        output.status.success().then_some(text)
    }

    /// Runs it and fails if it does.
    pub(crate) fn run(self) -> Result<(), String> {
        self.heard().map(drop)
    }

    /// Runs it, fails if it does, and gives back what it printed.
    pub(crate) fn heard(self) -> Result<String, String> {
        let shown = self.shown.clone();
        let ended = self.end()?;
        match (ended.in_time, ended.passed) {
            (_, true) => Ok(ended.output),
            (false, _) => Err(format!("out of time: {shown}")),
            (true, _) => Err(format!("failed: {shown}")),
        }
    }

    /// Runs it to its end, whatever that is.
    pub(crate) fn end(mut self) -> Result<Ended, String> {
        println!("$ {}", self.shown);
        own_group(&mut self.command, self.limit.is_some());
        let spawned = self.command.stdout(Stdio::piped()).spawn();
        let mut child = spawned.map_err(|error| format!("cannot start {}: {error}", self.shown))?;
        let watch = self.limit.map(|limit| Watch::over(&child, limit));
        let output = echo(&mut child);
        let status = child.wait().map_err(|error| format!("lost {}: {error}", self.shown))?;
        let in_time = watch.is_none_or(Watch::over_in_time);
        Ok(Ended { passed: status.success() && in_time, in_time, output })
    }
}

/// The tools of the project come before those of the machine.
fn search_path() -> OsString {
    let machine = env::var_os("PATH").unwrap_or_default();
    let own = iter::once(tools::folder()).chain(env::split_paths(&machine));
    env::join_paths(own).unwrap_or(machine)
}

/// Prints what the program prints, line by line, and keeps it.
fn echo(child: &mut Child) -> String {
    let mut output = String::new();
    let Some(stdout) = child.stdout.take() else {
        return output;
    };
    let mut reader = BufReader::new(stdout);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        let text = String::from_utf8_lossy(&line);
        print!("{text}");
        output.push_str(&text);
        line.clear();
    }
    output
}

#[cfg(unix)]
fn own_group(command: &mut Command, wanted: bool) {
    use std::os::unix::process::CommandExt as _;
    if wanted {
        command.process_group(0);
    }
}

#[cfg(not(unix))]
fn own_group(_: &mut Command, _: bool) {}

impl Watch {
    fn over(child: &Child, limit: Duration) -> Self {
        let group = child.id();
        let (ended, waiting) = channel();
        Self { ended, thread: thread::spawn(move || within(limit, &waiting, group)) }
    }

    fn over_in_time(self) -> bool {
        let _ = self.ended.send(());
        self.thread.join().unwrap_or(false)
    }
}

fn within(limit: Duration, ended: &Receiver<()>, group: u32) -> bool {
    let late = matches!(ended.recv_timeout(limit), Err(RecvTimeoutError::Timeout));
    if late {
        let _ = Command::new("kill").args(["-KILL", "--", &format!("-{group}")]).status();
    }
    !late
}
