//! What is counted, and how much of it a call consumes.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, Visitor};

/// What an allowance counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Tokens, at a rate. What a call costs is estimated, and settled when it is known.
    Tokens,
    /// Calls, at a rate. So many for each call, for good.
    Calls,
    /// Permits, of a limit in flight. Held for as long as the call runs.
    Permits,
}

/// How much of an allowance a call consumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Amount {
    /// What the call is estimated at, or else assumed at, in tokens.
    Estimate { assumed: Option<u64> },
    /// So many calls or permits.
    Fixed(u64),
}

/// An amount as it stands in the file.
#[derive(Clone, Debug)]
pub(super) enum Written {
    Number(i64),
    Text(String),
}

/// Why a text is no amount of an allowance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AmountFault {
    /// It is of another unit.
    Unit { asked: Unit },
    /// It is of none.
    NoUnit,
    /// It is out of range.
    Range,
    /// It is no amount at all.
    Syntax,
}

impl Unit {
    pub(super) const ALL: [Self; 3] = [Self::Tokens, Self::Calls, Self::Permits];

    /// Its name in a file: `tokens`, `calls` or `permits`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tokens => "tokens",
            Self::Calls => "calls",
            Self::Permits => "permits",
        }
    }

    /// The unit of that name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| unit.name() == name)
    }

    /// The unit of that name, or of its singular.
    fn counted(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| unit.name() == name || unit.name().strip_suffix('s') == Some(name))
    }
}

impl Amount {
    /// The larger of two that are consumed from one allowance.
    pub(super) fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Estimate { assumed: one }, Self::Estimate { assumed: two }) => {
                Self::Estimate { assumed: one.max(two) }
            }
            (Self::Fixed(one), Self::Fixed(two)) => Self::Fixed(one.max(two)),
            // One allowance has one unit, and a unit one kind of amount.
            (one, _) => one,
        }
    }
}

impl Written {
    /// The amount that it is of an allowance that counts `unit`.
    pub(super) fn of(&self, unit: Unit) -> Result<Amount, AmountFault> {
        let (number, asked) = match self {
            Self::Number(number) => (Some(*number), None),
            Self::Text(text) => split(text)?,
        };
        match asked {
            Some(asked) if asked != unit => return Err(AmountFault::Unit { asked }),
            None if unit == Unit::Tokens => return Err(AmountFault::NoUnit),
            _ => {}
        }
        let number = match number {
            Some(number) => Some(positive(number)?),
            None => None,
        };
        Ok(match unit {
            Unit::Tokens => Amount::Estimate { assumed: number },
            Unit::Calls | Unit::Permits => Amount::Fixed(number.unwrap_or(1)),
        })
    }
}

/// `1500 tokens` as number and unit; the number may be left out.
fn split(text: &str) -> Result<(Option<i64>, Option<Unit>), AmountFault> {
    let mut words = text.split_whitespace().rev();
    let unit = words.next().and_then(Unit::counted).ok_or(AmountFault::Syntax)?;
    let number = match words.next() {
        Some(number) => Some(number.replace('_', "").parse().map_err(|_| AmountFault::Syntax)?),
        None => None,
    };
    if words.next().is_some() { Err(AmountFault::Syntax) } else { Ok((number, Some(unit))) }
}

fn positive(number: i64) -> Result<u64, AmountFault> {
    match u64::try_from(number) {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(AmountFault::Range),
    }
}

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyAmount)
    }
}

struct AnyAmount;

impl Visitor<'_> for AnyAmount {
    type Value = Written;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, or a text such as \"tokens\", \"1500 tokens\" or \"2 permits\"")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Written, E> {
        Ok(Written::Number(number))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Written, E> {
        Ok(Written::Text(text.to_owned()))
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Estimate { assumed: None } => f.write_str("estimate"),
            Self::Estimate { assumed: Some(tokens) } => write!(f, "estimate or {tokens}"),
            Self::Fixed(number) => write!(f, "{number}"),
        }
    }
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => write!(f, "{text:?}"),
        }
    }
}
