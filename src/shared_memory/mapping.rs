//! The mapped file, and the only unsafe code of the crate.

#![allow(unsafe_code)]

use core::ops::Deref;
use core::ptr::NonNull;
use std::fs::File;
use std::io;
use std::sync::Arc;

use memmap2::{MmapOptions, MmapRaw};

use super::layout::{Header, Slot, bytes};

/// A file in memory, of a size that was checked. It stays mapped as long as this lives.
#[derive(Debug)]
pub(super) struct Mapping {
    memory: MmapRaw,
    slots: usize,
}

impl Mapping {
    /// Maps a file that has room for the head and so many slots; an error if it is shorter than that.
    pub(super) fn new(file: &File, slots: u64) -> io::Result<Self> {
        let too_large = |_| io::Error::from(io::ErrorKind::FileTooLarge);
        let (len, slots) =
            (usize::try_from(bytes(slots)).map_err(too_large)?, usize::try_from(slots).map_err(too_large)?);
        if file.metadata()?.len() < len as u64 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Self { memory: MmapOptions::new().len(len).map_raw(file)?, slots })
    }

    pub(super) fn header(&self) -> &Header {
        // SAFETY: the mapping begins on a page, so the pointer is aligned to 128, and `new` made it at least `bytes(0)` long.
        // A `Header` is atomic words only: any bits are valid, and other processes may change them while it is borrowed. The
        // memory stays mapped as long as `self` lives. (Whoever cuts the file short ends this process with a signal; that is
        // told in the module's docs and is no undefined behaviour.)
        unsafe { &*self.memory.as_ptr().cast::<Header>() }
    }

    pub(super) fn slots(&self) -> &[Slot] {
        // SAFETY: as for the head. The slots begin at `bytes(0)`, a multiple of their alignment, and `new` made the mapping
        // `bytes(self.slots)` long, which is within `isize::MAX`, since it could be mapped. A `Slot` is atomic words only.
        unsafe {
            let first = self.memory.as_ptr().add(size_of::<Header>()).cast::<Slot>();
            core::slice::from_raw_parts(first, self.slots)
        }
    }
}

/// A slot, and the mapping that it lies in.
pub(super) struct MappedSlot {
    slot: NonNull<Slot>,
    at: usize,
    _mapping: Arc<Mapping>,
}

impl MappedSlot {
    /// The slot at this place; `None` if there are not so many.
    pub(super) fn new(mapping: &Arc<Mapping>, at: usize) -> Option<Self> {
        let slot = NonNull::from(mapping.slots().get(at)?);
        Some(Self { slot, at, _mapping: Arc::clone(mapping) })
    }

    /// Its place among the slots of the file.
    pub(super) fn place(&self) -> usize {
        self.at
    }
}

impl Deref for MappedSlot {
    type Target = Slot;

    #[inline(always)]
    fn deref(&self) -> &Slot {
        // SAFETY: the pointer was made from a reference into the mapping, which neither moves nor ends while `_mapping` lives,
        // and so not while `self` is borrowed.
        unsafe { self.slot.as_ref() }
    }
}

// SAFETY: it is no more than a `&Slot` that keeps its mapping alive, and a `Slot`, atomic words only, is `Sync`.
unsafe impl Send for MappedSlot {}
// SAFETY: as above.
unsafe impl Sync for MappedSlot {}
