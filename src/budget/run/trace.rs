//! What a run has used, and for what.

use std::fmt;

use super::outcome::Ended;

/// Calls, tokens and money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Spent {
    /// Calls.
    pub calls: u64,
    /// Tokens.
    pub tokens: u64,
    /// Money, in micro-units.
    pub spend: u64,
}

/// What one tool was used for in a run and in the runs below it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolTrace {
    /// Its name; `None` for all that are not [told apart](super::Ceilings::told_apart).
    pub tool: Option<String>,
    /// What calls that are closed have used.
    pub used: Spent,
    /// What calls that are open have reserved.
    pub open: Spent,
}

/// What a run and the runs below it have used, and for what, at one moment. It can be taken at any time, also
/// after the end.
///
/// Its `Display` is a table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trace {
    /// What calls that are closed have used.
    pub used: Spent,
    /// What calls that are open have reserved.
    pub open: Spent,
    /// The same for each tool, in the order in which they were first called. Summed up, they are the figures
    /// above.
    pub tools: Vec<ToolTrace>,
    /// How the run ended, if it is over.
    pub ended: Option<Ended>,
}

impl Trace {
    /// What a tool was used for, if it was called and is told apart.
    pub fn of(&self, tool: &str) -> Option<&ToolTrace> {
        self.tools.iter().find(|trace| trace.tool.as_deref() == Some(tool))
    }
}

impl Spent {
    pub(super) fn add(&mut self, more: Self) {
        self.calls = self.calls.saturating_add(more.calls);
        self.tokens = self.tokens.saturating_add(more.tokens);
        self.spend = self.spend.saturating_add(more.spend);
    }

    pub(super) fn subtract(&mut self, less: Self) {
        self.calls = self.calls.saturating_sub(less.calls);
        self.tokens = self.tokens.saturating_sub(less.tokens);
        self.spend = self.spend.saturating_sub(less.spend);
    }

    /// The smaller of each.
    pub(super) fn least(self, other: Self) -> Self {
        Self {
            calls: self.calls.min(other.calls),
            tokens: self.tokens.min(other.tokens),
            spend: self.spend.min(other.spend),
        }
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |tool: &ToolTrace| tool.tool.clone().unwrap_or_else(|| "(others)".into());
        let width = self.tools.iter().map(|tool| name(tool).chars().count()).max().unwrap_or(0).max(5);
        writeln!(
            f,
            "{:width$}  {:>8}  {:>12}  {:>14}  {:>6}",
            "tool", "calls", "tokens", "micro-units", "open"
        )?;
        let mut row = |name: &str, used: Spent, open: Spent| {
            let Spent { calls, tokens, spend } = used;
            writeln!(f, "{name:width$}  {calls:>8}  {tokens:>12}  {spend:>14}  {:>6}", open.calls)
        };
        self.tools.iter().try_for_each(|tool| row(&name(tool), tool.used, tool.open))?;
        row("total", self.used, self.open)?;
        self.ended.map_or(Ok(()), |ended| writeln!(f, "{ended}"))
    }
}
