//! Scarce things by name: declared in a file, consumed by tools and callers, and changed while the program runs.
//!
//! An upstream credential, a metered plan, a pool of browsers: each is an *allowance*, with one limit. Tools are mapped to the
//! allowances that they consume, callers to the shares that they are within. A call asks once, and is admitted against all
//! that it consumes, or against none.
//!
//! ```
//! use tollgate::Manual;
//! use tollgate::budget::allowances::{Allowances, Config};
//!
//! let config: Config = r#"
//!     [allowance.openai]
//!     unit = "tokens"
//!     rate = "300k/min burst 450k"
//!
//!     [allowance.search-team]
//!     share-of = "openai"
//!     share = "30%"
//!
//!     [allowance.openai-calls]
//!     unit = "calls"
//!     rate = "300/min"
//!
//!     [allowance.browsers]
//!     unit = "permits"
//!     in-flight = 4
//!
//!     [tool.search]
//!     uses = { openai = "tokens", openai-calls = 1, browsers = 1 }
//!
//!     [caller.batch]
//!     within = ["search-team"]
//! "#.parse()?;
//! let allowances = Allowances::with_clock(config, Manual::new());
//!
//! let call = allowances.call("search").by("batch").estimate(2_000).try_acquire()?;
//! // ... the call is made, and used 1200 tokens ...
//! call.settle(1_200);
//! assert_eq!(allowances.available("openai"), Some(448_800));
//! assert_eq!(allowances.available("search-team"), Some(133_800));
//!
//! let refused = allowances.call("search").by("batch").estimate(140_000).try_acquire().unwrap_err();
//! assert_eq!(refused.allowance(), Some("search-team"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The file
//!
//! It is [TOML](https://toml.io). Fields that are not listed here are errors.
//!
//! | field | what | if left out |
//! |---|---|---|
//! | `[allowance.NAME]` | something scarce | |
//! | `unit` | what it counts: `"tokens"`, `"calls"` or `"permits"` | must be there; a share counts what its whole counts |
//! | `rate` | for tokens and calls: a [`Quota`](crate::Quota) as text, `"300k/min burst 450k"` | must be there |
//! | `in-flight` | for permits: how many may be held at once, from 1 to 2^31 - 1 | must be there |
//! | `share-of`, `share` | instead of a limit: the allowance it is carved out of, and how much of it, from `"0.0001%"` to `"100%"` | it is a whole |
//! | `[tool.NAME]` | what is called | |
//! | `uses` | the allowances that a call consumes, each with an amount | must name one |
//! | `[caller.NAME]` | who calls; `[caller."*"]` is every caller that is not declared | a caller of which nothing is known consumes what the tool uses |
//! | `uses` | what a call consumes besides, whatever the tool | nothing |
//! | `within` | the shares that it is within | none |
//!
//! An amount is
//!
//! * of tokens: `"tokens"`, what the call is [estimated](Call::estimate) at; or `"1500 tokens"`, the same, and 1500 is assumed for
//!   calls without an estimate (cut down to the capacity, as [`Estimate::Defaulted`](super::Estimate) is);
//! * of calls and permits: a number from 1 to the capacity or limit, `2`, `"2 calls"` or `"1 permit"`; `"calls"` is one.
//!
//! # Shares
//!
//! A share has a limit of its own, that part of the limit of its whole: of the rate exactly, of the capacity rounded down. Who
//! consumes it consumes what it is a share of too, up to the whole. Shares of one allowance are at most 100 % together, and a
//! share may have shares.
//!
//! A caller within a share consumes it, and as much as of the whole, whenever its tool uses the whole or any share of that.
//! Where every call is within a share, the shares of a rate are guarantees: the whole holds at least as much as they do
//! together, so it refuses no call that its share admits. `[caller."*"]` can be within what is left. It does not hold for
//! a while after a reload that adds or raises shares, nor while a share is in debt, for the whole owes that too. Where some
//! calls consume the whole directly, a share is a ceiling.
//!
//! An allowance that a call reaches in several ways is consumed once, at the largest of the amounts.
//!
//! # Reloading
//!
//! [`Allowances::reload`] puts another file into force, and [`Allowances::preview`] tells what that would change, and for whom.
//! Nothing is refilled. An allowance of the same name and unit keeps the tokens that it holds, as far as they fit,
//! its debts and its permits in use; what is new starts as its quota says; what is gone ends. One that is renamed, or counts
//! something else, is another one.
//!
//! Each allowance's own bound holds through any reloads, as for [`Adjustable`](crate::adjust::Adjustable) with
//! [`Held::Tokens`](crate::adjust::Held::Tokens): what is admitted in an interval is at most what its capacity was at the
//! beginning, plus what the rates in force issue. A call beside a reload is admitted against the allowances of the old file or
//! against those of the new one.
//!
//! # Cost
//!
//! A call takes a lock to find what is in force, and one or two of each allowance that it consumes, all for a short time and one
//! after another; it allocates. To admit a call against five allowances and to settle it took 4.4 us on an x86-64 server whose
//! cores were busy with other work, and a refusal 1 us.
//!
//! The parser is [`toml`], for its [positions](toml::Spanned) with serde: basic-toml has none, and toml_edit adds to the same
//! parser what editing takes.

mod amount;
mod call;
mod changes;
mod check;
mod config;
mod fault;
mod file;
mod grants;
mod level;
mod part;
mod source;
mod table;

use std::fmt;
use std::sync::Arc;

pub use self::amount::Unit;
pub use self::call::{Call, NotAdmitted};
pub use self::changes::{Change, Changes, Holdings};
use self::config::Allowance;
pub use self::config::{Config, Unused};
pub use self::fault::{ConfigError, Fault, Problem};
pub use self::grants::{Grants, Settlement};
pub use self::level::AllowanceLevel;
use self::source::Source;
use self::table::Table;
use crate::clock::{Clock, Monotonic};
use crate::sync::{Mutex, lock};

/// Allowances in force. The [module](self) tells what they are.
///
/// To share them, share them by reference or in an [`Arc`]. Printed, they are a table of what is there now.
pub struct Allowances<C: Clock = Monotonic> {
    clock: Arc<C>,
    in_force: Mutex<Arc<InForce<C>>>,
    /// Reloads take turns. Calls do not wait for them.
    reloads: Mutex<()>,
}

/// A file in force.
struct InForce<C: Clock> {
    config: Config,
    /// One for each allowance, in its order.
    sources: Vec<Source<C>>,
}

impl Allowances {
    /// On the [`Monotonic`] clock, with each quota's initial fill.
    pub fn new(config: Config) -> Self {
        Self::with_clock(config, Monotonic::new())
    }
}

impl<C: Clock> Allowances<C> {
    /// On a clock of the caller's, with each quota's initial fill as of now.
    pub fn with_clock(config: Config, clock: C) -> Self {
        let clock = Arc::new(clock);
        let sources =
            config.allowances.iter().map(|allowance| Source::new(allowance.limit, &clock)).collect();
        let in_force = Mutex::new(Arc::new(InForce { config, sources }));
        Self { clock, in_force, reloads: Mutex::new(()) }
    }

    /// A call of a tool: say who makes it and what it is estimated at, then ask.
    pub fn call<'a>(&'a self, tool: &'a str) -> Call<'a, C> {
        Call::new(self, tool)
    }

    /// What a reload would change, and for whom. It changes nothing.
    ///
    /// ```
    /// use tollgate::budget::allowances::{Allowances, Config};
    ///
    /// let file = |rate| format!("[allowance.a]\nunit = \"calls\"\nrate = \"{rate}\"\n[tool.search]\nuses = {{ a = 1 }}");
    /// let allowances = Allowances::new(file("100/min").parse()?);
    /// let changes = allowances.preview(&file("50/min").parse()?);
    /// assert_eq!(
    ///     changes.to_string(),
    ///     "what         before         after         held  for whom\n\
    ///      allowance.a  calls 100/min  calls 50/min  kept  tool search\n"
    /// );
    /// # Ok::<(), tollgate::budget::allowances::ConfigError>(())
    /// ```
    pub fn preview(&self, new: &Config) -> Changes {
        self.in_force().config.changes_to(new)
    }

    /// Puts other declarations into force, refills nothing, and tells what has changed. The same declarations change
    /// nothing. Reloads by several threads take turns; calls do not wait for them.
    pub fn reload(&self, new: Config) -> Changes {
        let _in_turn = lock(&self.reloads);
        let in_force = self.in_force();
        let changes = in_force.config.changes_to(&new);
        let sources = new.allowances.iter().map(|allowance| {
            let kept = in_force.same(&allowance.name, allowance.unit);
            kept.and_then(|source| source.adjusted(allowance.limit))
                .unwrap_or_else(|| Source::new(allowance.limit, &self.clock))
        });
        let sources = sources.collect();
        *lock(&self.in_force) = Arc::new(InForce { config: new, sources });
        changes
    }

    /// What is there of an allowance now: tokens or calls, rounded down, or permits that are not in use. `None` if it is not
    /// declared.
    pub fn available(&self, allowance: &str) -> Option<u64> {
        let in_force = self.in_force();
        let place = in_force.config.named(allowance)?;
        in_force.sources.get(place).map(Source::available)
    }

    /// A look at each allowance, in the order of the file: for a page that shows them. It takes nothing.
    ///
    /// Each is looked at by itself, so figures of two of them may be some microseconds apart.
    ///
    /// Cost: as [`available`](Self::available) for each of them, and the list.
    pub fn levels(&self) -> Vec<AllowanceLevel> {
        let in_force = self.in_force();
        let declared = in_force.config.allowances.iter();
        declared.zip(&in_force.sources).map(|(one, source)| in_force.level(one, source)).collect()
    }

    /// The declarations in force.
    pub fn config(&self) -> Config {
        self.in_force().config.clone()
    }

    /// Their clock.
    pub fn clock(&self) -> &C {
        &self.clock
    }

    fn in_force(&self) -> Arc<InForce<C>> {
        Arc::clone(&lock(&self.in_force))
    }
}

impl<C: Clock> InForce<C> {
    /// What counts the allowance of that name, if it counts that unit.
    fn same(&self, name: &str, unit: Unit) -> Option<&Source<C>> {
        let place = self.config.named(name)?;
        self.config.allowances.get(place).filter(|allowance| allowance.unit == unit)?;
        self.sources.get(place)
    }

    fn level(&self, allowance: &Allowance, source: &Source<C>) -> AllowanceLevel {
        let of = allowance.share.and_then(|share| self.config.allowances.get(share.of));
        let share_of = of.map(|of| Arc::clone(&of.name));
        AllowanceLevel::new(Arc::clone(&allowance.name), allowance.unit, share_of, source.look())
    }

    fn name(&self, place: Option<usize>) -> Arc<str> {
        let allowance = place.and_then(|place| self.config.allowances.get(place));
        allowance.map_or_else(|| Arc::from(""), |allowance| Arc::clone(&allowance.name))
    }
}

/// The tables of the declarations, with what is there now.
impl<C: Clock> fmt::Display for Allowances<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let in_force = self.in_force();
        let config = &in_force.config;
        let mut table = Table::new(["allowance", "unit", "limit", "now", "share", "used by"]);
        for (place, (allowance, source)) in config.allowances.iter().zip(&in_force.sources).enumerate() {
            table.row([
                allowance.name.to_string(),
                allowance.unit.to_string(),
                allowance.limit.to_string(),
                source.level(),
                config.share_of(allowance),
                config.users_as_text(place),
            ]);
        }
        write!(f, "{table}")?;
        config.write_consumers(f)
    }
}

impl<C: Clock> fmt::Debug for Allowances<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let in_force = self.in_force();
        let names = in_force.config.allowances.iter().map(|allowance| &allowance.name);
        let levels = in_force.sources.iter().map(Source::available);
        f.debug_map().entries(names.zip(levels)).finish()
    }
}
