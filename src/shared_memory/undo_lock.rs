//! The lock of those who undo: one at a time for each bucket, over all processes, and none that the dead keep.

use std::fs::File;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

use super::member::byte_at;
use super::own_file::OwnFile;
use crate::sync::{Mutex, lock};

/// So long an undo tries to have the bucket to itself. Another one takes microseconds, so it is longer than this only beside
/// one that was stopped in the middle, for which nobody should wait.
const PATIENCE: Duration = Duration::from_millis(1);

/// A lock of the file's on one byte for each slot: an open file description lock (fcntl(2)), which the system drops with the
/// last process that has the description. Threads have the description in common, so they need a lock of their own.
#[derive(Debug)]
pub(super) struct UndoLock {
    file: Mutex<OwnFile>,
}

impl UndoLock {
    pub(super) fn new(file: &File) -> io::Result<Self> {
        Ok(Self { file: Mutex::new(OwnFile::new(OwnFile::again(file)?)) })
    }

    /// Does it while nobody else undoes anything in the slot; tells whether it was done.
    pub(super) fn alone(&self, slot: usize, act: impl FnOnce()) -> bool {
        let mut own = lock(&self.file);
        let Ok(file) = own.here() else { return false };
        if !is_locked_soon(file, slot) {
            return false;
        }
        act();
        // It fails for no lock that is held.
        fcntl(file, FcntlArg::F_OFD_SETLK(&byte_at(slot_byte(slot), libc::F_UNLCK))).is_ok()
    }
}

fn is_locked_soon(file: &File, slot: usize) -> bool {
    let begin = Instant::now();
    loop {
        match fcntl(file, FcntlArg::F_OFD_SETLK(&byte_at(slot_byte(slot), libc::F_WRLCK))) {
            Ok(_) => return true,
            Err(Errno::EAGAIN | Errno::EACCES) if begin.elapsed() < PATIENCE => thread::yield_now(),
            Err(_) => return false,
        }
    }
}

/// The bytes of the slots lie far behind those of the members.
fn slot_byte(slot: usize) -> i64 {
    const FIRST: i64 = 1 << 41;
    FIRST + slot as i64
}
