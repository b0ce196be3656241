//! How keys come and go.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};

use super::Keyed;
use super::roll::Found;
use super::rules::{Kept, LINGER_NANOS};
use super::shards::Placed;
use crate::clock::Clock;
use crate::decision::{Denied, NotYet};
use crate::gcra::Gcra;
use crate::nanos::Nanos;
use crate::sync::Ordering;

/// Keys looked at in one turn of a caller.
const TURN: usize = 64;

/// Keys looked at in each of the roll's sixteen stripes for a newcomer without room.
const SEARCH: usize = 4;

/// What came of a key that was not known.
enum Entered<T> {
    Done(T),
    NoRoom(NotYet),
}

impl<K: Hash + Eq, C: Clock, S: BuildHasher> Keyed<K, C, S> {
    #[cold]
    #[inline(never)]
    pub(super) fn admit_newcomer<Q>(&self, hash: u64, key: &Q, cost: u64, now: Nanos) -> Result<(), Denied>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        // Before room is looked for, and before the key is made, where it does not take the key to know.
        let vet = |gcra: &Gcra| gcra.cost(cost).map(drop);
        if self.last_class == 0 || cost == 0 {
            self.shards.rules(hash, |rules| vet(&rules.class(0).gcra))?;
        }
        match self.on_entry(hash, key, now, vet, |kept| kept.admit(cost, now))? {
            Entered::Done(answer) => answer,
            Entered::NoRoom(room) => self.rest.try_acquire(cost, now, room),
        }
    }

    /// Does something with the word of the key, which is made if there is none. Tells whether there was room for it.
    pub(super) fn on_key<Q>(&self, key: &Q, now: Nanos, act: impl Fn(Kept<'_>)) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let hash = self.shards.hash(key);
        self.shards.with(hash, key, &act).is_some()
            || matches!(self.on_entry(hash, key, now, |_| Ok(()), act), Ok(Entered::Done(())))
    }

    /// The same for a key that has not been found. A key of which `vet` does not approve is not inserted.
    fn on_entry<Q, T>(
        &self,
        hash: u64,
        key: &Q,
        now: Nanos,
        vet: impl Fn(&Gcra) -> Result<(), Denied>,
        act: impl Fn(Kept<'_>) -> T,
    ) -> Result<Entered<T>, Denied>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        // Counted in only together with its insertion: no key finds room taken for one that is known already.
        let one_more = |live| self.one_more(live);
        let count_in = || self.live.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok();
        let act_and_plan = |kept: Kept<'_>| (act(kept), kept.look_at(now));
        loop {
            if let Some(room) = self.want_room(hash, now) {
                // Another call may have inserted this key, as the last that there was room for.
                let done = self.shards.with(hash, key, &act);
                return Ok(done.map_or(Entered::NoRoom(room), Entered::Done));
            }
            let key = key.to_owned();
            let class = self.class_of(&key);
            self.shards.rules(hash, |rules| vet(&rules.class(class).gcra))?;
            match self.shards.insert(hash, key, class, count_in, act_and_plan) {
                Placed::Known((done, _)) => return Ok(Entered::Done(done)),
                Placed::New((done, look_at)) => {
                    self.roll.enter(hash, look_at);
                    return Ok(Entered::Done(done));
                }
                Placed::Nowhere => {}
            }
        }
    }

    /// Looks for room for one more key, after forgetting another if need be; tells when there can be some if there is
    /// none now.
    fn want_room(&self, hash: u64, now: Nanos) -> Option<NotYet> {
        let at = now.as_u64();
        let is_room = self.one_more(self.live.load(Ordering::Relaxed)).is_some()
            || self.roll.make_room(at, SEARCH, |hash| self.forget(hash, at, now));
        (!is_room).then(|| {
            let room = self.roll.first_due().max(at.saturating_add(1));
            NotYet::new(self.shards.rules(hash, |rules| rules.class(0).gcra.rate()), at, 0, room)
        })
    }

    fn one_more(&self, live: u64) -> Option<u64> {
        (live < self.max_keys).then_some(live + 1)
    }

    /// A caller's turn at sweeping.
    #[cold]
    #[inline(never)]
    pub(super) fn take_turn(&self, now: Nanos) {
        let full_since = now.as_u64().saturating_sub(LINGER_NANOS);
        self.roll.take_turn(now.as_u64(), full_since, TURN, |hash| self.forget(hash, full_since, now));
    }

    /// Forgets all keys that are full now.
    pub(super) fn forget_all(&self, now: Nanos) -> usize {
        self.roll.visit_all(now.as_u64(), TURN, |hash| self.forget(hash, now.as_u64(), now))
    }

    /// Forgets a key with this hash if its bucket has been full, and not paused, since the reading `since`.
    fn forget(&self, hash: u64, since: u64, now: Nanos) -> Found {
        // Most keys that are looked at have been used since they were written down. That is seen beside other readers.
        match self.shards.least(hash, |kept| (kept.due(), kept.look_at(now))) {
            None => return Found::Gone,
            Some((due, look_at)) if due > since => return Found::Busy(look_at),
            Some(_) => {}
        }
        // Counted out together with its removal, for whoever misses the key may want its room.
        let count_out = || {
            self.live.fetch_sub(1, Ordering::Relaxed);
        };
        let forgotten = self.shards.remove(hash, since, |kept| kept.due() <= since, count_out);
        if forgotten { Found::Forgotten } else { Found::Busy(since) }
    }
}
