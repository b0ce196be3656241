//! What is wrong with a file, where, and what would be right.

use std::fmt;

use super::amount::Unit;
use super::part::{Part, percent};
use crate::inflight::InFlight;
use crate::quota::QuotaError;

/// A file that declares no allowances: everything that is wrong with it, from top to bottom.
///
/// A text that is no TOML, or has a field of the wrong type, is reported alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// Never empty.
    faults: Vec<Fault>,
}

/// One thing that is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// The line, from 1.
    pub line: usize,
    /// The field, as a path from the top of the file: `allowance.search-team.share`. Empty if it is in none.
    pub field: String,
    /// What is wrong.
    pub problem: Problem,
}

/// What can be wrong. Every one shows the value, and what is allowed in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// It is not TOML, or not of the fields and types that there are.
    Syntax {
        /// What the parser says.
        message: String,
    },
    /// An allowance is named that is not declared.
    UnknownAllowance {
        /// The name.
        name: String,
        /// The declared name that is most like it.
        similar: Option<String>,
    },
    /// The shares of one allowance are more than the whole, with this one.
    SharesAboveWhole {
        /// The allowance.
        whole: String,
        /// All its shares together, in millionths of it.
        millionths: u64,
    },
    /// Of an allowance that small a share is nothing, or a rate that cannot be written.
    ShareTooSmall {
        /// The share asked for, as text.
        share: String,
        /// What it is a share of, as text.
        whole: String,
    },
    /// Allowances are shares of each other.
    Cycle {
        /// The names around the circle; the first is also the last.
        path: Vec<String>,
    },
    /// The units of a use and of its allowance, or of a share and of its whole, do not match.
    UnitMismatch {
        /// The allowance.
        allowance: String,
        /// What it counts.
        counts: Unit,
        /// What is asked for.
        asked: Unit,
    },
    /// A limit that the unit cannot have: rates are for tokens and calls, limits in flight for permits.
    LimitOfOtherUnit {
        /// The unit.
        unit: Unit,
        /// The field that belongs there instead.
        instead: &'static str,
    },
    /// Tokens are used by the number alone, which might be meant as calls.
    NumberOfTokens {
        /// What is written.
        written: String,
    },
    /// A tool consumes nothing, so nothing limits it.
    UsesNothing,
    /// A field that must be there is not.
    Missing {
        /// The fields that would do.
        needed: &'static str,
    },
    /// A field that has no place beside another one.
    NotBeside {
        /// The other one.
        other: &'static str,
    },
    /// A caller is within something that is no share.
    NotAShare {
        /// The allowance.
        name: String,
    },
    /// A text or number is not what belongs there.
    Invalid {
        /// What is written.
        written: String,
        /// What belongs there.
        expected: String,
    },
    /// More than the whole capacity or limit, so that no call would ever be admitted.
    NeverFits {
        /// What each call needs.
        needed: u64,
        /// The allowance that it does not fit into.
        allowance: String,
        /// The most that fits.
        most: u64,
    },
    /// A rate is no quota.
    Quota {
        /// What is written.
        written: String,
        /// Why it is none.
        error: QuotaError,
    },
}

impl ConfigError {
    pub(super) fn new(mut faults: Vec<Fault>) -> Self {
        faults.sort_by_key(|fault| fault.line);
        Self { faults }
    }

    /// What is wrong, in the order of lines. There is at least one.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, fault) in self.faults.iter().enumerate() {
            write!(f, "{}{fault}", if place == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, field, problem } = self;
        if field.is_empty() {
            write!(f, "line {line}: {problem}")
        } else {
            write!(f, "line {line}, `{field}`: {problem}")
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax { message } => f.write_str(message),
            Self::UnknownAllowance { .. }
            | Self::SharesAboveWhole { .. }
            | Self::ShareTooSmall { .. }
            | Self::Cycle { .. }
            | Self::NotAShare { .. } => self.describe_relation(f),
            Self::UnitMismatch { allowance, counts, asked } => {
                write!(f, "{asked} asked of `{allowance}`, which counts {counts}")
            }
            Self::LimitOfOtherUnit { unit, instead } => {
                write!(f, "not a limit of {unit}: they have `{instead}`")
            }
            Self::NumberOfTokens { written } => {
                write!(
                    f,
                    "{written} without a unit: say \"{written} tokens\" to assume as many, or \"tokens\""
                )
            }
            Self::UsesNothing => f.write_str("it uses no allowance: name at least one"),
            Self::Missing { needed } => write!(f, "missing: {needed}"),
            Self::NotBeside { other } => write!(f, "no place beside `{other}`"),
            Self::Invalid { written, expected } => write!(f, "{written}: must be {expected}"),
            Self::NeverFits { needed, allowance, most } => {
                write!(f, "{needed} never fit into `{allowance}`: must be from 1 to {most}")
            }
            Self::Quota { written, error } => write!(f, "{written:?}: {error}"),
        }
    }
}

impl Problem {
    /// What is wrong between two allowances.
    fn describe_relation(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownAllowance { name, similar } => {
                write!(f, "no allowance `{name}` is declared")?;
                similar.as_ref().map_or(Ok(()), |similar| write!(f, "; there is `{similar}`"))
            }
            Self::SharesAboveWhole { whole, millionths } => {
                write!(f, "the shares of `{whole}` are now ")?;
                percent(f, *millionths)?;
                write!(f, ": must be at most 100% together")
            }
            Self::ShareTooSmall { share, whole } => {
                write!(
                    f,
                    "{share} of {whole} is too little: must be at least 1 whole token, call or permit, "
                )?;
                write!(f, "at a rate with a period that fits a Duration")
            }
            Self::Cycle { path } => write!(f, "a share of itself: {}", path.join(" -> ")),
            Self::NotAShare { name } => {
                write!(
                    f,
                    "`{name}` is no share: a caller is within shares; what else it consumes belongs in `uses`"
                )
            }
            _ => Ok(()),
        }
    }

    pub(super) fn no_part(written: &str) -> Self {
        let expected = format!("a part from \"0.0001%\" to \"{}%\"", Part::WHOLE / 10_000);
        Self::Invalid { written: format!("{written:?}"), expected }
    }

    pub(super) fn no_unit(written: &str) -> Self {
        let expected = Unit::ALL.map(|unit| format!("\"{unit}\"")).join(" or ");
        Self::Invalid { written: format!("{written:?}"), expected }
    }

    pub(super) fn no_limit(written: i64) -> Self {
        let expected = format!("from 1 to {} (2^31 - 1)", InFlight::MAX_LIMIT);
        Self::Invalid { written: written.to_string(), expected }
    }
}
