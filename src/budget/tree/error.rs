//! Why a tree cannot be: each reason names the node, the value and the range it must lie in.

use std::fmt;

use super::plan::{MAX_DEPTH, MAX_NODES};
use super::share::Share;

/// A tree that cannot be built, or a change that cannot be made. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TreeError {
    /// A name is one or more parts with `/` between them, none of them empty.
    Name {
        /// The name given.
        node: String,
    },
    /// There is such a node already.
    Twice {
        /// The node.
        node: String,
    },
    /// There is no such node.
    Unknown {
        /// The name given.
        node: String,
    },
    /// A node is given after its parent, which is what its name says up to the last `/`.
    NoParent {
        /// The node without a parent.
        node: String,
    },
    /// There can be at most 8 levels below the root.
    TooDeep {
        /// The node that is too deep.
        node: String,
    },
    /// There can be at most 1024 nodes.
    TooMany {
        /// The first node that is too many.
        node: String,
    },
    /// A share is above zero and at most the whole.
    Share {
        /// The node.
        node: String,
        /// The share asked for.
        share: Share,
    },
    /// The shares of the children are more than the whole.
    SharesAboveWhole {
        /// The first node whose share does not fit.
        node: String,
        /// The share asked for.
        share: Share,
        /// What those before it leave, in parts per million, rounded down.
        left_ppm: u32,
    },
    /// The node would get less than 10^-18 of the whole tree's rate.
    ShareVanishes {
        /// The node.
        node: String,
        /// The share asked for.
        share: Share,
    },
    /// Less than one token could be held for the node, so it could never get its share.
    BurstBelowOne {
        /// The node.
        node: String,
        /// The burst asked for, or `None` if it follows from the share.
        burst: Option<u64>,
    },
    /// More would be held for the children than for their parent.
    BurstsAboveParent {
        /// The first node whose burst does not fit.
        node: String,
        /// The burst asked for, or `None` if it follows from the share.
        burst: Option<u64>,
        /// What those before it leave, in whole tokens.
        left: u64,
    },
}

impl fmt::Display for TreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name { node } => {
                write!(f, "the name `{node}`: it must be parts that are not empty, with `/` between them")
            }
            Self::Twice { node } => write!(f, "the node `{node}` is given twice: names must differ"),
            Self::Unknown { node } => write!(f, "there is no node `{node}`"),
            Self::NoParent { node } => {
                write!(f, "the parent of `{node}` is not known: it must be given before")
            }
            Self::TooDeep { node } => {
                write!(f, "the node `{node}` is too deep: at most {MAX_DEPTH} levels below the root")
            }
            Self::TooMany { node } => {
                write!(f, "the node `{node}` is one too many: at most {MAX_NODES} nodes with the root")
            }
            Self::Share { node, share } => {
                write!(f, "the share {share} of `{node}`: it must be above zero and at most the whole")
            }
            Self::SharesAboveWhole { node, share, left_ppm } => {
                write!(f, "the share {share} of `{node}`: it must be at most what its siblings leave, ")?;
                write!(f, "{left_ppm} parts per million of their parent")
            }
            Self::ShareVanishes { node, share } => {
                write!(
                    f,
                    "the share {share} of `{node}` vanishes: it must be at least 10^-18 of the whole tree"
                )
            }
            Self::BurstBelowOne { node, burst: None } => {
                write!(f, "the share of `{node}` holds less than 1 token: give it a burst of at least 1")
            }
            Self::BurstBelowOne { node, burst: Some(burst) } => {
                write!(f, "the burst of {burst} tokens of `{node}`: it must be at least 1")
            }
            Self::BurstsAboveParent { node, burst: None, left } => {
                write!(f, "the share of `{node}` holds more than its siblings leave, {left} tokens: ")?;
                write!(f, "give it or them a burst")
            }
            Self::BurstsAboveParent { node, burst: Some(burst), left } => {
                write!(f, "the burst of {burst} tokens of `{node}`: it must be at most {left}, ")?;
                write!(f, "which is what its siblings leave")
            }
        }
    }
}

impl std::error::Error for TreeError {}
