//! Runs: an agent loop has ceilings on what it uses, and when they are reached it is over.

mod books;
mod call;
mod ceilings;
mod joint;
mod name;
mod outcome;
mod trace;
mod verdict;

use std::fmt;
use std::sync::Arc;

use self::books::{Books, Wanted};
use self::call::Slip;
pub use self::call::{Call, Planned};
pub use self::ceilings::Ceilings;
use self::ceilings::Limits;
pub use self::joint::{Calling, FanOut};
pub use self::name::ToolName;
pub use self::outcome::{Ceiling, Ended, NoCall, Reserved};
pub use self::trace::{Spent, ToolTrace, Trace};
use self::verdict::Verdict;
use crate::sync::{Mutex, lock};

/// One run of an agent: a loop that calls tools and models, with [`Ceilings`] on what all of it may use.
///
/// ```
/// use tollgate::budget::{Ceilings, NoCall, Planned, Run};
///
/// let run = Run::new(&Ceilings::new().calls(100).calls_of("search", 20).tokens(200_000).spend(5_000_000));
///
/// // Two calls side by side: both or neither.
/// let [search, ask] = run.reserve([
///     Planned::new("search").tokens(500),
///     Planned::new("ask").tokens(4_000).spend(60_000),
/// ])?;
/// search.settle(320, 0);
/// ask.settle(2_700, 41_000);
///
/// println!("{}", run.trace());
/// assert_eq!(run.left().tokens, 196_980);
/// # Ok::<(), NoCall>(())
/// ```
///
/// A clone is the same run.
///
/// # The end
///
/// Nothing of a ceiling ever comes back by waiting. So when a call is asked for that cannot fit, whatever the
/// calls that are open give back, the run is over, and says so from then on: [`Ended`] names the ceiling.
/// That is no refusal to come back from. It is told apart from [`Reserved`], where only open calls stand in
/// the way. A run that has used exactly what it may, and asks for no more, is not over. Calls that are open
/// at the end are still to be settled, and count.
///
/// # What holds
///
/// What calls have used and what open ones have reserved is never above a ceiling by an admission. It gets
/// there by an overrun only, a call that used more than its estimate; the run is over when what is used is
/// above a ceiling. The counts are exact up to `u64::MAX`, where they stop.
///
/// # Runs below runs
///
/// What a [child](Self::child) reserves it takes from itself and from every run above, from all or from none;
/// the nearest ceiling that ends it is named, with [whose it is](Ended::levels_up). The end of a run is that
/// of all below it. It is not that of its parent, not even where it was the parent's ceiling that did not
/// hold what the child asked for: another child may ask for less. What a child has used stays used when it is
/// dropped.
///
/// # Cost
///
/// A run takes 128 bytes in one allocation, whatever its ceilings; then 72 bytes for each tool that it has
/// called, in room for four, eight and so on, and the names of those that are not declared. No thread, no
/// clock. To reserve a call takes an uncontended lock of its run and one of each run above, and compares the
/// tool's name with those of the tools called before; closing it takes the locks again. Both together are some
/// 50 ns for each run of the line. It is a lock and not an atomic word, since a call moves a dozen counters in
/// each of them, all or none. All runs below one share its lock.
#[derive(Clone)]
pub struct Run {
    node: Arc<Node>,
}

struct Node {
    ceilings: Ceilings,
    parent: Option<Run>,
    /// How many runs are above.
    above: usize,
    books: Mutex<Books>,
}

/// Calls that are asked for, and what has been found on the way up.
struct Asked<'a> {
    calls: &'a [Planned<'a>],
    slips: &'a mut [Slip],
    wanted: Wanted,
    verdict: Verdict,
    /// It is only a look.
    is_look: bool,
}

impl Run {
    /// How many runs may be above one. One more is over from the start: a run that starts itself does not go
    /// on for ever.
    pub const MOST_ABOVE: usize = 15;

    /// A run of its own.
    pub fn new(ceilings: &Ceilings) -> Self {
        Self::with_parent(ceilings, None)
    }

    /// A run that draws on this one, under ceilings of its own.
    pub fn child(&self, ceilings: &Ceilings) -> Self {
        if self.node.above < Self::MOST_ABOVE {
            return Self::with_parent(ceilings, Some(self.clone()));
        }
        // It draws on nothing, for it never makes a call.
        let run = Self::with_parent(ceilings, None);
        lock(&run.node.books).end(Ended::too_deep());
        run
    }

    /// The run that this one draws on.
    pub fn parent(&self) -> Option<&Self> {
        self.node.parent.as_ref()
    }

    /// Reserves the estimate of one call now, or refuses and reserves nothing.
    ///
    /// # Errors
    ///
    /// [`NoCall::Ended`] when the run is over, also by this call; [`NoCall::Reserved`] while open calls stand
    /// in the way.
    pub fn call(&self, call: Planned<'_>) -> Result<Call, NoCall> {
        self.reserve([call]).map(|[call]| call)
    }

    /// Reserves the estimates of several calls before any of them starts: of all or of none.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call), for what they need together.
    pub fn reserve<const N: usize>(&self, calls: [Planned<'_>; N]) -> Result<[Call; N], NoCall> {
        let mut slips = calls.map(|call| Slip::of(&call));
        self.ask(&calls, &mut slips, false)?;
        Ok(slips.map(|slip| Call::new(self.clone(), slip)))
    }

    /// [`reserve`](Self::reserve) for any number of calls.
    ///
    /// # Errors
    ///
    /// As [`reserve`](Self::reserve).
    pub fn reserve_all(&self, calls: &[Planned<'_>]) -> Result<Vec<Call>, NoCall> {
        let mut slips: Vec<_> = calls.iter().map(Slip::of).collect();
        self.ask(calls, &mut slips, false)?;
        Ok(slips.into_iter().map(|slip| Call::new(self.clone(), slip)).collect())
    }

    /// Ends it, and with it all below. Without effect on how it ended if it is over already.
    pub fn end(&self, reason: &'static str) {
        lock(&self.node.books).end(Ended::stopped(reason));
    }

    /// Whether it is over, by itself or by a run above.
    pub fn is_over(&self) -> bool {
        self.ended().is_some()
    }

    /// How it ended, if it is over, by itself or by a run above.
    pub fn ended(&self) -> Option<Ended> {
        (0..).zip(self.line()).find_map(|(level, run)| Some(lock(&run.node.books).ended()?.seen_below(level)))
    }

    /// What its calls that are closed have used, and those of the runs below it.
    pub fn spent(&self) -> Spent {
        lock(&self.node.books).used()
    }

    /// What there is beside all that is used or reserved, in this run and all above; `u64::MAX` where nothing
    /// is limited. Other threads may take it meanwhile; only a reservation is sure.
    pub fn left(&self) -> Spent {
        let all = Spent { calls: u64::MAX, tokens: u64::MAX, spend: u64::MAX };
        self.line().fold(all, |left, run| left.least(lock(&run.node.books).left(run.limits())))
    }

    /// What it has used, and for what, with the runs below it.
    pub fn trace(&self) -> Trace {
        let mut trace = lock(&self.node.books).trace(self.limits());
        trace.ended = trace.ended.or_else(|| self.ended());
        trace
    }

    fn with_parent(ceilings: &Ceilings, parent: Option<Self>) -> Self {
        let above = parent.as_ref().map_or(0, |parent| parent.node.above + 1);
        let node = Node { ceilings: ceilings.clone(), parent, above, books: Mutex::new(Books::default()) };
        Self { node: Arc::new(node) }
    }

    /// It and all above, the nearest first.
    fn line(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |run| run.parent())
    }

    fn limits(&self) -> &Limits {
        self.node.ceilings.limits()
    }

    /// Whether there is room for all these calls; if so, and it is not only a look, it is theirs. If they can
    /// never fit, the run is over.
    fn ask(&self, calls: &[Planned<'_>], slips: &mut [Slip], is_look: bool) -> Result<(), NoCall> {
        let mut wanted = Wanted::default();
        slips.iter().for_each(|slip| wanted.add(slip.estimate));
        let mut asked = Asked { calls, slips, wanted, verdict: Verdict::default(), is_look };
        self.take(&mut asked, 0);
        asked.verdict.answer()
    }

    /// Takes from this run and all above, or from none. Locks are held on the way up until all have answered,
    /// always a run's before its parent's, so nobody waits in a circle; there are at most as many as there
    /// may be runs above.
    fn take(&self, asked: &mut Asked<'_>, level: u8) {
        let limits = self.limits();
        let mut books = lock(&self.node.books);
        let known = books.tools();
        match books.ended() {
            Some(ended) => asked.verdict.end(ended.seen_below(level)),
            None => asked.judge(&mut books, limits, level),
        }
        if let (None, Some(parent)) = (asked.verdict.ended(), self.parent()) {
            parent.take(asked, level + 1);
        }
        if asked.is_taken() {
            for slip in &*asked.slips {
                books.open(slip.place(level), slip.estimate);
            }
        } else {
            books.forget_after(known);
        }
        if let (0, Some(ended)) = (level, asked.verdict.ended()) {
            books.end(ended);
        }
    }

    /// Closes a call in this run and all above.
    fn close(&self, slip: &Slip, used: Option<Spent>) {
        self.close_at(slip, used, 0);
    }

    /// With all their locks held, as for [`take`](Self::take), so that nobody sees it closed below and open
    /// above.
    fn close_at(&self, slip: &Slip, used: Option<Spent>, level: u8) {
        let mut books = lock(&self.node.books);
        books.close(slip.place(level), slip.estimate, used, self.limits());
        if let Some(parent) = self.parent() {
            parent.close_at(slip, used, level + 1);
        }
    }
}

impl Asked<'_> {
    /// Finds the places of the tools in the books of a run, and what its ceilings say.
    fn judge(&mut self, books: &mut Books, limits: &Limits, level: u8) {
        for (call, slip) in self.calls.iter().zip(&mut *self.slips) {
            if let Some(place) = slip.places.get_mut(usize::from(level)) {
                *place = books.place_of(call.tool(), limits);
            }
        }
        let places = self.slips.iter().map(|slip| slip.place(level));
        books.judge_tools(places, limits, level, &mut self.verdict);
        books.judge(self.wanted, limits, level, &mut self.verdict);
    }

    fn is_taken(&self) -> bool {
        !self.is_look && self.verdict.answer().is_ok()
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Trace { used, open, ended, .. } = self.trace();
        f.debug_struct("Run")
            .field("used", &used)
            .field("open", &open)
            .field("above", &self.node.above)
            .field("ended", &ended)
            .finish_non_exhaustive()
    }
}
