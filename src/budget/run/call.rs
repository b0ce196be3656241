//! A call of a run: planned, and open.

use std::fmt;

use super::Run;
use super::trace::Spent;

/// A call of a tool that is about to be made, with an estimate of what it will use.
///
/// ```
/// use tollgate::budget::Planned;
///
/// let call = Planned::new("summarise").tokens(2_000).spend(30_000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "it reserves nothing before a run is asked"]
pub struct Planned<'t> {
    tool: &'t str,
    tokens: u64,
    spend: u64,
}

/// A call that a run has room for. Its estimate is reserved there and in every run above.
///
/// It is closed exactly once, by what consumes it. Dropped, also by a panic or a cancelled future, it counts
/// as made and as having used its estimate: nobody has told that it was not. It holds on to its run, so it
/// can go anywhere. One that is forgotten with [`std::mem::forget`] keeps what it has reserved for as long as
/// there is the run.
///
/// ```
/// use tollgate::budget::{Ceilings, Planned, Run};
///
/// let run = Run::new(&Ceilings::new().tokens(10_000));
/// run.call(Planned::new("ask").tokens(4_000))?.settle(1_200, 0);
/// run.call(Planned::new("ask").tokens(4_000))?.release();
/// drop(run.call(Planned::new("ask").tokens(4_000))?);
/// assert_eq!((run.spent().calls, run.spent().tokens), (2, 5_200));
/// # Ok::<(), tollgate::budget::NoCall>(())
/// ```
#[must_use = "a call that is dropped at once counts as made"]
pub struct Call {
    run: Run,
    slip: Slip,
    is_open: bool,
}

/// What must be known to close a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slip {
    pub(super) estimate: Spent,
    /// The place of the tool in the books of the run, of its parent and so on.
    pub(super) places: [usize; Run::MOST_ABOVE + 1],
}

impl<'t> Planned<'t> {
    /// A call of a tool that is expected to use neither tokens nor money.
    pub const fn new(tool: &'t str) -> Self {
        Self { tool, tokens: 0, spend: 0 }
    }

    /// It will use so many tokens.
    pub const fn tokens(self, tokens: u64) -> Self {
        Self { tokens, ..self }
    }

    /// It will cost so much, in micro-units.
    pub const fn spend(self, spend: u64) -> Self {
        Self { spend, ..self }
    }

    /// Its tool.
    pub const fn tool(&self) -> &'t str {
        self.tool
    }

    pub(super) fn estimate(&self) -> Spent {
        Spent { calls: 1, tokens: self.tokens, spend: self.spend }
    }
}

impl Slip {
    pub(super) fn of(call: &Planned<'_>) -> Self {
        Self { estimate: call.estimate(), places: [0; Run::MOST_ABOVE + 1] }
    }

    /// The place of its tool so many levels up.
    pub(super) fn place(&self, level: u8) -> usize {
        self.places.get(usize::from(level)).copied().unwrap_or(usize::MAX)
    }
}

impl Call {
    pub(super) fn new(run: Run, slip: Slip) -> Self {
        Self { run, slip, is_open: true }
    }

    /// What is reserved for it.
    pub fn estimate(&self) -> Spent {
        self.slip.estimate
    }

    /// Its run.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Closes it with the tokens and the micro-units that it has used. What is above the estimate is charged
    /// all the same; where that is above a ceiling, of this run or of one above, that run is over.
    pub fn settle(self, tokens: u64, spend: u64) {
        self.close(Some(Spent { calls: 1, tokens, spend }));
    }

    /// Closes it as one that was never started: it gives back everything, and is not a call.
    pub fn release(self) {
        self.close(None);
    }

    /// Closes it as made, at its estimate, as dropping it does.
    pub fn keep(self) {
        drop(self);
    }

    fn close(mut self, used: Option<Spent>) {
        self.is_open = false;
        self.run.close(&self.slip, used);
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if self.is_open {
            self.run.close(&self.slip, Some(self.slip.estimate));
        }
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("estimate", &self.estimate()).finish_non_exhaustive()
    }
}
