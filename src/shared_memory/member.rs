//! Who holds permits, and whether they are still there.
//!
//! A member has an index, and as its sign of life a lock on one byte of the file: an open file description lock
//! (fcntl(2)), which the system drops with the last process that has the description. Each member opens the file for itself,
//! so its lock is its own. What the dead held is taken back by whoever finds too little left, and by the next who gets the
//! index; both under the lock of the whole file, so that nobody takes from a newcomer what its predecessor held.
//!
//! A forked child has its parent's open file, and so would keep its parent's lock. It becomes a member of its own, and drops
//! what it has of its parent's, when it first asks for a permit.

use std::fs::File;
use std::io;
use std::process;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc::{self, flock};

use super::layout::{MEMBERS, Slot};
use super::mapping::Mapping;
use super::own_file::OwnFile;
use crate::sync::Ordering;

#[derive(Debug)]
pub(super) struct Member {
    pub(super) ticket: Ticket,
    /// Its lock lasts as long as this is open.
    _file: File,
}

/// The index of a member, and the process that it is of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticket {
    pub(super) index: usize,
    process: u32,
}

impl Member {
    /// A new member of the file, if there are fewer than [`MEMBERS`]. The file is locked.
    pub(super) fn join(file: &File, mapping: &Mapping) -> io::Result<Option<Self>> {
        let own = OwnFile::again(file)?;
        for index in 0..MEMBERS {
            match fcntl(&own, FcntlArg::F_OFD_SETLK(&byte(index, libc::F_WRLCK))) {
                Ok(_) => {
                    take_back(mapping, index);
                    return Ok(Some(Self { ticket: Ticket { index, process: process::id() }, _file: own }));
                }
                Err(Errno::EAGAIN | Errno::EACCES) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(None)
    }
}

impl Ticket {
    /// Whether it is of this process, and not of its parent.
    pub(super) fn is_here(self) -> bool {
        self.process == process::id()
    }
}

/// Takes back what dead members hold. The file is locked; it is not the opening of a member.
pub(super) fn bury(file: &File, mapping: &Mapping) -> io::Result<()> {
    let holds = |index: usize| mapping.slots().iter().any(|slot| held(slot, index) > 0);
    for index in (0..MEMBERS).filter(|index| holds(*index)) {
        let mut asked = byte(index, libc::F_WRLCK);
        fcntl(file, FcntlArg::F_OFD_GETLK(&mut asked))?;
        if i32::from(asked.l_type) == libc::F_UNLCK {
            take_back(mapping, index);
        }
    }
    Ok(())
}

fn take_back(mapping: &Mapping, index: usize) {
    for held in mapping.slots().iter().filter_map(|slot| slot.held.get(index)) {
        held.store(0, Ordering::SeqCst);
    }
}

fn held(slot: &Slot, index: usize) -> u32 {
    slot.held.get(index).map_or(0, |held| held.load(Ordering::SeqCst))
}

fn byte(index: usize, how: libc::c_int) -> flock {
    const FIRST: i64 = 1 << 40;
    byte_at(FIRST + index as i64, how)
}

/// A lock on one byte. They lie far behind the end of the file, which locks need not mind.
pub(super) fn byte_at(start: i64, how: libc::c_int) -> flock {
    flock {
        l_type: how as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: start,
        l_len: 1,
        l_pid: 0,
    }
}
