//! Why a file or a limit in it cannot be used.

use std::io;
use std::path::PathBuf;

use core::fmt;

use super::layout::{MOST_PERMITS, NAME_BYTES, VERSION};
use super::region::MOST_SLOTS;
use crate::quota::Quota;

/// Why a [`Region`](super::Region), or a limit in one, cannot be had. What was there is as it was.
#[derive(Debug)]
#[non_exhaustive]
pub enum SharedError {
    /// The system refuses.
    Io {
        /// What was tried, as in "cannot open".
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file is something else.
    NotARegion {
        /// The file.
        path: PathBuf,
    },
    /// The file was made by another version of this crate, with another layout.
    OtherVersion {
        /// The file.
        path: PathBuf,
        /// The layout's number in the file; that of this crate is 2.
        version: u64,
    },
    /// The file is shorter than its head says.
    Short {
        /// The file.
        path: PathBuf,
        /// The number of slots in its head.
        slots: u64,
    },
    /// A file for no limits, or for more than 65536.
    Slots {
        /// The number of slots asked for.
        slots: u64,
    },
    /// All slots are taken.
    Full {
        /// The number of slots.
        slots: u64,
    },
    /// A name that is empty, or longer than 64 bytes.
    Name {
        /// The name.
        name: String,
    },
    /// There is a limit with this name and another quota.
    OtherQuota {
        /// The name.
        name: String,
        /// The quota in the file.
        theirs: Quota,
        /// The quota asked for.
        ours: Quota,
    },
    /// There are permits with this name, of another number.
    OtherLimit {
        /// The name.
        name: String,
        /// The number in the file.
        theirs: u32,
        /// The number asked for.
        ours: u32,
    },
    /// There is something else with this name: permits instead of a bucket, or a bucket instead of permits.
    OtherKind {
        /// The name.
        name: String,
    },
    /// No permits, or more than 2^24.
    Limit {
        /// The number asked for.
        limit: u32,
    },
    /// As many processes hold permits as can.
    Members {
        /// How many can.
        members: usize,
    },
    /// What is in the file under this name is not what was written.
    Corrupt {
        /// The name.
        name: String,
    },
    /// The file's time is told by the processor's counter, and this process does not trust it.
    NoCounter,
}

impl fmt::Display for SharedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { action, path, source } => write!(f, "{action} {}: {source}", path.display()),
            Self::NotARegion { path } => write!(f, "{} is no file of shared limits", path.display()),
            Self::OtherVersion { path, version } => {
                write!(f, "{} has layout {version}; this version has layout {VERSION}", path.display())
            }
            Self::Short { path, slots } => {
                write!(f, "{} is too short for the {slots} slots that it should have", path.display())
            }
            Self::Slots { slots } => write!(f, "slots: {slots} is not in 1..={MOST_SLOTS}"),
            Self::Full { slots } => write!(f, "all {slots} slots are taken"),
            Self::Name { name } => {
                write!(f, "name: {name:?} has {} bytes, which is not in 1..={NAME_BYTES}", name.len())
            }
            Self::OtherQuota { name, theirs, ours } => {
                write!(f, "{name:?} is there with the quota `{theirs}`, not `{ours}`")
            }
            Self::OtherLimit { name, theirs, ours } => {
                write!(f, "{name:?} is there with {theirs} permits, not {ours}")
            }
            Self::OtherKind { name } => write!(f, "{name:?} is there as something else"),
            Self::Limit { limit } => write!(f, "limit: {limit} is not in 1..={MOST_PERMITS}"),
            Self::Members { members } => write!(f, "{members} processes hold permits, and no more can"),
            Self::Corrupt { name } => write!(f, "the quota of {name:?} is not what was written"),
            Self::NoCounter => {
                f.write_str("the file's time is the processor's counter, which this process does not trust")
            }
        }
    }
}

impl std::error::Error for SharedError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
