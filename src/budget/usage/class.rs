//! Classes of tokens, and a value for each.

use core::fmt;

/// A class of tokens that providers count or price by itself.
///
/// ```
/// use tollgate::budget::{Side, TokenClass};
///
/// assert_eq!(TokenClass::CacheRead.side(), Side::Input);
/// assert_eq!(TokenClass::ALL.map(TokenClass::name).join(" "), "input cache_read cache_write cache_write_long output reasoning");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TokenClass {
    /// Input that was neither read from a cache nor written to one.
    Input,
    /// Input that was read from a cache: "cached input".
    CacheRead,
    /// Input that was written to a cache, for the usual time (Anthropic: five minutes).
    CacheWrite,
    /// Input that was written to a cache for longer (Anthropic: one hour).
    CacheWriteLong,
    /// Output that the caller gets.
    Output,
    /// Output that the model kept to itself: reasoning, thinking.
    Reasoning,
}

/// What goes in, or what comes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// What goes in.
    Input,
    /// What comes out.
    Output,
}

impl TokenClass {
    /// All of them, the input's first.
    pub const ALL: [Self; 6] =
        [Self::Input, Self::CacheRead, Self::CacheWrite, Self::CacheWriteLong, Self::Output, Self::Reasoning];

    /// The side it belongs to.
    pub const fn side(self) -> Side {
        match self {
            Self::Input | Self::CacheRead | Self::CacheWrite | Self::CacheWriteLong => Side::Input,
            Self::Output | Self::Reasoning => Side::Output,
        }
    }

    /// Its name in configuration files and errors, such as `cache_read`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::CacheRead => "cache_read",
            Self::CacheWrite => "cache_write",
            Self::CacheWriteLong => "cache_write_long",
            Self::Output => "output",
            Self::Reasoning => "reasoning",
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Input => "input",
            Self::Output => "output",
        })
    }
}

/// One value for each class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::budget) struct PerClass<T> {
    pub(in crate::budget) input: T,
    pub(in crate::budget) cache_read: T,
    pub(in crate::budget) cache_write: T,
    pub(in crate::budget) cache_write_long: T,
    pub(in crate::budget) output: T,
    pub(in crate::budget) reasoning: T,
}

impl<T: Copy> PerClass<T> {
    pub(in crate::budget) const fn all(value: T) -> Self {
        Self {
            input: value,
            cache_read: value,
            cache_write: value,
            cache_write_long: value,
            output: value,
            reasoning: value,
        }
    }
}

impl<T> PerClass<T> {
    pub(in crate::budget) const fn of(&self, class: TokenClass) -> &T {
        match class {
            TokenClass::Input => &self.input,
            TokenClass::CacheRead => &self.cache_read,
            TokenClass::CacheWrite => &self.cache_write,
            TokenClass::CacheWriteLong => &self.cache_write_long,
            TokenClass::Output => &self.output,
            TokenClass::Reasoning => &self.reasoning,
        }
    }

    pub(in crate::budget) const fn of_mut(&mut self, class: TokenClass) -> &mut T {
        match class {
            TokenClass::Input => &mut self.input,
            TokenClass::CacheRead => &mut self.cache_read,
            TokenClass::CacheWrite => &mut self.cache_write,
            TokenClass::CacheWriteLong => &mut self.cache_write_long,
            TokenClass::Output => &mut self.output,
            TokenClass::Reasoning => &mut self.reasoning,
        }
    }
}
