//! The lock of those who give back: one at a time for each bucket, over all processes, and none that the dead
//! keep.

use std::fs::File;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

use super::member::byte_at;
use super::own_file::OwnFile;
use crate::sync::try_lock;

/// So long whoever gives back tries to have the bucket to itself. Another one takes microseconds, so it is
/// longer than this only beside one that was stopped in the middle, for which nobody should wait.
const PATIENCE: Duration = Duration::from_millis(1);

/// Does it while nobody else gives anything back in the slot; tells whether it was done. The lock is one on a
/// byte of the file for each slot: an open file description lock (fcntl(2)), which the system drops with the
/// last process that has the description.
pub(super) fn undoing_alone(file: &OwnFile, slot: usize, act: impl FnOnce()) -> bool {
    let begin = Instant::now();
    let locked = |file: &File| {
        let is_taken = patiently(begin, || match taken(file, slot) {
            Ok(is_taken) => is_taken.then_some(true),
            Err(_) => Some(false),
        });
        let is_taken = is_taken.unwrap_or(false);
        if is_taken {
            act();
            give_up(file, slot);
        }
        is_taken
    };
    file.alone(|turn| patiently(begin, || try_lock(turn)), locked).unwrap_or(false)
}

/// Attempts it until it succeeds, or patience is at its end.
fn patiently<T>(begin: Instant, attempt: impl Fn() -> Option<T>) -> Option<T> {
    loop {
        let done = attempt();
        if done.is_some() || begin.elapsed() > PATIENCE {
            return done;
        }
        thread::yield_now();
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

/// It fails for no lock that is held, and where it did the lock would end with the opening, or the process.
fn give_up(file: &File, slot: usize) {
    let _is_given_up = fcntl(file, FcntlArg::F_OFD_SETLK(&byte_at(slot_byte(slot), libc::F_UNLCK)));
}

/// The bytes of the slots lie far behind those of the members.
fn slot_byte(slot: usize) -> i64 {
    const FIRST: i64 = 1 << 41;
    FIRST + slot as i64
}
