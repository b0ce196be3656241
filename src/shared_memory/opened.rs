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
use super::undo_lock::UndoLock;
use crate::clock::Clock;
use crate::sync::{Mutex, Ordering, lock};

/// The dead are looked for no more often than this.
const LOOK_NANOS: u64 = 10_000_000;

#[derive(Debug)]
pub(super) struct Opened {
    path: PathBuf,
    /// Held while something is made in the file. Locks of a file are by the open file, so threads need one of their own.
    file: Mutex<OwnFile>,
    undo_lock: UndoLock,
    mapping: Arc<Mapping>,
    clock: MachineClock,
    /// This process, once it wanted permits.
    member: RwLock<Option<Member>>,
}

impl Opened {
    pub(super) fn new(path: PathBuf, file: File, mapping: Mapping, clock: MachineClock) -> io::Result<Self> {
        let undo_lock = UndoLock::new(&file)?;
        let (file, mapping) = (Mutex::new(OwnFile::new(file)), Arc::new(mapping));
        Ok(Self { path, file, undo_lock, mapping, clock, member: RwLock::new(None) })
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
        let mut own = lock(&self.file);
        let file = own.here().map_err(failed("cannot open again", &self.path))?;
        locked(file, &self.path, || act(file))
    }

    /// Does something while nobody else undoes a charge of the slot; tells whether it was done.
    pub(super) fn undoing_alone(&self, slot: &MappedSlot, act: impl FnOnce()) -> bool {
        self.undo_lock.alone(slot.place(), act)
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
        let mut own = lock(&self.file);
        let Some(file) = own.here().ok().filter(|file| file.try_lock().is_ok()) else { return false };
        let buried = bury(file, &self.mapping);
        buried.is_ok() & file.unlock().is_ok()
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
