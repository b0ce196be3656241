//! Why a run makes no call: it is over, or its open calls hold what is left.

use std::fmt;

use super::name::ToolName;

/// What a run has a ceiling on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ceiling {
    /// Calls of any tool.
    Calls,
    /// Calls of this tool.
    CallsOf(ToolName),
    /// Calls of all the tools that are not told apart.
    CallsOfOthers,
    /// Tokens.
    Tokens,
    /// Money, in micro-units.
    Spend,
}

/// The end of a run. It is for good: no ceiling of a run is ever refilled, so nothing is gained by asking
/// again, and there is no wait to tell.
///
/// ```
/// use tollgate::budget::{Ceilings, NoCall, Planned, Run};
///
/// let run = Run::new(&Ceilings::new().calls_of("search", 2));
/// let ended = loop {
///     match run.call(Planned::new("search")) {
///         Ok(call) => call.keep(),
///         Err(NoCall::Ended(ended)) => break ended,
///         Err(NoCall::Reserved(_)) => unreachable!("no call is open"),
///     }
/// };
/// assert_eq!((ended.tool(), ended.used(), ended.allowed()), (Some("search"), 2, 2));
/// assert_eq!(ended.to_string(), "the run is over: 2 of 2 calls of `search` used, 1 more asked for");
/// assert!(run.is_over());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the run is over"]
pub struct Ended {
    why: Why,
    used: u64,
    asked: u64,
    allowed: u64,
}

/// A refusal for now: the calls fit beside what has been used, but not beside what calls that are open have
/// reserved. When one of those is settled for less, or released, they may fit; when not, they end the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a refusal means that the calls may not start"]
pub struct Reserved {
    ceiling: Ceiling,
    levels_up: u8,
    used: u64,
    asked: u64,
    allowed: u64,
}

/// Why a run makes none of the calls that were asked for. Nothing was reserved, in this run or any above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a refusal means that the calls may not start"]
pub enum NoCall {
    /// The run is over, by this call or before it.
    Ended(Ended),
    /// Not while other calls of it are open.
    Reserved(Reserved),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    Ceiling { ceiling: Ceiling, levels_up: u8 },
    Stopped { reason: &'static str, levels_up: u8 },
    TooDeep { levels_up: u8 },
}

impl Ended {
    /// The ceiling that was hit; none if the run was [stopped](super::Run::end), or had too many runs above
    /// it.
    pub fn ceiling(&self) -> Option<Ceiling> {
        match self.why {
            Why::Ceiling { ceiling, .. } => Some(ceiling),
            Why::Stopped { .. } | Why::TooDeep { .. } => None,
        }
    }

    /// The tool whose ceiling was hit, if it was that of one tool: up to the first 55 bytes of its name.
    pub fn tool(&self) -> Option<&str> {
        match &self.why {
            Why::Ceiling { ceiling: Ceiling::CallsOf(tool), .. } => Some(tool.as_str()),
            _ => None,
        }
    }

    /// What was used under that ceiling when the run ended, without what was reserved by open calls.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// What was asked for on top; zero if it was an overrun that ended the run.
    pub fn asked(&self) -> u64 {
        self.asked
    }

    /// The ceiling.
    pub fn allowed(&self) -> u64 {
        self.allowed
    }

    /// What was told when the run was [stopped](super::Run::end).
    pub fn reason(&self) -> Option<&'static str> {
        match self.why {
            Why::Stopped { reason, .. } => Some(reason),
            Why::Ceiling { .. } | Why::TooDeep { .. } => None,
        }
    }

    /// Whose ceiling or end it was: 0 for that of the run that was asked, 1 for its parent, and so on.
    pub fn levels_up(&self) -> u8 {
        match self.why {
            Why::Ceiling { levels_up, .. } | Why::Stopped { levels_up, .. } | Why::TooDeep { levels_up } => {
                levels_up
            }
        }
    }

    pub(super) fn hit(ceiling: Ceiling, levels_up: u8, used: u64, asked: u64, allowed: u64) -> Self {
        Self { why: Why::Ceiling { ceiling, levels_up }, used, asked, allowed }
    }

    pub(super) fn stopped(reason: &'static str) -> Self {
        Self { why: Why::Stopped { reason, levels_up: 0 }, used: 0, asked: 0, allowed: 0 }
    }

    pub(super) fn too_deep() -> Self {
        Self { why: Why::TooDeep { levels_up: 0 }, used: 0, asked: 0, allowed: 0 }
    }

    /// That of a run, as one so many levels below it sees it.
    pub(super) fn seen_below(mut self, levels: u8) -> Self {
        match &mut self.why {
            Why::Ceiling { levels_up, .. } | Why::Stopped { levels_up, .. } | Why::TooDeep { levels_up } => {
                *levels_up = levels_up.saturating_add(levels);
            }
        }
        self
    }
}

impl Reserved {
    pub(super) fn hit(ceiling: Ceiling, levels_up: u8, used: u64, asked: u64, allowed: u64) -> Self {
        Self { ceiling, levels_up, used, asked, allowed }
    }

    /// The ceiling under which there is no room.
    pub fn ceiling(&self) -> Ceiling {
        self.ceiling
    }

    /// What has been used under it or is reserved by open calls.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// What was asked for on top.
    pub fn asked(&self) -> u64 {
        self.asked
    }

    /// The ceiling.
    pub fn allowed(&self) -> u64 {
        self.allowed
    }

    /// Whose ceiling it is: 0 for that of the run that was asked, 1 for its parent, and so on.
    pub fn levels_up(&self) -> u8 {
        self.levels_up
    }
}

impl NoCall {
    /// The end of the run, if it is over.
    pub fn ended(&self) -> Option<Ended> {
        match *self {
            Self::Ended(ended) => Some(ended),
            Self::Reserved(_) => None,
        }
    }
}

impl fmt::Display for Ceiling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Calls => f.write_str("calls"),
            Self::CallsOf(tool) => write!(f, "calls of `{tool}`"),
            Self::CallsOfOthers => f.write_str("calls of other tools"),
            Self::Tokens => f.write_str("tokens"),
            Self::Spend => f.write_str("micro-units"),
        }
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the run is over: ")?;
        match &self.why {
            Why::Ceiling { ceiling, .. } => {
                write!(f, "{} of {} {ceiling} used", self.used, self.allowed)?;
                if self.asked > 0 {
                    write!(f, ", {} more asked for", self.asked)?;
                }
            }
            Why::Stopped { reason, .. } => f.write_str(reason)?,
            Why::TooDeep { .. } => {
                write!(f, "{} runs above it, which is too many", super::Run::MOST_ABOVE + 1)?
            }
        }
        whose(self.levels_up(), f)
    }
}

impl fmt::Display for Reserved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ceiling, levels_up, used, asked, allowed } = self;
        write!(
            f,
            "not while calls are open: {used} of {allowed} {ceiling} used or reserved, {asked} more asked for"
        )?;
        whose(*levels_up, f)
    }
}

impl fmt::Display for NoCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended(ended) => ended.fmt(f),
            Self::Reserved(reserved) => reserved.fmt(f),
        }
    }
}

impl std::error::Error for Ended {}

impl std::error::Error for Reserved {}

impl std::error::Error for NoCall {}

fn whose(levels_up: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match levels_up {
        0 => Ok(()),
        1 => f.write_str(", by its parent"),
        levels => write!(f, ", by the run {levels} levels up"),
    }
}
