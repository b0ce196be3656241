//! Random trees and schedules: every answer and every figure is the model's, and no admission goes above a
//! ceiling.

use proptest::prelude::*;
use tollgate::budget::{Call, Ceiling, Ceilings, Ended, NoCall, Planned, Run, Spent, ToolTrace, Trace};

use super::model::{Answer, Asked, Hit, Limit, Limits, Model, Sum};

const TOOLS: [&str; 5] = ["a", "b", "c", "d", "e"];

#[derive(Clone, Debug)]
enum Step {
    Start { below: Option<usize>, limits: Limits },
    Ask { run: usize, calls: Vec<Asked>, by_array: bool },
    Settle { call: usize, tokens: u64, spend: u64 },
    Keep { call: usize },
    Release { call: usize },
    Forget { run: usize },
}

struct Started {
    /// It may be dropped; the run goes on in its calls and children.
    handle: Option<Run>,
    below: Option<usize>,
    limits: Limits,
}

#[derive(Default)]
struct Both {
    model: Model,
    runs: Vec<Started>,
    open: Vec<(usize, Call)>,
    taken: usize,
}

fn limits() -> impl Strategy<Value = Limits> {
    let ceiling = |most: u64| prop_oneof![3 => 0..=most, 1 => Just(u64::MAX)];
    let declared = prop::collection::btree_map(prop::sample::select(&TOOLS[..3]), 0..5_u64, 0..3);
    (ceiling(12), ceiling(40), ceiling(40), ceiling(5), 0..4_usize, declared).prop_map(
        |(calls, tokens, spend, per_tool, told_apart, declared)| Limits {
            calls,
            tokens,
            spend,
            per_tool,
            told_apart,
            declared,
        },
    )
}

fn asked() -> impl Strategy<Value = Asked> {
    (prop::sample::select(&TOOLS[..]), 0..6_u64, 0..6_u64).prop_map(|(tool, tokens, spend)| Asked {
        tool,
        tokens,
        spend,
    })
}

fn step() -> impl Strategy<Value = Step> {
    let number = 0..1_000_usize;
    prop_oneof![
        2 => (prop::option::weighted(0.8, number.clone()), limits())
            .prop_map(|(below, limits)| Step::Start { below, limits }),
        6 => (number.clone(), prop::collection::vec(asked(), 0..4), any::<bool>())
            .prop_map(|(run, calls, by_array)| Step::Ask { run, calls, by_array }),
        3 => (number.clone(), 0..9_u64, 0..9_u64)
            .prop_map(|(call, tokens, spend)| Step::Settle { call, tokens, spend }),
        1 => number.clone().prop_map(|call| Step::Keep { call }),
        1 => number.clone().prop_map(|call| Step::Release { call }),
        1 => (1..1_000_usize).prop_map(|run| Step::Forget { run }),
    ]
}

impl Both {
    fn new() -> Self {
        let mut both = Self::default();
        let limits = Limits {
            calls: 30,
            tokens: 90,
            spend: u64::MAX,
            per_tool: 12,
            told_apart: 2,
            declared: [("a", 9)].into(),
        };
        both.start(None, limits);
        both
    }

    fn start(&mut self, below: Option<usize>, limits: Limits) {
        let ceilings = Ceilings::new()
            .calls(limits.calls)
            .tokens(limits.tokens)
            .spend(limits.spend)
            .calls_per_tool(limits.per_tool)
            .told_apart(limits.told_apart);
        let ceilings =
            limits.declared.iter().fold(ceilings, |ceilings, (tool, most)| ceilings.calls_of(tool, *most));
        let below = below.map(|below| below % self.runs.len());
        let handle = match below.map(|below| &self.runs[below].handle) {
            Some(Some(parent)) => parent.child(&ceilings),
            Some(None) => return,
            None => Run::new(&ceilings),
        };
        self.model.start(below, limits.clone());
        self.runs.push(Started { handle: Some(handle), below, limits });
    }

    fn ask(&mut self, run: usize, calls: &[Asked], by_array: bool) -> Result<(), TestCaseError> {
        let plan: Vec<_> =
            calls.iter().map(|call| Planned::new(call.tool).tokens(call.tokens).spend(call.spend)).collect();
        let Some(handle) = &self.runs[run].handle else { return Ok(()) };
        let answer = match (&plan[..], by_array) {
            (&[one], true) => handle.call(one).map(|call| vec![call]),
            (&[one, other], true) => handle.reserve([one, other]).map(Vec::from),
            _ => handle.reserve_all(&plan),
        };
        let expected = self.model.ask(run, calls);
        prop_assert_eq!(&as_answer(&answer), &expected, "{:?} of run {}", calls, run);
        for call in answer.into_iter().flatten() {
            self.open.push((self.taken, call));
            self.taken += 1;
        }
        if expected == Answer::Taken {
            self.no_ceiling_is_exceeded_by_admission(run)?;
        }
        Ok(())
    }

    /// Right after an admission, whatever is used and open is below every ceiling, all the way up.
    fn no_ceiling_is_exceeded_by_admission(&self, run: usize) -> Result<(), TestCaseError> {
        for (run, Started { limits, .. }) in self.line(run) {
            let Trace { used, open, tools, .. } = run.trace();
            prop_assert!(used.calls + open.calls <= limits.calls);
            prop_assert!(used.tokens + open.tokens <= limits.tokens);
            prop_assert!(used.spend + open.spend <= limits.spend);
            for ToolTrace { tool, used, open, .. } in tools {
                let own = tool.as_deref().and_then(|tool| limits.declared.get(tool));
                prop_assert!(used.calls + open.calls <= *own.unwrap_or(&limits.per_tool), "{:?}", tool);
            }
        }
        Ok(())
    }

    /// A run whose handle is there, and all above, as they are reached from it.
    fn line(&self, run: usize) -> impl Iterator<Item = (&Run, &Started)> {
        let handles = std::iter::successors(self.runs[run].handle.as_ref(), |run| run.parent());
        let started = std::iter::successors(Some(&self.runs[run]), |run| Some(&self.runs[run.below?]));
        handles.zip(started)
    }

    fn close(&mut self, which: usize, close: impl FnOnce(&mut Model, usize, Call)) {
        if !self.open.is_empty() {
            let (number, call) = self.open.swap_remove(which % self.open.len());
            close(&mut self.model, number, call);
        }
    }

    fn step(&mut self, step: Step) -> Result<(), TestCaseError> {
        match step {
            Step::Start { below, limits } if self.runs.len() < 8 => self.start(below, limits),
            Step::Start { .. } => {}
            Step::Ask { run, calls, by_array } => self.ask(run % self.runs.len(), &calls, by_array)?,
            Step::Settle { call, tokens, spend } => self.close(call, |model, number, call| {
                call.settle(tokens, spend);
                model.settle(number, tokens, spend);
            }),
            Step::Keep { call } => self.close(call, |model, number, call| {
                drop(call);
                model.keep(number);
            }),
            Step::Release { call } => self.close(call, |model, number, call| {
                call.release();
                model.release(number);
            }),
            Step::Forget { run } => {
                let run = run % self.runs.len();
                self.runs[run].handle = None;
            }
        }
        self.is_the_models()
    }

    fn is_the_models(&self) -> Result<(), TestCaseError> {
        for (number, run) in self.runs.iter().enumerate() {
            let Some(run) = &run.handle else { continue };
            let trace = run.trace();
            let (used, open) = self.model.total(number);
            prop_assert_eq!((sum(trace.used), sum(trace.open)), (used, open), "run {}", number);
            prop_assert_eq!((sum(run.spent()), sum(run.left())), (used, self.model.left(number)));
            let tools: Vec<_> = trace
                .tools
                .iter()
                .map(|tool| (tool.tool.as_deref(), (sum(tool.used), sum(tool.open))))
                .collect();
            prop_assert_eq!(tools, self.model.tools(number), "run {}", number);
            prop_assert_eq!(run.ended().map(hit), self.model.ended(number), "run {}", number);
            prop_assert_eq!((run.is_over(), trace.ended), (run.ended().is_some(), run.ended()));
        }
        Ok(())
    }
}

fn sum(spent: Spent) -> Sum {
    (spent.calls, spent.tokens, spent.spend)
}

fn as_answer<T>(answer: &Result<T, NoCall>) -> Answer {
    match answer {
        Ok(_) => Answer::Taken,
        Err(NoCall::Ended(ended)) => Answer::Ended(hit(*ended)),
        Err(NoCall::Reserved(no)) => {
            Answer::Reserved((limit(no.ceiling()), no.levels_up(), no.used(), no.asked(), no.allowed()))
        }
    }
}

fn hit(ended: Ended) -> Hit {
    let ceiling = ended.ceiling().expect("nobody stops it, and the tree is small");
    (limit(ceiling), ended.levels_up(), ended.used(), ended.asked(), ended.allowed())
}

fn limit(ceiling: Ceiling) -> Limit {
    match ceiling {
        Ceiling::Calls => Limit::Calls,
        Ceiling::CallsOf(name) => Limit::Tool(TOOLS.into_iter().find(|tool| *tool == name.as_str())),
        Ceiling::CallsOfOthers => Limit::Tool(None),
        Ceiling::Tokens => Limit::Tokens,
        Ceiling::Spend => Limit::Spend,
        other => panic!("{other:?}"),
    }
}

proptest! {
    #[test]
    fn every_answer_and_figure_is_the_models(steps in prop::collection::vec(step(), 1..60)) {
        let mut both = Both::new();
        for step in steps {
            both.step(step)?;
        }
        // What is left open counts as made.
        let open = std::mem::take(&mut both.open);
        for (number, call) in open {
            drop(call);
            both.model.keep(number);
        }
        both.is_the_models()?;
    }
}
