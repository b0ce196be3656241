//! Limits in a mapped file: what it takes and refuses, what it survives, and that it decides as a bucket does.

mod fork;
mod in_flight;
#[cfg(feature = "wait")]
mod places;
mod processes;
mod region;
mod undo;

use std::path::PathBuf;

use tempfile::TempDir;
use tollgate::Quota;
use tollgate::shared_memory::{Region, SharedBucket};

/// A file of its own for each test, gone with it.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("limits")
    }

    pub(crate) fn open(&self) -> Region {
        Region::open(self.path()).unwrap()
    }

    pub(crate) fn bucket(&self, quota: Quota) -> SharedBucket {
        self.open().bucket("requests", quota).unwrap()
    }
}
