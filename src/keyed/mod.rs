//! One limit for each key: an address, an API key, a tenant.
//!
//! Two forms, for two needs:
//!
//! | | [`Keyed`] | [`Table`] |
//! |---|---|---|
//! | keys | any `Hash + Eq`, stored, compared | anything `Hash`, not stored: a tag of 20 bits stands for it |
//! | exact | yes | keys that share a tag in a set share a limit: stricter, never looser |
//! | memory | grows to [`max_keys`](KeyedBuilder::max_keys), given back by sweeping | fixed: eight bytes a word |
//! | verbs | `try_acquire` and its twins, `charge`, `refund`, `pause_until`, `resume`, `peek` | `try_acquire`, `try_acquire_n`, `peek` |
//! | quotas | one, or one for each class; each can be changed (feature `adjust`) | one, for life |
//! | a decision | a read lock that threads do not share, a look-up, a compare-exchange | one cache line, a compare-exchange |
//!
//! # Forgetting a key
//!
//! A bucket that is full is as good as a new one. A key is forgotten only while its bucket is full and not paused, so
//! any schedule of sweeping decides as none at all would; and that is the only eviction there is. An attacker cannot
//! push a drained key out to have it start afresh. Where a quota changes, a key that is not known changes as a full
//! bucket does, and no key is forgotten before one that is made anew would be full as well.
//!
//! # When there is no more room
//!
//! Memory is bounded, so there can be more keys than places. Keys that have a place keep it, as long as they need it;
//! what becomes of a newcomer is the owner's [choice](Overflow): refused, put together with other newcomers into one
//! shared bucket (the default), or admitted without limit. Each is [counted](OverflowCounts). Once a key that
//! competes for the place has a full bucket, a newcomer takes its place. A newcomer is therefore locked out for ever only
//! where the owner chose [`Overflow::Refuse`] and as many keys as there are places stay busy all the time.

mod error;
mod exact;
mod overflow;
mod table;

pub use self::error::KeyedError;
pub use self::exact::{Keyed, KeyedBuilder};
pub use self::overflow::{Overflow, OverflowCounts};
pub use self::table::{Table, TableBuilder};

/// The hash of keys unless another is chosen: foldhash, seeded at random for each limiter.
///
/// With an unknown seed, keys cannot be chosen so as to meet in one place. Where that must hold against an adversary who
/// can measure single collisions, choose [`std::hash::RandomState`] (SipHash), which costs some 10 ns more.
pub type RandomState = foldhash::quality::RandomState;
