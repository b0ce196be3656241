//! What a run counts, under its lock.

use super::ceilings::Limits;
use super::name::ToolName;
use super::outcome::{Ceiling, Ended};
use super::trace::{Spent, ToolTrace, Trace};
use super::verdict::{Standing, Verdict};

/// A tool with a longer name is one of the others.
const LONGEST_NAME: usize = 128;

/// The counts of one run. They include what the runs below it use.
#[derive(Debug, Default)]
pub(super) struct Books {
    all: Tally,
    /// In the order of their first call. None is ever taken out, so a place in it stays what it is.
    tools: Vec<Tool>,
    /// In a box, since most runs never have it.
    ended: Option<Box<Ended>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    /// By calls that are closed.
    used: Spent,
    /// By calls that are open. Exact: it only ever gets what fits under a ceiling beside all the rest.
    open: Spent,
}

#[derive(Debug)]
struct Tool {
    name: Name,
    tally: Tally,
}

#[derive(Debug, PartialEq, Eq)]
enum Name {
    /// Its place in the list of ceilings.
    Declared(usize),
    Seen(Box<str>),
    Others,
}

/// What calls ask for together; it may be more than can be counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wanted {
    pub(super) calls: u128,
    pub(super) tokens: u128,
    pub(super) spend: u128,
}

impl Books {
    pub(super) fn ended(&self) -> Option<Ended> {
        self.ended.as_deref().copied()
    }

    /// The first end counts.
    pub(super) fn end(&mut self, ended: Ended) {
        self.ended.get_or_insert_with(|| Box::new(ended));
    }

    pub(super) fn used(&self) -> Spent {
        self.all.used
    }

    /// How many tools have been called.
    pub(super) fn tools(&self) -> usize {
        self.tools.len()
    }

    /// Forgets tools that have not been called after all.
    pub(super) fn forget_after(&mut self, tools: usize) {
        self.tools.truncate(tools);
    }

    /// The place of a tool, which it gets with its first call.
    pub(super) fn place_of(&mut self, tool: &str, limits: &Limits) -> usize {
        if let Some(place) = self.tools.iter().position(|known| known.name.is(tool, limits)) {
            return place;
        }
        let name = match limits.declared.iter().position(|(name, _)| **name == *tool) {
            Some(declared) => Name::Declared(declared),
            None if tool.len() <= LONGEST_NAME && self.seen() < limits.told_apart => Name::Seen(tool.into()),
            None => Name::Others,
        };
        let others = || self.tools.iter().position(|known| known.name == Name::Others);
        if let (Name::Others, Some(place)) = (&name, others()) {
            return place;
        }
        self.tools.push(Tool { name, tally: Tally::default() });
        self.tools.len() - 1
    }

    /// Whether so much fits under the ceilings that count all tools.
    pub(super) fn judge(&self, wanted: Wanted, limits: &Limits, levels_up: u8, verdict: &mut Verdict) {
        let Tally { used, open } = self.all;
        for (ceiling, used, open, asked, allowed) in [
            (Ceiling::Calls, used.calls, open.calls, wanted.calls, limits.calls),
            (Ceiling::Tokens, used.tokens, open.tokens, wanted.tokens, limits.tokens),
            (Ceiling::Spend, used.spend, open.spend, wanted.spend, limits.spend),
        ] {
            Standing { ceiling, used, open, asked, allowed }.judge(levels_up, verdict);
        }
    }

    /// Whether one call for each of these places fits under the ceilings of their tools.
    pub(super) fn judge_tools(
        &self,
        places: impl ExactSizeIterator<Item = usize> + Clone,
        limits: &Limits,
        levels_up: u8,
        verdict: &mut Verdict,
    ) {
        for place in places.clone() {
            let Some(tool) = self.tools.get(place) else { continue };
            let (used, open, allowed) =
                (tool.tally.used.calls, tool.tally.open.calls, tool.name.allowed(limits));
            // Not worth counting where all of them fit.
            if number(places.len()) > u128::from(allowed.saturating_sub(used).saturating_sub(open)) {
                let asked = number(places.clone().filter(|other| *other == place).count());
                let ceiling = tool.name.ceiling(limits);
                Standing { ceiling, used, open, asked, allowed }.judge(levels_up, verdict);
            }
        }
    }

    /// Reserves, for a call that was found to fit.
    pub(super) fn open(&mut self, place: usize, call: Spent) {
        self.each(place, |tally| tally.open.add(call));
    }

    /// Closes a call: with what it used, or with nothing if it was never made.
    pub(super) fn close(&mut self, place: usize, call: Spent, used: Option<Spent>, limits: &Limits) {
        self.each(place, |tally| {
            tally.open.subtract(call);
            tally.used.add(used.unwrap_or_default());
        });
        if let Some(ended) = self.overrun(limits) {
            self.end(ended);
        }
    }

    /// What is left beside all that is used or reserved.
    pub(super) fn left(&self, limits: &Limits) -> Spent {
        let mut left = Spent { calls: limits.calls, tokens: limits.tokens, spend: limits.spend };
        left.subtract(self.all.used);
        left.subtract(self.all.open);
        left
    }

    pub(super) fn trace(&self, limits: &Limits) -> Trace {
        let tools = self.tools.iter().map(|Tool { name, tally }| ToolTrace {
            tool: name.text(limits).map(Into::into),
            used: tally.used,
            open: tally.open,
        });
        Trace { used: self.all.used, open: self.all.open, tools: tools.collect(), ended: self.ended() }
    }

    /// The end of the run by what has been used already.
    fn overrun(&self, limits: &Limits) -> Option<Ended> {
        let Spent { tokens, spend, .. } = self.all.used;
        let of = |ceiling, used, allowed| Standing { ceiling, used, open: 0, asked: 0, allowed }.overrun();
        of(Ceiling::Tokens, tokens, limits.tokens).or_else(|| of(Ceiling::Spend, spend, limits.spend))
    }

    fn each(&mut self, place: usize, mut change: impl FnMut(&mut Tally)) {
        change(&mut self.all);
        if let Some(tool) = self.tools.get_mut(place) {
            change(&mut tool.tally);
        }
    }

    /// Tools that are counted by themselves without being declared.
    fn seen(&self) -> usize {
        self.tools.iter().filter(|tool| matches!(tool.name, Name::Seen(_))).count()
    }
}

impl Name {
    fn is(&self, tool: &str, limits: &Limits) -> bool {
        self.text(limits) == Some(tool)
    }

    fn text<'a>(&'a self, limits: &'a Limits) -> Option<&'a str> {
        match self {
            Self::Declared(place) => limits.declared.get(*place).map(|(name, _)| &**name),
            Self::Seen(name) => Some(name),
            Self::Others => None,
        }
    }

    fn allowed(&self, limits: &Limits) -> u64 {
        match self {
            Self::Declared(place) => limits.declared.get(*place).map_or(0, |(_, allowed)| *allowed),
            Self::Seen(_) | Self::Others => limits.calls_per_tool,
        }
    }

    fn ceiling(&self, limits: &Limits) -> Ceiling {
        self.text(limits).map_or(Ceiling::CallsOfOthers, |name| Ceiling::CallsOf(ToolName::new(name)))
    }
}

impl Wanted {
    pub(super) fn add(&mut self, call: Spent) {
        // So many calls as would overflow it fit into no memory.
        self.calls += u128::from(call.calls);
        self.tokens += u128::from(call.tokens);
        self.spend += u128::from(call.spend);
    }
}

fn number(of: usize) -> u128 {
    u64::try_from(of).unwrap_or(u64::MAX).into()
}
