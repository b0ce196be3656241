//! A file that is open and mapped, with its locks.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use super::clock::MachineClock;
use super::error::SharedError;
use super::layout::{MEMBERS, Slot};
use super::mapping::{MappedSlot, Mapping};
use super::member::{Member, Ticket, bury};
use super::own_file::OwnFile;
use super::undo_lock::undoing_alone;
use crate::clock::Clock;
use crate::sync::{Ordering, lock};

/// The dead are looked for no more often than this.
const LOOK_NANOS: u64 = 10_000_000;

#[derive(Debug)]
pub(super) struct Opened {
    path: PathBuf,
    file: OwnFile,
    mapping: Arc<Mapping>,
    clock: MachineClock,
    /// This process, once it wanted permits.
    member: RwLock<Option<Member>>,
}

impl Opened {
    pub(super) fn new(path: PathBuf, file: File, mapping: Mapping, clock: MachineClock) -> Self {
        let (file, mapping) = (OwnFile::new(file), Arc::new(mapping));
        Self { path, file, mapping, clock, member: RwLock::new(None) }
    }

    pub(super) fn clock(&self) -> &MachineClock {
        &self.clock
    }

    pub(super) fn slots(&self) -> &[Slot] {
        self.mapping.slots()
    }

    pub(super) fn find(&self, wanted: impl Fn(&Slot) -> bool) -> Option<MappedSlot> {
        let at = self.slots().iter().position(wanted)?;
        MappedSlot::new(&self.mapping, at)
    }

    /// Does something while nobody else makes anything in the file.
    pub(super) fn alone<T>(
        &self,
        act: impl FnOnce(&File) -> Result<T, SharedError>,
    ) -> Result<T, SharedError> {
        let done = self.file.alone(|turn| Some(lock(turn)), |file| locked(file, &self.path, || act(file)));
        done.map_err(failed("cannot open again", &self.path))?
    }

    /// Does something while nobody else undoes a charge of the slot; tells whether it was done.
    pub(super) fn undoing_alone(&self, slot: &MappedSlot, act: impl FnOnce()) -> bool {
        undoing_alone(&self.file, slot.place(), act)
    }

    /// What shows this process to be a member; it becomes one first, if it is none.
    pub(super) fn ticket(&self) -> Result<Ticket, SharedError> {
        let member = self.member.read().unwrap_or_else(PoisonError::into_inner);
        match member.as_ref().map(|member| member.ticket).filter(|ticket| ticket.is_here()) {
            Some(ticket) => Ok(ticket),
            None => {
                drop(member);
                self.join()
            }
        }
    }

    fn join(&self) -> Result<Ticket, SharedError> {
        let mut member = self.member.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(member) = member.as_ref().filter(|member| member.ticket.is_here()) {
            return Ok(member.ticket);
        }
        let joined = self.alone(|file| {
            Member::join(file, &self.mapping).map_err(failed("cannot become a member of", &self.path))
        })?;
        let joined = joined.ok_or(SharedError::Members { members: MEMBERS })?;
        let ticket = joined.ticket;
        *member = Some(joined);
        Ok(ticket)
    }

    /// Takes back what the dead hold, unless it has just been done, or somebody is at it; tells whether it did.
    pub(super) fn bury_the_dead(&self) -> bool {
        // Relaxed: it only keeps the system from being asked too often; what is taken back is ordered by the lock.
        let (now, looked_at) = (self.clock.now().as_u64(), &self.mapping.header().looked_at);
        let last = looked_at.load(Ordering::Relaxed);
        if now < last.saturating_add(LOOK_NANOS)
            || looked_at.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_err()
        {
            return false;
        }
        let buried = |file: &File| {
            file.try_lock().is_ok() && bury(file, &self.mapping).is_ok() & file.unlock().is_ok()
        };
        self.file.alone(|turn| Some(lock(turn)), buried).unwrap_or(false)
    }
}

/// Does something while no other process or open file has the lock.
pub(super) fn locked<T>(
    file: &File,
    path: &Path,
    act: impl FnOnce() -> Result<T, SharedError>,
) -> Result<T, SharedError> {
    file.lock().map_err(failed("cannot lock", path))?;
    let done = act();
    file.unlock().map_err(failed("cannot unlock", path))?;
    done
}

pub(super) fn failed(action: &'static str, path: &Path) -> impl Fn(io::Error) -> SharedError {
    move |source| SharedError::Io { action, path: path.into(), source }
}

#[cfg(test)]
mod tests {
    #![allow(unsafe_code, reason = "fork is unsafe in a process with threads, for what they hold")]

    use std::fs::OpenOptions;
    use std::io::{Read, Write, pipe};

    use nix::libc;

    use super::super::region::Region;
    use super::*;
    use crate::quota;
    use crate::sync::try_lock;

    /// A process that was forked; it ends with this.
    struct Forked(libc::pid_t);

    impl Drop for Forked {
        fn drop(&mut self) {
            // SAFETY: they have no conditions. The process is there, or waits to be asked how it ended.
            unsafe {
                libc::kill(self.0, libc::SIGKILL);
                libc::waitpid(self.0, std::ptr::null_mut(), 0);
            }
        }
    }

    /// Forks, and does it in the child, which ends after it.
    fn forked(act: impl FnOnce()) -> Forked {
        // SAFETY: the child goes on with this thread alone. Of what other threads may hold it needs the
        // allocator, which glibc keeps whole over a fork. It ends without unwinding or exit handlers.
        let child = unsafe { libc::fork() };
        if child == 0 {
            act();
            // SAFETY: it ends the process, and has no conditions.
            unsafe { libc::_exit(1) }
        }
        Forked(child)
    }

    /// It ends by itself where the test is killed.
    fn sleep() {
        // SAFETY: it has no conditions.
        unsafe { libc::sleep(60) };
    }

    /// In a child, which opens the file and then forks, it does `act`, which should kill it; the child's child
    /// is left.
    fn orphaned_by(path: &Path, act: impl FnOnce(Region)) -> Forked {
        let (mut from, mut to) = pipe().unwrap();
        let parent = forked(|| {
            let region = open(path);
            let orphan = forked(sleep);
            let _told = to.write_all(&orphan.0.to_ne_bytes());
            act(region);
        });
        let (mut orphan, mut status) = ([0; 4], 0);
        from.read_exact(&mut orphan).unwrap();
        // SAFETY: the place for the status is there.
        let ended = unsafe { libc::waitpid(parent.0, &raw mut status, 0) };
        let parent = std::mem::ManuallyDrop::new(parent);
        let orphan = Forked(libc::pid_t::from_ne_bytes(orphan));
        assert_eq!((ended, libc::WIFSIGNALED(status)), (parent.0, true), "it was not killed in the middle");
        orphan
    }

    fn die() {
        // SAFETY: it has no conditions.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    }

    fn open(path: &Path) -> Region {
        Region::open(path).unwrap()
    }

    #[test]
    fn who_is_killed_while_it_makes_a_limit_leaves_no_lock_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("limits");
        // The clock is begun here, so that no thread can be at it while the child is forked.
        drop(open(&path));
        let _orphan = orphaned_by(&path, |region| {
            let _died = region.opened().alone(|_| {
                die();
                Ok(())
            });
        });
        let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        assert!(file.try_lock().is_ok(), "the lock of a dead process is held");
        drop(file);
        assert!(open(&path).bucket("requests", quota!("1/s")).is_ok());
    }

    #[test]
    fn who_is_killed_in_an_undo_leaves_no_lock_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("limits");
        let bucket = |region: Region| region.bucket("requests", quota!("1/h burst 10")).unwrap();
        drop(open(&path));
        let _orphan = orphaned_by(&path, |region| assert!(bucket(region).undoing_alone(die)));
        let other = bucket(open(&path));
        other.charge(10).undo();
        assert_eq!(other.peek().available(), 10);
    }

    #[test]
    fn a_parent_has_not_the_locks_of_its_child() {
        let folder = tempfile::tempdir().unwrap();
        let region = open(&folder.path().join("limits"));
        let bucket = region.bucket("requests", quota!("1/h burst 10")).unwrap();
        let (mut from, mut to) = pipe().unwrap();
        let _child = forked(|| {
            let _ended = region.opened().alone(|_| {
                bucket.undoing_alone(|| {
                    let _told = to.write_all(&[1]);
                    sleep();
                });
                Ok(())
            });
        });
        from.read_exact(&mut [0]).unwrap();
        let is_locked = |file: &File| file.try_lock().is_ok();
        assert!(!region.opened().file.alone(try_lock, is_locked).unwrap(), "of the whole file");
        assert!(!bucket.undoing_alone(|| ()), "of the bucket");
    }
}
