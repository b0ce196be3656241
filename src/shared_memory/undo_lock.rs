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
use crate::sync::{Mutex, try_lock};

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
        let begin = Instant::now();
        loop {
            if let Some(mut own) = try_lock(&self.file) {
                match own.here().ok().map(|file| (file, taken(file, slot))) {
                    Some((file, Ok(true))) => {
                        act();
                        return given_up(file, slot);
                    }
                    Some((_, Ok(false))) => {}
                    Some((_, Err(_))) | None => return false,
                }
            }
            if begin.elapsed() > PATIENCE {
                return false;
            }
            thread::yield_now();
        }
    }
}

/// Whether the lock was taken; somebody else may have it.
fn taken(file: &File, slot: usize) -> Result<bool, Errno> {
    match fcntl(file, FcntlArg::F_OFD_SETLK(&byte_at(slot_byte(slot), libc::F_WRLCK))) {
        Ok(_) => Ok(true),
        Err(Errno::EAGAIN | Errno::EACCES) => Ok(false),
        Err(error) => Err(error),
    }
}

/// It fails for no lock that is held.
fn given_up(file: &File, slot: usize) -> bool {
    fcntl(file, FcntlArg::F_OFD_SETLK(&byte_at(slot_byte(slot), libc::F_UNLCK))).is_ok()
}

/// The bytes of the slots lie far behind those of the members.
fn slot_byte(slot: usize) -> i64 {
    const FIRST: i64 = 1 << 41;
    FIRST + slot as i64
}
