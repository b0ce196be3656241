//! Limits in a mapped file: what it takes and refuses, what it survives, and that it decides as a bucket does.

mod fork;
mod in_flight;
#[cfg(feature = "wait")]
mod places;
mod processes;
mod region;
mod undo;

use std::fs::{File, OpenOptions};
use std::path::PathBuf;

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc::{self, flock};
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

    /// The file with a lock on its first bucket, as another process has it that was stopped while it undoes.
    pub(crate) fn locked(&self) -> File {
        let (l_type, l_whence) = (libc::F_WRLCK as libc::c_short, libc::SEEK_SET as libc::c_short);
        let first = flock { l_type, l_whence, l_start: 1 << 41, l_len: 1, l_pid: 0 };
        let file = OpenOptions::new().read(true).write(true).open(self.path()).unwrap();
        fcntl(&file, FcntlArg::F_OFD_SETLK(&first)).unwrap();
        file
    }
}
