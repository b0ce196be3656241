//! Limits that all processes of a machine share, in a mapped file.
//!
//! A bucket in each worker of a service multiplies the allowance by the workers. The word of a bucket has no pointers, so
//! one bucket can lie in a file that all of them map: same verbs, same bound, one compare-exchange an admission, no system
//! call.
//!
//! ```
//! use tollgate::{quota, shared_memory::Region};
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("limits");
//! // Every worker does the same; the first one makes the file and the bucket.
//! let region = Region::open(&path)?;
//! let requests = region.bucket("requests", quota!("100/s burst 200"))?;
//! assert!(requests.try_acquire().is_ok());
//!
//! let other = Region::open(&path)?.bucket("requests", quota!("100/s burst 200"))?;
//! assert_eq!(other.acquire_up_to(1_000), 199);
//! # Ok::<(), tollgate::shared_memory::SharedError>(())
//! ```
//!
//! # Where to put the file
//!
//! On a file system in memory, such as `/dev/shm` or `/run`: what is written elsewhere goes to a disk now and then for
//! nothing. It is made with the permissions `0600`, or those of [`RegionOptions::mode`]; whoever may write to it can give
//! itself any allowance, and whoever cuts it short ends those that map it with `SIGBUS`.
//!
//! # Death
//!
//! A process may end at any instruction. A word is changed by one compare-exchange, so it is valid before and after; a bucket
//! that was being made is made anew by the next who asks for it. What a process was admitted is spent, whatever becomes of
//! it. A charge that was being undone is undone or stays, and holds up no other undo.
//!
//! # Time
//!
//! Readings mean the same in every process: the file holds the origin and the scale by which all of them read the machine's
//! counter, or says that they ask the system's monotonic clock. After the machine was started again a file that outlived it
//! is not believed: its buckets begin as their quotas say.
//!
//! # Fork
//!
//! A forked child goes on with the buckets of its parent; there is nothing of a process in them. Locks of a file would be
//! those of both, so each is taken on an opening of its own, through `/proc`. Two things are left:
//!
//! * A child that is forked while another thread of its parent holds a lock has that lock too. The parent
//!   gives it up for both; killed before that, it leaves the lock with the child until that ends or is
//!   another program. Meanwhile nothing new is made in the file, or nothing undone in that bucket; admissions
//!   go on.
//! * A process that must not open the file again, for it gave up the rights to, takes its locks on its first
//!   opening, which its children have in common with it: killed while it holds one, it leaves that with them.
//!   They take none at all: what would need one is refused, or stays as it is. A child that gives up rights
//!   should open the file for itself before.

mod bucket;
mod charge;
mod clock;
mod error;
mod in_flight;
#[cfg(feature = "wait")]
mod late;
mod layout;
#[cfg(feature = "budget")]
mod limit;
mod mapped_word;
mod mapping;
mod member;
mod opened;
mod own_file;
#[cfg(feature = "wait")]
mod places;
mod region;
mod undo_lock;

pub use self::bucket::SharedBucket;
pub use self::charge::SharedCharge;
pub use self::clock::MachineClock;
pub use self::error::SharedError;
pub use self::in_flight::{NoSharedPermit, SharedInFlight, SharedPermit};
pub use self::region::{Region, RegionOptions};
