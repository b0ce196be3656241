//! Runs as lists of all their calls: every figure is summed up anew from the whole history.

use std::collections::BTreeMap;

/// What a run may use.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    pub(super) calls: u64,
    pub(super) tokens: u64,
    pub(super) spend: u64,
    pub(super) per_tool: u64,
    pub(super) told_apart: usize,
    pub(super) declared: BTreeMap<&'static str, u64>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) tool: &'static str,
    pub(super) tokens: u64,
    pub(super) spend: u64,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Open,
    Used(u64, u64),
    Released,
}

/// A ceiling: of all calls, of a tool or of the others (`None`), of tokens, of spend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    Calls,
    Tool(Option<&'static str>),
    Tokens,
    Spend,
}

/// Which ceiling, whose, what is used (for a refusal for now with what is open), asked and allowed.
pub(super) type Hit = (Limit, u8, u64, u64, u64);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Taken,
    Ended(Hit),
    Reserved(Hit),
}

#[derive(Debug)]
struct Run {
    parent: Option<usize>,
    limits: Limits,
    ended: Option<Hit>,
}

#[derive(Debug)]
struct Call {
    run: usize,
    asked: Asked,
    state: State,
}

/// Calls, tokens, spend.
pub(super) type Sum = (u64, u64, u64);

#[derive(Debug, Default)]
pub(super) struct Model {
    runs: Vec<Run>,
    calls: Vec<Call>,
}

impl Model {
    pub(super) fn start(&mut self, parent: Option<usize>, limits: Limits) {
        self.runs.push(Run { parent, limits, ended: None });
    }

    pub(super) fn ask(&mut self, run: usize, asked: &[Asked]) -> Answer {
        let answer = self.answer(run, asked);
        match &answer {
            Answer::Taken => {
                self.calls.extend(asked.iter().map(|&asked| Call { run, asked, state: State::Open }));
            }
            Answer::Ended(hit) => {
                self.runs[run].ended.get_or_insert(hit.clone());
            }
            Answer::Reserved(_) => {}
        }
        answer
    }

    pub(super) fn settle(&mut self, call: usize, tokens: u64, spend: u64) {
        self.calls[call].state = State::Used(tokens, spend);
        for run in self.line(self.calls[call].run) {
            let ((_, tokens, spend), _) = self.sums(run, |_| true);
            let Run { limits, ended, .. } = &mut self.runs[run];
            if tokens > limits.tokens {
                ended.get_or_insert((Limit::Tokens, 0, tokens, 0, limits.tokens));
            } else if spend > limits.spend {
                ended.get_or_insert((Limit::Spend, 0, spend, 0, limits.spend));
            }
        }
    }

    pub(super) fn keep(&mut self, call: usize) {
        let Asked { tokens, spend, .. } = self.calls[call].asked;
        self.settle(call, tokens, spend);
    }

    pub(super) fn release(&mut self, call: usize) {
        self.calls[call].state = State::Released;
    }

    /// What is used and what is open.
    pub(super) fn total(&self, run: usize) -> (Sum, Sum) {
        self.sums(run, |_| true)
    }

    /// The same for each tool, in the order of first calls.
    pub(super) fn tools(&self, run: usize) -> Vec<(Option<&'static str>, (Sum, Sum))> {
        let names = self.names(run, &[]);
        let mut tools = Vec::new();
        for name in names.iter().map(|(_, name)| *name) {
            if tools.iter().all(|(known, _)| *known != name) {
                tools.push((name, self.sums(run, |tool| names.contains(&(tool, name)))));
            }
        }
        tools
    }

    /// Who ended it first: itself, or the nearest above.
    pub(super) fn ended(&self, run: usize) -> Option<Hit> {
        (0..).zip(self.line(run)).find_map(|(level, run)| {
            let (limit, above, used, asked, allowed) = self.runs[run].ended.clone()?;
            Some((limit, above + level, used, asked, allowed))
        })
    }

    pub(super) fn left(&self, run: usize) -> Sum {
        self.line(run).into_iter().fold((u64::MAX, u64::MAX, u64::MAX), |least, run| {
            let (used, open) = self.total(run);
            let left = |of: u64, used: u64, open: u64| of.saturating_sub(used).saturating_sub(open);
            let limits = &self.runs[run].limits;
            (
                least.0.min(left(limits.calls, used.0, open.0)),
                least.1.min(left(limits.tokens, used.1, open.1)),
                least.2.min(left(limits.spend, used.2, open.2)),
            )
        })
    }

    fn answer(&self, run: usize, asked: &[Asked]) -> Answer {
        let mut for_now = None;
        for (level, run) in (0..).zip(self.line(run)) {
            if let Some((limit, above, used, asked, allowed)) = self.runs[run].ended.clone() {
                return Answer::Ended((limit, above + level, used, asked, allowed));
            }
            for (limit, used, open, asked, allowed) in self.standings(run, asked) {
                if used + asked > allowed {
                    return Answer::Ended((limit, level, used, asked, allowed));
                }
                if used + open + asked > allowed {
                    for_now.get_or_insert((limit, level, used + open, asked, allowed));
                }
            }
        }
        for_now.map_or(Answer::Taken, Answer::Reserved)
    }

    fn standings(&self, run: usize, asked: &[Asked]) -> Vec<(Limit, u64, u64, u64, u64)> {
        let limits = &self.runs[run].limits;
        let names = self.names(run, asked);
        let name_of = |tool| names.iter().find(|(known, _)| *known == tool).and_then(|(_, name)| *name);
        let mut all = Vec::new();
        for call in asked {
            let name = name_of(call.tool);
            let (used, open) = self.sums(run, |tool| name_of(tool) == name);
            let same = asked.iter().filter(|other| name_of(other.tool) == name).count() as u64;
            let allowed = name.and_then(|name| limits.declared.get(name)).copied().unwrap_or(limits.per_tool);
            all.push((Limit::Tool(name), used.0, open.0, same, allowed));
        }
        let (used, open) = self.total(run);
        let sum = |of: fn(&Asked) -> u64| asked.iter().map(of).sum::<u64>();
        all.push((Limit::Calls, used.0, open.0, asked.len() as u64, limits.calls));
        all.push((Limit::Tokens, used.1, open.1, sum(|call| call.tokens), limits.tokens));
        all.push((Limit::Spend, used.2, open.2, sum(|call| call.spend), limits.spend));
        all
    }

    /// Under which name a run counts each tool: all that were called, then those that are asked for.
    fn names(&self, run: usize, asked: &[Asked]) -> Vec<(&'static str, Option<&'static str>)> {
        let limits = &self.runs[run].limits;
        let called = self.calls_of(run).map(|call| call.asked.tool).chain(asked.iter().map(|call| call.tool));
        let mut names: Vec<(&'static str, Option<&'static str>)> = Vec::new();
        for tool in called {
            if names.iter().any(|(known, _)| *known == tool) {
                continue;
            }
            let is_free = |tool: &str| !limits.declared.contains_key(tool);
            let seen = names.iter().filter(|(tool, name)| is_free(tool) && name.is_some()).count();
            names.push((tool, (!is_free(tool) || seen < limits.told_apart).then_some(tool)));
        }
        names
    }

    fn sums(&self, run: usize, counts: impl Fn(&'static str) -> bool) -> (Sum, Sum) {
        let (mut used, mut open) = ((0, 0, 0), (0, 0, 0));
        for call in self.calls_of(run).filter(|call| counts(call.asked.tool)) {
            let (sum, tokens, spend) = match call.state {
                State::Open => (&mut open, call.asked.tokens, call.asked.spend),
                State::Used(tokens, spend) => (&mut used, tokens, spend),
                State::Released => continue,
            };
            *sum = (sum.0 + 1, sum.1 + tokens, sum.2 + spend);
        }
        (used, open)
    }

    /// Those of a run and of all below it, in the order in which they were taken.
    fn calls_of(&self, run: usize) -> impl Iterator<Item = &Call> {
        self.calls.iter().filter(move |call| self.line(call.run).contains(&run))
    }

    fn line(&self, run: usize) -> Vec<usize> {
        std::iter::successors(Some(run), |run| self.runs[*run].parent).collect()
    }
}
