//! What a run may use.

use std::sync::Arc;

/// The ceilings of a run: on calls, on calls of each tool, on tokens and on spend. What is not named is not
/// limited.
///
/// ```
/// use tollgate::budget::{Ceilings, Run};
///
/// let ceilings = Ceilings::new().calls(100).calls_of("search", 20).tokens(200_000).spend(5_000_000);
/// let runs: Vec<Run> = (0..1_000).map(|_| Run::new(&ceilings)).collect();
/// # assert_eq!(runs[0].left().calls, 100);
/// ```
///
/// A ceiling may be any number. With one of zero, the first call that asks ends the run.
///
/// A clone shares what it was cloned from, and so does every run.
#[derive(Clone, Debug)]
#[must_use = "ceilings limit the runs that are made with them"]
pub struct Ceilings {
    limits: Arc<Limits>,
}

#[derive(Clone, Debug)]
pub(super) struct Limits {
    pub(super) calls: u64,
    pub(super) tokens: u64,
    pub(super) spend: u64,
    /// Of each tool that is not declared.
    pub(super) calls_per_tool: u64,
    /// Tools that are not declared and yet counted one by one.
    pub(super) told_apart: usize,
    /// Tools with a ceiling of their own.
    pub(super) declared: Vec<(Box<str>, u64)>,
}

impl Ceilings {
    /// No ceiling at all.
    pub fn new() -> Self {
        let none = u64::MAX;
        let limits = Limits {
            calls: none,
            tokens: none,
            spend: none,
            calls_per_tool: none,
            told_apart: 16,
            declared: Vec::new(),
        };
        Self { limits: Arc::new(limits) }
    }

    /// At most so many calls.
    pub fn calls(self, most: u64) -> Self {
        self.with(|limits| limits.calls = most)
    }

    /// At most so many calls of one tool. Named twice, the last ceiling holds.
    pub fn calls_of(self, tool: &str, most: u64) -> Self {
        self.with(|limits| match limits.declared.iter_mut().find(|(name, _)| **name == *tool) {
            Some((_, ceiling)) => *ceiling = most,
            None => limits.declared.push((tool.into(), most)),
        })
    }

    /// At most so many calls of each tool that [`calls_of`](Self::calls_of) does not name. Those that are not
    /// [told apart](Self::told_apart) are one tool for this.
    pub fn calls_per_tool(self, most: u64) -> Self {
        self.with(|limits| limits.calls_per_tool = most)
    }

    /// At most so many tokens.
    pub fn tokens(self, most: u64) -> Self {
        self.with(|limits| limits.tokens = most)
    }

    /// At most so much money, in micro-units of a currency.
    pub fn spend(self, most: u64) -> Self {
        self.with(|limits| limits.spend = most)
    }

    /// How many tools that [`calls_of`](Self::calls_of) does not name are counted each by itself; 16 by
    /// default. A run counts whatever it calls after that as one tool, the others, and so a tool whose name
    /// is longer than 128 bytes. Names that a model makes up neither fill the memory nor get by the ceiling
    /// of each tool.
    pub fn told_apart(self, tools: usize) -> Self {
        self.with(|limits| limits.told_apart = tools)
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    fn with(mut self, change: impl FnOnce(&mut Limits)) -> Self {
        change(Arc::make_mut(&mut self.limits));
        self
    }
}

impl Default for Ceilings {
    fn default() -> Self {
        Self::new()
    }
}
