//! A file of limits: made by the first who opens it, joined by the others.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use super::bucket::SharedBucket;
use super::clock::MachineClock;
use super::error::SharedError;
use super::in_flight::SharedInFlight;
use super::layout::{FREE, MOST_PERMITS, Mismatch, NAME_BYTES, Slot, bytes, fields, slots_in};
use super::mapping::{MappedSlot, Mapping};
use super::opened::{Opened, failed, locked};
use crate::clock::Clock;
use crate::gcra::Gcra;
use crate::quota::Quota;

pub(super) const MOST_SLOTS: u64 = 1 << 16;

/// A file of limits by name, mapped by all processes that use them.
///
/// Opening and looking up a name take a lock on the file, which the system ends with the process that holds it; admissions
/// take none. A limit is there as long as its file. To begin anew, remove the file: those who have it open go on with the old
/// one.
#[derive(Debug)]
pub struct Region {
    opened: Arc<Opened>,
}

/// How a [`Region`] is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegionOptions {
    slots: u64,
    mode: u32,
}

impl RegionOptions {
    /// 64 slots, and permissions for the owner alone.
    pub const fn new() -> Self {
        Self { slots: 64, mode: 0o600 }
    }

    /// Room for so many limits, 1 to 65536, of 768 bytes each, in a file that is not there yet.
    #[must_use]
    pub const fn slots(self, slots: u64) -> Self {
        Self { slots, ..self }
    }

    /// The permissions of a file that is not there yet, less those that the process's umask takes.
    #[must_use]
    pub const fn mode(self, mode: u32) -> Self {
        Self { mode, ..self }
    }

    /// Opens the file, and makes it if it is not there. A file that is there keeps its slots and its permissions.
    ///
    /// # Errors
    ///
    /// [`SharedError::Slots`]; [`SharedError::Io`]; what is wrong with the file; or [`SharedError::NoCounter`].
    pub fn open(self, path: impl AsRef<Path>) -> Result<Region, SharedError> {
        if !(1..=MOST_SLOTS).contains(&self.slots) {
            return Err(SharedError::Slots { slots: self.slots });
        }
        let path = path.as_ref();
        let mut how = OpenOptions::new();
        how.read(true).write(true).create(true).truncate(false).mode(self.mode);
        let file = how.open(path).map_err(failed("cannot open", path))?;
        let mapping = locked(&file, path, || self.map(&file, path))?;
        let clock = MachineClock::of(mapping.header().ticking())?;
        Ok(Region { opened: Arc::new(Opened::new(path.into(), file, mapping, clock)) })
    }

    /// Maps the file, after making it whole. The lock is held.
    fn map(self, file: &File, path: &Path) -> Result<Mapping, SharedError> {
        let boot = boot().map_err(failed("cannot tell when the machine was started, for", path))?;
        let map = |slots| Mapping::new(file, slots).map_err(failed("cannot map", path));
        let len = file.metadata().map_err(failed("cannot look at", path))?.len();
        if len < bytes(0) {
            make_room(file, bytes(self.slots)).map_err(failed("cannot make room in", path))?;
        }
        let slots = match map(0)?.header() {
            head if head.is_unfinished() => slots_in(if len < bytes(0) { bytes(self.slots) } else { len }),
            head => head.slots().map_err(|mismatch| not_ours(mismatch, path))?,
        };
        let is_short = file.metadata().map_err(failed("cannot look at", path))?.len() < bytes(slots);
        if is_short || slots > MOST_SLOTS {
            return Err(SharedError::Short { path: path.into(), slots });
        }
        let mapping = map(slots)?;
        make_whole(&mapping, slots, boot)?;
        Ok(mapping)
    }
}

impl Default for RegionOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl Region {
    /// Opens the file with the [default options](RegionOptions::new), and makes it if it is not there.
    ///
    /// # Errors
    ///
    /// As [`RegionOptions::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, SharedError> {
        RegionOptions::new().open(path)
    }

    /// For a file with more slots or other permissions.
    pub const fn options() -> RegionOptions {
        RegionOptions::new()
    }

    /// The bucket with this name, 1 to 64 bytes long; it is made, with the quota's initial fill as of now, if it is not there.
    ///
    /// # Errors
    ///
    /// [`SharedError::Name`], [`SharedError::OtherQuota`] if it is there with another one, [`SharedError::Full`],
    /// [`SharedError::Corrupt`], or [`SharedError::Io`] if the file cannot be locked.
    pub fn bucket(&self, name: &str, quota: Quota) -> Result<SharedBucket, SharedError> {
        let slot = self.find_or_make(
            name,
            |slot| {
                let theirs = slot.quota(name)?;
                let is_ours = fields(&theirs) == fields(&quota);
                let other = || SharedError::OtherQuota { name: name.into(), theirs, ours: quota };
                is_ours.then_some(()).ok_or_else(other)
            },
            |slot| slot.make_bucket(name, &quota, initial(&quota, self.clock())),
        )?;
        Ok(SharedBucket::new(Arc::clone(&self.opened), slot, quota))
    }

    /// The permits with this name, 1 to 64 bytes long; they are made, so many, if they are not there. `limit` is 1 to 2^24.
    ///
    /// # Errors
    ///
    /// [`SharedError::Limit`]; [`SharedError::OtherLimit`] if they were made with another one; [`SharedError::Members`]; or as
    /// [`bucket`](Self::bucket).
    pub fn in_flight(&self, name: &str, limit: u32) -> Result<SharedInFlight, SharedError> {
        if !(1..=MOST_PERMITS).contains(&limit) {
            return Err(SharedError::Limit { limit });
        }
        self.opened.ticket()?;
        let slot = self.find_or_make(
            name,
            |slot| match slot.permits(name)? {
                theirs if theirs == limit => Ok(()),
                theirs => Err(SharedError::OtherLimit { name: name.into(), theirs, ours: limit }),
            },
            |slot| slot.make_permits(name, limit),
        )?;
        Ok(SharedInFlight::new(Arc::clone(&self.opened), slot))
    }

    /// The clock by which all limits of the file go.
    pub fn clock(&self) -> &MachineClock {
        self.opened.clock()
    }

    /// The number of slots, and how many of them are taken.
    pub fn slots(&self) -> (usize, usize) {
        let slots = self.opened.slots();
        (slots.len(), slots.iter().filter(|slot| slot.kind() != FREE).count())
    }

    #[cfg(test)]
    pub(super) fn opened(&self) -> &Opened {
        &self.opened
    }

    /// The slot with this name, if `check` agrees with it, or a free one of which `make` makes it.
    fn find_or_make(
        &self,
        name: &str,
        check: impl FnOnce(&Slot) -> Result<(), SharedError>,
        make: impl FnOnce(&Slot),
    ) -> Result<MappedSlot, SharedError> {
        if !(1..=NAME_BYTES).contains(&name.len()) {
            return Err(SharedError::Name { name: name.into() });
        }
        self.opened.alone(|_| {
            if let Some(slot) = self.opened.find(|slot| slot.kind() != FREE && slot.is_named(name)) {
                return check(&slot).map(|()| slot);
            }
            let full = || SharedError::Full { slots: self.slots().0 as u64 };
            let slot = self.opened.find(|slot| slot.kind() == FREE).ok_or_else(full)?;
            make(&slot);
            Ok(slot)
        })
    }
}

/// What tells one start of the machine from the next.
fn boot() -> io::Result<[u64; 2]> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    let digits = text.trim().replace('-', "");
    let number = u128::from_str_radix(&digits, 16)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    Ok([(number >> 64) as u64, number as u64])
}

/// Makes the file so long, with memory or blocks behind all of it: writing to a hole for which there is no
/// room left would end the process.
fn make_room(file: &File, len: u64) -> io::Result<()> {
    let len = i64::try_from(len).map_err(|_| io::ErrorKind::FileTooLarge)?;
    Ok(nix::fcntl::posix_fallocate(file, 0, len)?)
}

fn not_ours(mismatch: Mismatch, path: &Path) -> SharedError {
    match mismatch {
        Mismatch::Magic => SharedError::NotARegion { path: path.into() },
        Mismatch::Version(version) => SharedError::OtherVersion { path: path.into(), version },
    }
}

/// Writes the head if it is not there; begins everything anew if the machine was started since. The file is locked.
fn make_whole(mapping: &Mapping, slots: u64, boot: [u64; 2]) -> Result<(), SharedError> {
    let header = mapping.header();
    if header.is_unfinished() {
        header.write(slots, boot, MachineClock::begin());
        return Ok(());
    }
    if header.boot() == boot {
        return Ok(());
    }
    // The buckets first: while the head has the old boot, the next who opens the file does all of this again.
    let ticking = MachineClock::begin();
    let clock = MachineClock::of(ticking)?;
    for slot in mapping.slots() {
        slot.nobody_holds();
        if let Ok(quota) = slot.quota("") {
            slot.word.put(initial(&quota, &clock));
        }
    }
    header.write(slots, boot, ticking);
    Ok(())
}

/// The arrival point of a bucket that begins now.
fn initial(quota: &Quota, clock: &MachineClock) -> u64 {
    let gcra = Gcra::new(quota);
    gcra.holding(gcra.issued(clock.now().as_u64()), quota.initial_tokens())
}
