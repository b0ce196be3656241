//! Declarations that hold together.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::amount::{Amount, Unit};
use super::changes::Changes;
use super::check;
use super::fault::ConfigError;
use super::file::File;
use super::part::Part;
use super::table::{Table, listed};
use crate::quota::Quota;

/// The caller that stands for all that are not declared.
pub(super) const OTHERS: &str = "*";

/// Allowances, and the tools and callers that consume them, as declared in a file and found to hold together.
///
/// The [module](super) has the form of the file. Printed, it is a table.
///
/// ```
/// use tollgate::budget::allowances::Config;
///
/// let config: Config = r#"
///     [allowance.openai]
///     unit = "tokens"
///     rate = "300k/min burst 450k"
///
///     [allowance.browsers]
///     unit = "permits"
///     in-flight = 4
///
///     [tool.search]
///     uses = { openai = "tokens" }
/// "#.parse()?;
/// assert_eq!(config.unused().next().unwrap().to_string(), "line 6, `allowance.browsers`: no tool or caller uses it");
///
/// let error = "[tool.search]\nuses = { openia = \"tokens\" }".parse::<Config>().unwrap_err();
/// assert_eq!(error.to_string(), "line 2, `tool.search.uses.openia`: no allowance `openia` is declared");
/// # Ok::<(), tollgate::budget::allowances::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Config {
    /// In the order of the file.
    pub(super) allowances: Vec<Allowance>,
    pub(super) tools: BTreeMap<String, Consumer>,
    pub(super) callers: BTreeMap<String, Consumer>,
}

/// Something scarce.
#[derive(Clone, Debug)]
pub(super) struct Allowance {
    pub(super) name: Arc<str>,
    pub(super) line: usize,
    pub(super) unit: Unit,
    pub(super) limit: Limit,
    pub(super) share: Option<Share>,
    /// The places of what it is a share of, from the next to the whole.
    pub(super) above: Vec<usize>,
}

/// What is carved out of another allowance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    pub(super) of: usize,
    pub(super) part: Part,
}

/// How much there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    Rate(Quota),
    InFlight(u32),
}

/// A tool or a caller, and what it consumes.
#[derive(Clone, Debug, Default)]
pub(super) struct Consumer {
    pub(super) line: usize,
    pub(super) uses: Vec<(usize, Amount)>,
    /// The shares that a caller is within.
    pub(super) within: Vec<usize>,
}

/// What a call consumes of one allowance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Consumed {
    pub(super) place: usize,
    pub(super) amount: Amount,
}

/// Something that is declared and has no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unused {
    /// The line of its declaration, from 1.
    pub line: usize,
    /// What it is, as a path from the top of the file: `allowance.browsers`.
    pub field: String,
    /// Why it has no effect.
    pub why: &'static str,
}

impl Config {
    /// Reads declarations from TOML.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] names the line and the field of all that is wrong.
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        check::checked(text, File::read(text)?)
    }

    /// What is declared and has no effect: allowances that nothing uses, and shares of what a caller never uses.
    pub fn unused(&self) -> impl Iterator<Item = Unused> {
        let allowances = self.allowances.iter().enumerate().filter(|(place, _)| !self.is_used(*place));
        let allowances = allowances.map(|(_, allowance)| Unused {
            line: allowance.line,
            field: super::file::path(["allowance", &allowance.name]),
            why: "no tool or caller uses it",
        });
        let idle = |caller: &Consumer| caller.within.iter().any(|share| !self.applies(*share, caller));
        let callers =
            self.callers.iter().filter(move |(_, caller)| idle(caller)).map(|(name, caller)| Unused {
                line: caller.line,
                field: super::file::path(["caller", name, "within"]),
                why: "it is within a share of something that it never uses",
            });
        allowances.chain(callers)
    }

    /// What changes from here to there, and for whom.
    pub fn changes_to(&self, new: &Self) -> Changes {
        Changes::between(self, new)
    }

    /// What one call of the tool by the caller consumes: each allowance once, at the largest amount that leads to it.
    pub(super) fn consumed(&self, tool: &Consumer, caller: Option<&Consumer>) -> Vec<Consumed> {
        let mut consumed = Vec::new();
        let own = caller.map_or(&[][..], |caller| &caller.uses);
        for &(place, amount) in tool.uses.iter().chain(own) {
            self.with_all_above(place, |place| consume(&mut consumed, place, amount));
        }
        for &share in caller.map_or(&[][..], |caller| &caller.within) {
            let whole = self.whole_of(share);
            if let Some(amount) = consumed.iter().find(|one| one.place == whole).map(|one| one.amount) {
                self.with_all_above(share, |place| consume(&mut consumed, place, amount));
            }
        }
        consumed
    }

    /// The caller as declared, or what is declared for others.
    pub(super) fn caller(&self, name: Option<&str>) -> Option<&Consumer> {
        name.and_then(|name| self.callers.get(name)).or_else(|| self.callers.get(OTHERS))
    }

    pub(super) fn name(&self, place: usize) -> &str {
        self.allowances.get(place).map_or("", |allowance| &allowance.name)
    }

    pub(super) fn named(&self, name: &str) -> Option<usize> {
        self.allowances.iter().position(|allowance| &*allowance.name == name)
    }

    /// What the allowance is a share of in the end; itself, if it is no share.
    pub(super) fn whole_of(&self, place: usize) -> usize {
        self.allowances.get(place).and_then(|allowance| allowance.above.last()).copied().unwrap_or(place)
    }

    /// Does something with the allowance, and with all that it is a share of.
    pub(super) fn with_all_above(&self, place: usize, mut act: impl FnMut(usize)) {
        act(place);
        self.allowances
            .get(place)
            .map_or(&[][..], |allowance| &allowance.above)
            .iter()
            .for_each(|&place| act(place));
    }

    /// Whether a use of it, or of a share of it, is a use of the allowance at `place`.
    pub(super) fn reaches(&self, used: usize, place: usize) -> bool {
        let mut reaches = false;
        self.with_all_above(used, |above| reaches |= above == place);
        reaches
    }

    /// Whether being within the share has an effect on the caller.
    fn applies(&self, share: usize, caller: &Consumer) -> bool {
        let whole = self.whole_of(share);
        let mut uses = self.tools.values().chain([caller]).flat_map(|consumer| &consumer.uses);
        uses.any(|(used, _)| self.whole_of(*used) == whole)
    }

    fn is_used(&self, place: usize) -> bool {
        let consumers = || self.tools.values().chain(self.callers.values());
        consumers().flat_map(|consumer| &consumer.uses).any(|(used, _)| self.reaches(*used, place))
            || self.callers.values().any(|caller| {
                caller.within.iter().any(|share| self.reaches(*share, place) && self.applies(*share, caller))
            })
    }

    /// The tools of which a call may consume the allowance, and the callers that may for any tool.
    pub(super) fn users_of(&self, place: usize) -> (Vec<&str>, Vec<&str>) {
        let uses = |consumer: &Consumer| consumer.uses.iter().any(|(used, _)| self.reaches(*used, place));
        let within = |caller: &Consumer| caller.within.iter().any(|share| self.reaches(*share, place));
        let tools = self.tools.iter().filter(|(_, tool)| uses(tool)).map(|(name, _)| name.as_str());
        let callers = self.callers.iter().filter(|(_, caller)| uses(caller) || within(caller));
        (tools.collect(), callers.map(|(name, _)| name.as_str()).collect())
    }

    /// What a consumer consumes, as text.
    pub(super) fn uses_of(&self, consumer: &Consumer) -> String {
        listed(consumer.uses.iter().map(|&(place, amount)| format!("{}: {amount}", self.name(place))))
    }

    pub(super) fn within_of(&self, consumer: &Consumer) -> String {
        listed(consumer.within.iter().map(|&place| self.name(place)))
    }

    pub(super) fn share_of(&self, allowance: &Allowance) -> String {
        allowance
            .share
            .map_or_else(|| "-".to_owned(), |share| format!("{} of {}", share.part, self.name(share.of)))
    }

    /// The tables of tools and of callers, which follow that of allowances.
    pub(super) fn write_consumers(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut tools = Table::new(["tool", "uses"]);
        self.tools.iter().for_each(|(name, tool)| tools.row([name.clone(), self.uses_of(tool)]));
        write!(f, "\n{tools}")?;
        if self.callers.is_empty() {
            return Ok(());
        }
        let mut callers = Table::new(["caller", "within", "uses"]);
        self.callers.iter().for_each(|(name, caller)| {
            callers.row([name.clone(), self.within_of(caller), self.uses_of(caller)]);
        });
        write!(f, "\n{callers}")
    }

    pub(super) fn users_as_text(&self, place: usize) -> String {
        let (tools, callers) = self.users_of(place);
        for_whom(&tools, &callers)
    }
}

/// Tools and callers in one cell.
pub(super) fn for_whom(tools: &[&str], callers: &[&str]) -> String {
    let group = |kind: &str, names: &[&str]| {
        (!names.is_empty())
            .then(|| format!("{kind}{} {}", if names.len() == 1 { "" } else { "s" }, names.join(", ")))
    };
    let groups: Vec<_> = [group("tool", tools), group("caller", callers)].into_iter().flatten().collect();
    if groups.is_empty() { "-".to_owned() } else { groups.join("; ") }
}

fn consume(consumed: &mut Vec<Consumed>, place: usize, amount: Amount) {
    match consumed.iter_mut().find(|one| one.place == place) {
        Some(one) => one.amount = one.amount.or(amount),
        None => consumed.push(Consumed { place, amount }),
    }
}

impl Limit {
    /// The most that one call can ever have.
    pub(super) fn most(self) -> u64 {
        match self {
            Self::Rate(quota) => quota.capacity(),
            Self::InFlight(limit) => limit.into(),
        }
    }
}

impl FromStr for Config {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        Self::from_toml(text)
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(quota) => quota.fmt(f),
            Self::InFlight(limit) => write!(f, "{limit} in flight"),
        }
    }
}

/// Tables of the allowances, the tools and the callers.
impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut allowances = Table::new(["allowance", "unit", "limit", "share", "used by"]);
        for (place, allowance) in self.allowances.iter().enumerate() {
            allowances.row([
                allowance.name.to_string(),
                allowance.unit.to_string(),
                allowance.limit.to_string(),
                self.share_of(allowance),
                self.users_as_text(place),
            ]);
        }
        write!(f, "{allowances}")?;
        self.write_consumers(f)
    }
}

impl fmt::Display for Unused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, `{}`: {}", self.line, self.field, self.why)
    }
}
