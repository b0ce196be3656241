//! What lies in the file. Nothing but words that are read and written atomically, so that no process can find a value torn
//! or be wrong to look while another writes.
//!
//! The layout is part of the format: a change of it is a change of [`VERSION`].

use core::mem::{align_of, size_of};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use core::time::Duration;

use crossbeam_utils::CachePadded;

use super::error::SharedError;
use super::mapped_word::MappedWord;
use crate::quota::{Fill, Quota};

/// The first word of the file, written last.
pub(super) const MAGIC: u64 = u64::from_le_bytes(*b"tollgate");
pub(super) const VERSION: u64 = 2;

/// The longest name, in bytes.
pub(super) const NAME_BYTES: usize = 64;

/// What a slot holds.
pub(super) const FREE: u64 = 0;
pub(super) const BUCKET: u64 = 1;
pub(super) const IN_FLIGHT: u64 = 2;

/// Processes, or regions in one, that can hold permits at one time.
pub(super) const MEMBERS: usize = 64;

/// So few that a member's count cannot overflow by what its threads announce beside each other.
pub(super) const MOST_PERMITS: u32 = 1 << 24;

/// The head of the file.
#[repr(C, align(128))]
pub(super) struct Header {
    magic: AtomicU64,
    version: AtomicU64,
    slots: AtomicU64,
    boot: [AtomicU64; 2],
    /// How ticks are read, see [`Ticking`].
    source: AtomicU64,
    origin: AtomicU64,
    scale: AtomicU64,
    /// The reading at which the dead were last looked for.
    pub(super) looked_at: AtomicU64,
}

/// How the processes of a file read the time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ticking {
    /// 1 for the processor's counter, 2 for the system's monotonic clock.
    pub(super) source: u64,
    /// The tick of reading zero.
    pub(super) origin: u64,
    /// Nanoseconds in 2^32 ticks.
    pub(super) scale: u64,
}

/// A limit with a name.
#[repr(C, align(128))]
pub(super) struct Slot {
    /// Written last when it is made; what is written before is not changed afterwards.
    kind: AtomicU64,
    name_bytes: AtomicU64,
    name: [AtomicU64; NAME_BYTES / 8],
    /// Tokens, seconds and nanoseconds of the period, capacity, tokens at the start. Of permits the capacity alone.
    quota: [AtomicU64; 5],
    checksum: AtomicU64,
    pub(super) word: CachePadded<MappedWord>,
    /// Permits held by each member.
    pub(super) held: [AtomicU32; MEMBERS],
}

const _: () = assert!(size_of::<Header>() == 128 && align_of::<Header>() == 128);
const _: () = assert!(size_of::<Slot>() == 768 && align_of::<Slot>() == 128);

/// Bytes of a file with so many slots.
pub(super) const fn bytes(slots: u64) -> u64 {
    slots.saturating_mul(size_of::<Slot>() as u64).saturating_add(size_of::<Header>() as u64)
}

/// Slots in a file of so many bytes.
pub(super) const fn slots_in(bytes: u64) -> u64 {
    bytes.saturating_sub(size_of::<Header>() as u64) / size_of::<Slot>() as u64
}

impl Header {
    /// The number of slots, if it is the head of a file of this version.
    pub(super) fn slots(&self) -> Result<u64, Mismatch> {
        if load(&self.magic) != MAGIC {
            return Err(Mismatch::Magic);
        }
        match load(&self.version) {
            VERSION => Ok(load(&self.slots)),
            version => Err(Mismatch::Version(version)),
        }
    }

    pub(super) fn ticking(&self) -> Ticking {
        Ticking { source: load(&self.source), origin: load(&self.origin), scale: load(&self.scale) }
    }

    pub(super) fn boot(&self) -> [u64; 2] {
        self.boot.each_ref().map(load)
    }

    /// Whether it was being written when its writer ended, or was never written.
    pub(super) fn is_unfinished(&self) -> bool {
        load(&self.magic) == 0
    }

    /// Makes what is there the head of a file, with its magic last.
    pub(super) fn write(&self, slots: u64, boot: [u64; 2], ticking: Ticking) {
        self.magic.store(0, Ordering::Release);
        store(&self.version, VERSION);
        store(&self.slots, slots);
        self.boot.iter().zip(boot).for_each(|(word, half)| store(word, half));
        store(&self.source, ticking.source);
        store(&self.origin, ticking.origin);
        store(&self.scale, ticking.scale);
        store(&self.looked_at, 0);
        self.magic.store(MAGIC, Ordering::Release);
    }
}

/// Why a file is not one of these.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mismatch {
    Magic,
    Version(u64),
}

impl Slot {
    pub(super) fn kind(&self) -> u64 {
        self.kind.load(Ordering::Acquire)
    }

    pub(super) fn is_named(&self, name: &str) -> bool {
        let len = load(&self.name_bytes);
        len == name.len() as u64 && self.name.iter().zip(words(name)).all(|(word, part)| load(word) == part)
    }

    /// The quota of the bucket that has this name.
    pub(super) fn quota(&self, name: &str) -> Result<Quota, SharedError> {
        let fields = self.fields(BUCKET, name)?;
        quota_of(fields).ok_or_else(|| SharedError::Corrupt { name: name.into() })
    }

    /// The number of permits under this name, as they were made.
    pub(super) fn permits(&self, name: &str) -> Result<u32, SharedError> {
        let [.., permits, _] = self.fields(IN_FLIGHT, name)?;
        u32::try_from(permits).map_err(|_| SharedError::Corrupt { name: name.into() })
    }

    /// What is written of it, if it is of this kind, and is what was written.
    fn fields(&self, kind: u64, name: &str) -> Result<[u64; 5], SharedError> {
        let fields = self.quota.each_ref().map(load);
        if self.kind() != kind {
            Err(SharedError::OtherKind { name: name.into() })
        } else if load(&self.checksum) != checksum(fields) {
            Err(SharedError::Corrupt { name: name.into() })
        } else {
            Ok(fields)
        }
    }

    /// The number of permits now. It is kept where a bucket has its arrival point.
    pub(super) fn limit(&self) -> u32 {
        u32::try_from(self.word.arrival()).unwrap_or(0)
    }

    pub(super) fn set_limit(&self, limit: u32) {
        self.word.step(|_| limit.clamp(1, MOST_PERMITS).into());
    }

    /// Forgets all that is held.
    pub(super) fn nobody_holds(&self) {
        self.held.iter().for_each(|held| held.store(0, Ordering::Relaxed));
    }

    /// Makes it a bucket with this name. Nobody else may be making anything in the file.
    pub(super) fn make_bucket(&self, name: &str, quota: &Quota, arrival: u64) {
        self.word.put(arrival);
        self.make(BUCKET, name, fields(quota));
    }

    /// Makes it so many permits with this name. Nobody else may be making anything in the file.
    pub(super) fn make_permits(&self, name: &str, limit: u32) {
        self.nobody_holds();
        self.word.put(limit.into());
        self.make(IN_FLIGHT, name, [0, 0, 0, limit.into(), 0]);
    }

    fn make(&self, kind: u64, name: &str, fields: [u64; 5]) {
        store(&self.name_bytes, name.len() as u64);
        self.name.iter().zip(words(name)).for_each(|(word, part)| store(word, part));
        self.quota.iter().zip(fields).for_each(|(word, field)| store(word, field));
        store(&self.checksum, checksum(fields));
        self.kind.store(kind, Ordering::Release);
    }
}

/// A quota of what is kept of it.
fn quota_of([tokens, seconds, nanos, capacity, initial]: [u64; 5]) -> Option<Quota> {
    let period = Duration::new(seconds, u32::try_from(nanos).ok()?);
    let quota = Quota::with_burst(tokens, period, capacity).ok()?;
    let fill = match initial {
        0 => Fill::Empty,
        _ if initial == capacity => Fill::Full,
        _ => Fill::Tokens(initial),
    };
    quota.fill(fill).ok()
}

/// What is kept of a quota.
pub(super) fn fields(quota: &Quota) -> [u64; 5] {
    let period = quota.period();
    [quota.tokens(), period.as_secs(), period.subsec_nanos().into(), quota.capacity(), quota.initial_tokens()]
}

/// In the manner of FNV-1a, but word by word; turned after each, for a product carries nothing down to its low bits.
fn checksum(fields: [u64; 5]) -> u64 {
    let step = |sum: u64, field: u64| (sum ^ field).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29);
    fields.into_iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// The bytes of a name, eight to a word, with zeros after them.
fn words(name: &str) -> [u64; NAME_BYTES / 8] {
    let mut bytes = [0; NAME_BYTES];
    bytes.iter_mut().zip(name.bytes()).for_each(|(to, byte)| *to = byte);
    let (words, _) = bytes.as_chunks::<8>();
    std::array::from_fn(|at| words.get(at).map_or(0, |word| u64::from_ne_bytes(*word)))
}

/// For what is written once and published by the magic or by a slot's kind, both stored with `Release`. It is read under the
/// lock of the file, which orders it too, or after the kind.
fn load(word: &AtomicU64) -> u64 {
    word.load(Ordering::Relaxed)
}

fn store(word: &AtomicU64, value: u64) {
    word.store(value, Ordering::Relaxed);
}
