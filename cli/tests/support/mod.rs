//! What the tests of all commands share.

use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A run of the program, and what it said.
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// The program with one of its commands.
pub(crate) fn tollgate(command: &str) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    program.arg(command).stdin(Stdio::null());
    program
}

impl Run {
    pub(crate) fn of(command: &mut Command, args: &[&str]) -> Self {
        Self::new(command.args(args).output().expect("the program starts"))
    }

    pub(crate) fn new(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("the program writes UTF-8");
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// The value of `--json -`, after a run that went well.
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.code, Some(0), "{}", self.err);
        assert_eq!(self.err, "");
        serde_json::from_str(&self.out).expect("JSON and nothing else")
    }

    /// Exit code 2, nothing on standard output, and a message with all of `parts`.
    pub(crate) fn fails_with(&self, parts: &[&str]) {
        assert_eq!((self.code, self.out.as_str()), (Some(2), ""), "{}", self.err);
        for part in parts {
            assert!(self.err.contains(part), "no {part:?} in {:?}", self.err);
        }
    }
}
