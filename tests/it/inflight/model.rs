//! Any schedule of taking, waiting, leaving, releasing and moving the limit, beside a model that is a list.

use std::collections::VecDeque;

use proptest::prelude::*;
use tollgate::inflight::{Acquire, InFlight, NoPermit, Permit};

use super::Task;

#[derive(Clone, Debug)]
enum Step {
    Try(u32),
    Wait(u32),
    Release(usize),
    /// Drops a future, whether it has been served or not.
    Leave(usize),
    Limit(u32),
    /// Polls all that were woken.
    Poll,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..7_u32).prop_map(Step::Try),
        4 => (0..7_u32).prop_map(Step::Wait),
        4 => any::<prop::sample::Index>().prop_map(|at| Step::Release(at.index(1000))),
        2 => any::<prop::sample::Index>().prop_map(|at| Step::Leave(at.index(1000))),
        2 => (1..8_u32).prop_map(Step::Limit),
        2 => Just(Step::Poll),
    ];
    prop::collection::vec(step, 1..80)
}

const DEPTH: usize = 5;

/// What the limit must be like. A future is known by its number.
#[derive(Default)]
struct Model {
    limit: u32,
    in_use: u32,
    line: VecDeque<(u64, u32)>,
    settled: Vec<(u64, Result<u32, NoPermit>)>,
}

impl Model {
    fn try_acquire(&mut self, weight: u32) -> Result<u32, NoPermit> {
        let (in_use, limit) = (self.in_use, self.limit);
        match weight {
            0 => Err(NoPermit::ZeroWeight),
            _ if weight > limit => Err(NoPermit::OverLimit { weight, limit }),
            _ if !self.line.is_empty() => Err(NoPermit::OthersFirst { weight, in_use, limit }),
            _ if in_use + weight > limit => Err(NoPermit::InUse { weight, in_use, limit }),
            _ => {
                self.in_use += weight;
                Ok(weight)
            }
        }
    }

    fn wait(&mut self, number: u64, weight: u32) -> Option<Result<u32, NoPermit>> {
        match self.try_acquire(weight) {
            Err(NoPermit::InUse { .. } | NoPermit::OthersFirst { .. }) if self.line.len() >= DEPTH => {
                Some(Err(NoPermit::LineFull { depth: DEPTH }))
            }
            Err(NoPermit::InUse { .. } | NoPermit::OthersFirst { .. }) => {
                self.line.push_back((number, weight));
                None
            }
            settled => Some(settled),
        }
    }

    fn hand_over(&mut self) {
        while let Some(&(number, weight)) = self.line.front() {
            let limit = self.limit;
            if weight > limit {
                self.settled.push((number, Err(NoPermit::OverLimit { weight, limit })));
            } else if self.in_use + weight <= limit {
                self.in_use += weight;
                self.settled.push((number, Ok(weight)));
            } else {
                return;
            }
            self.line.pop_front();
        }
    }

    fn release(&mut self, weight: u32) {
        self.in_use -= weight;
        self.hand_over();
    }

    fn leave(&mut self, number: u64) {
        self.line.retain(|&(waiting, _)| waiting != number);
        let place = self.settled.iter().position(|&(settled, _)| settled == number);
        match place.map(|place| self.settled.remove(place).1) {
            Some(Ok(weight)) => self.release(weight),
            Some(Err(_)) => {}
            None => self.hand_over(),
        }
    }
}

/// Both, side by side.
struct Pair<'a> {
    limit: &'a InFlight,
    model: Model,
    permits: Vec<Permit<'a>>,
    tasks: Vec<(u64, Task<Acquire<'a>>)>,
    next: u64,
}

impl<'a> Pair<'a> {
    fn keep(&mut self, ours: Result<Permit<'a>, NoPermit>, wanted: Result<u32, NoPermit>) {
        assert_eq!(ours.as_ref().map(Permit::weight).map_err(|refusal| *refusal), wanted);
        self.permits.extend(ours);
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Try(weight) => {
                let (ours, wanted) = (self.limit.try_acquire_n(weight), self.model.try_acquire(weight));
                self.keep(ours, wanted);
            }
            Step::Wait(weight) => self.wait(weight),
            Step::Release(at) if !self.permits.is_empty() => {
                let permit = self.permits.remove(at % self.permits.len());
                self.model.release(permit.weight());
            }
            Step::Leave(at) if !self.tasks.is_empty() => {
                let (number, task) = self.tasks.remove(at % self.tasks.len());
                drop(task);
                self.model.leave(number);
            }
            Step::Limit(limit) => {
                assert_eq!(self.limit.set_limit(limit), Ok(self.model.limit));
                self.model.limit = limit;
                self.model.hand_over();
            }
            Step::Poll => self.poll(),
            Step::Release(_) | Step::Leave(_) => {}
        }
        self.check();
    }

    fn wait(&mut self, weight: u32) {
        let (number, mut task) = (self.next, Task::new(self.limit.acquire_n(weight)));
        self.next += 1;
        match (task.poll(), self.model.wait(number, weight)) {
            (Some(ours), Some(wanted)) => self.keep(ours, wanted),
            (None, None) => self.tasks.push((number, task)),
            (ours, wanted) => panic!("{ours:?}, not {wanted:?}"),
        }
    }

    fn poll(&mut self) {
        for (number, mut task) in std::mem::take(&mut self.tasks) {
            let place = self.model.settled.iter().position(|&(settled, _)| settled == number);
            assert_eq!(task.wakes(), u64::from(place.is_some()), "woken once, and only when settled");
            match place {
                Some(place) => {
                    let ours = task.poll().expect("settled");
                    let (_, wanted) = self.model.settled.remove(place);
                    self.keep(ours, wanted);
                }
                None => self.tasks.push((number, task)),
            }
        }
    }

    fn check(&self) {
        let seen = (self.limit.in_use(), self.limit.limit(), self.limit.waiting());
        assert_eq!(seen, (self.model.in_use, self.model.limit, self.model.line.len()));
        assert_eq!(self.limit.available(), self.model.limit.saturating_sub(self.model.in_use));
    }
}

proptest! {
    #[test]
    fn any_schedule_goes_as_in_the_model(first in 1..8_u32, steps in steps()) {
        let limit = InFlight::new(first).unwrap().max_waiting(DEPTH);
        let model = Model { limit: first, ..Model::default() };
        let mut pair = Pair { limit: &limit, model, permits: Vec::new(), tasks: Vec::new(), next: 0 };
        steps.iter().for_each(|step| pair.step(step));
        pair.tasks.clear();
        pair.permits.clear();
        drop(pair);
        prop_assert_eq!((limit.in_use(), limit.waiting()), (0, 0), "no permit is lost");
    }
}
