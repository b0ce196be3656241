//! Calls of a run as one of several limits.

use super::call::Slip;
use super::{Call, NoCall, Planned, Run};

/// One call of a run, as one of [several limits](super::super::AllOf) that admit together: a cost is its
/// estimate in tokens, and zero is one too.
///
/// ```
/// use tollgate::budget::{AllOf, Ceilings, Run};
/// use tollgate::{Bucket, quota};
///
/// let requests = Bucket::new(quota!("300/min"));
/// let run = Run::new(&Ceilings::new().calls_of("search", 1));
/// let search = run.calling("search").spend(2_000);
/// let limits = AllOf::new(["run", "requests"], (&search, &requests));
///
/// let (call, _request) = limits.try_acquire([500, 1])?;
/// call.settle(320, 1_400);
///
/// let refused = limits.try_acquire([500, 1]).unwrap_err();
/// match refused.ended() {
///     Some(ended) => assert_eq!(ended.tool(), Some("search")), // The agent stops.
///     None => println!("again in {:?}", refused.wait()),
/// }
/// # Ok::<(), tollgate::budget::Refused>(())
/// ```
///
/// To be looked at is to be asked: a call that can never fit ends the run also when another limit would
/// refuse it.
#[derive(Clone, Copy, Debug)]
pub struct Calling<'r> {
    run: &'r Run,
    call: Planned<'r>,
}

/// Calls of a run that start together, as one of [several limits](super::super::AllOf): a cost of `n` is the
/// first `n` of them, all or none.
///
/// ```
/// use tollgate::budget::{AllOf, Ceilings, Planned, Run};
/// use tollgate::{Bucket, quota};
///
/// let requests = Bucket::new(quota!("300/min"));
/// let run = Run::new(&Ceilings::new().calls(10));
/// let pages = ["a", "b", "c"].map(|_| Planned::new("fetch").tokens(800));
/// let fan_out = run.fan_out(&pages);
/// let (calls, _requests) = AllOf::new(["run", "requests"], (&fan_out, &requests)).try_acquire([3, 3])?;
/// for call in calls {
///     call.settle(650, 0);
/// }
/// # Ok::<(), tollgate::budget::Refused>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FanOut<'r> {
    run: &'r Run,
    calls: &'r [Planned<'r>],
}

impl Run {
    /// A call of a tool, to be admitted together with other limits.
    pub fn calling<'r>(&'r self, tool: &'r str) -> Calling<'r> {
        Calling { run: self, call: Planned::new(tool) }
    }

    /// Calls that start together, to be admitted together with other limits.
    pub fn fan_out<'r>(&'r self, calls: &'r [Planned<'r>]) -> FanOut<'r> {
        FanOut { run: self, calls }
    }
}

impl Calling<'_> {
    /// It will cost so much, in micro-units.
    #[must_use = "it changes nothing in place"]
    pub fn spend(mut self, spend: u64) -> Self {
        self.call = self.call.spend(spend);
        self
    }

    pub(in crate::budget) fn look(&self, tokens: u64) -> Result<(), NoCall> {
        self.run.look(&[self.call.tokens(tokens)], &mut [Slip::of(&self.call.tokens(tokens))])
    }

    pub(in crate::budget) fn take(&self, tokens: u64) -> Result<Call, NoCall> {
        self.run.call(self.call.tokens(tokens))
    }
}

impl<'r> FanOut<'r> {
    /// How many there are.
    #[allow(clippy::len_without_is_empty, reason = "a cost is at least 1")]
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// The first so many of them, if there are.
    pub(in crate::budget) fn first(&self, calls: u64) -> Option<&'r [Planned<'r>]> {
        self.calls.get(..usize::try_from(calls).ok()?)
    }

    pub(in crate::budget) fn look(&self, calls: &[Planned<'_>]) -> Result<(), NoCall> {
        self.run.look(calls, &mut calls.iter().map(Slip::of).collect::<Vec<_>>())
    }

    pub(in crate::budget) fn take(&self, calls: &[Planned<'_>]) -> Result<Vec<Call>, NoCall> {
        self.run.reserve_all(calls)
    }
}

impl Run {
    /// [`ask`](Self::ask) without taking anything.
    fn look(&self, calls: &[Planned<'_>], slips: &mut [Slip]) -> Result<(), NoCall> {
        self.ask(calls, slips, true)
    }
}
