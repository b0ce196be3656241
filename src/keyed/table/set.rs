//! Eight words in one cache line: the places a key can have.
//!
//! A key is looked for from its home place on, in an order that its tag fixes. Its limit is in the word that bears its
//! tag. A word whose arrival point has passed is a full bucket and may be taken by another key.
//!
//! # No key keeps two words
//!
//! Two threads that insert one key may choose different places, since a place can become vacant between their looks. So a
//! key gets its word in two steps: a *claim*, which admits nothing, and its confirmation, which carries the first
//! admission. Between the two the thread *meets* all others in a read-modify-write of one word of the set, and then
//! looks again:
//!
//! * a word of the tag elsewhere, or an earlier claim (in the tag's order): the claim is taken back;
//! * a later claim: it is struck out, so that its confirmation fails.
//!
//! Of two claims, the one that met last sees the other, since the meetings of a set have one order and each acquires
//! what was written before the last. It sees it as a claim, and then one of them is gone; or as a word, and then its own
//! is. A claim is nobody's property: whoever comes by with the same key carries it on, so a thread that is stopped in
//! the middle holds nobody up.
//!
//! # Readings
//!
//! A word that another key has taken was full at a reading that this call's may precede. The reading for the first
//! admission is therefore taken after the second look, which acquires all that was done to the set before it, and in
//! order with it: a processor may read a plain counter earlier than the program says.

use crate::gcra::Cost;
use crate::keyed::table::packed::{Packed, Tag};
use crate::sync::{AtomicU64, Ordering};

/// Words in a set.
pub(super) const PLACES: usize = 8;

/// One cache line.
#[repr(align(64))]
pub(super) struct Set {
    words: [AtomicU64; PLACES],
}

/// A reading of the clock.
#[derive(Clone, Copy)]
pub(super) struct Reading {
    pub(super) nanos: u64,
    /// Units issued by then.
    pub(super) issued: u64,
    /// No word is ahead by more units. One that seems to be was left over when no call came for a whole horizon.
    pub(super) reach: u64,
}

/// What a set answers.
pub(super) enum Answer {
    Admitted,
    /// The tokens are not there at this deficit.
    NotYet {
        deficit: u64,
        now: Reading,
    },
    /// All places are taken; this is the least deficit of any of them.
    NoRoom {
        deficit: u64,
        now: Reading,
    },
}

/// What a look finds of a tag.
enum Sight {
    Word(usize, Packed),
    Claim(usize, Packed),
    Vacant(usize, Packed),
    Full { deficit: u64, now: Reading },
}

impl Reading {
    /// The arrival point of a bucket that lacks so much.
    #[inline]
    pub(super) fn arrival(self, deficit: u64) -> u64 {
        self.issued.saturating_add(deficit)
    }

    /// Whether the word can be one of the present.
    #[inline]
    fn reaches(self, word: Packed) -> bool {
        word.deficit(self.issued) <= self.reach
    }

    /// Whether a key may have the place: nothing is lost with a bucket that is full.
    fn is_vacant(self, word: Packed) -> bool {
        let deficit = word.deficit(self.issued);
        word.is_free() || !word.is_claim() && (deficit == 0 || deficit > self.reach)
    }
}

impl Set {
    pub(super) fn new() -> Self {
        Self { words: std::array::from_fn(|_| AtomicU64::new(0)) }
    }

    /// The word of keys with this tag, and its place.
    #[inline]
    pub(super) fn word_of(&self, tag: Tag) -> Option<(usize, Packed)> {
        places(tag).map(|place| (place, self.load(place))).find(|(_, word)| word.is_of(tag))
    }

    /// One attempt on the word that was found: the hot path. `None` if there is none or another call was faster; then only
    /// a slow look can tell.
    #[inline(always)]
    pub(super) fn admit(
        &self,
        found: Option<(usize, Packed)>,
        tag: Tag,
        cost: Cost,
        now: Reading,
    ) -> Option<Answer> {
        let (place, word) = found?;
        match word.admit(Packed::full(tag, now.issued), cost) {
            Some(next) => self.exchange(place, word, next).then_some(Answer::Admitted),
            None if now.reaches(word) => Some(Answer::NotYet { deficit: word.deficit(now.issued), now }),
            None => None,
        }
    }

    /// The same, come what may: inserts the key if it has no word. `now` reads the clock, in order.
    #[cold]
    pub(super) fn admit_slowly(&self, tag: Tag, cost: Cost, now: impl Fn() -> Reading) -> Answer {
        loop {
            match self.look(tag, &now) {
                Sight::Word(place, word) => {
                    let now = now();
                    if !now.reaches(word) {
                        self.exchange(place, word, word.freed());
                        continue;
                    }
                    if let Some(answer) = self.admit(Some((place, word)), tag, cost, now) {
                        return answer;
                    }
                }
                Sight::Claim(place, claim) => {
                    let first = || Packed::full(tag, now().issued + cost.units);
                    if self.confirm(tag, place, claim, first) {
                        return Answer::Admitted;
                    }
                }
                Sight::Vacant(place, word) => {
                    self.exchange(place, word, word.claimed(tag));
                }
                Sight::Full { deficit, now } => return Answer::NoRoom { deficit, now },
            }
        }
    }

    /// The deficit of the key's bucket; none if it has no word.
    pub(super) fn deficit(&self, tag: Tag, now: Reading) -> u64 {
        self.word_of(tag)
            .filter(|(_, word)| now.reaches(*word))
            .map_or(0, |(_, word)| word.deficit(now.issued))
    }

    /// Frees the words that have passed, before they could seem to lie ahead again, and claims that were left behind.
    ///
    /// The clock is read once more, in order, after a word that is to be freed: what seems left over from long ago may just be new to
    /// a thread that stalled.
    pub(super) fn sweep(&self, earlier: Reading, now: impl Fn() -> Reading) {
        for place in 0..PLACES {
            let word = self.load(place);
            let has_passed = || !word.is_free() && earlier.is_vacant(word) && now().is_vacant(word);
            if word.is_claim() || has_passed() {
                self.exchange(place, word, word.freed());
            }
        }
    }

    /// Words that stand for a bucket that is not full.
    pub(super) fn live(&self, now: Reading) -> usize {
        (0..PLACES).filter(|place| !now.is_vacant(self.load(*place))).count()
    }

    /// The key's word; else its first claim; else the first vacant place.
    fn look(&self, tag: Tag, now: &impl Fn() -> Reading) -> Sight {
        let words = places(tag).map(|place| (place, self.load(place)));
        let words: [(usize, Packed); PLACES] = collect(words);
        let find = |wanted: &dyn Fn(Packed) -> bool| words.iter().find(|(_, word)| wanted(*word)).copied();
        if let Some((place, word)) = find(&|word| word.is_of(tag)) {
            return Sight::Word(place, word);
        }
        if let Some((place, claim)) = find(&|word| word.is_claim_of(tag)) {
            return Sight::Claim(place, claim);
        }
        let now = now();
        match find(&|word| now.is_vacant(word)) {
            Some((place, word)) => Sight::Vacant(place, word),
            None => {
                let limits = words.iter().filter(|(_, word)| !word.is_claim());
                let deficit = limits.map(|(_, word)| word.deficit(now.issued)).min();
                Sight::Full { deficit: deficit.unwrap_or(0), now }
            }
        }
    }

    /// Turns a claim into the key's word `first`, if the key has no other; tells whether it did.
    fn confirm(&self, tag: Tag, place: usize, claim: Packed, first: impl FnOnce() -> Packed) -> bool {
        self.meet();
        let mut is_later = false;
        for other in places(tag) {
            if other == place {
                is_later = true;
                continue;
            }
            let seen = self.load(other);
            if seen.is_of(tag) || seen.is_claim_of(tag) && !is_later {
                self.exchange(place, claim, claim.freed());
                return false;
            }
            if seen.is_claim_of(tag) && !self.exchange(other, seen, seen.freed()) {
                return false;
            }
        }
        self.exchange(place, claim, first().no_earlier_than(claim))
    }

    /// Brings this thread into the one order of all that insert into the set.
    fn meet(&self) {
        self.words[0].fetch_or(0, Ordering::AcqRel);
    }

    #[inline]
    fn load(&self, place: usize) -> Packed {
        Packed(self.words[place].load(Ordering::Acquire))
    }

    #[inline]
    fn exchange(&self, place: usize, seen: Packed, next: Packed) -> bool {
        self.words[place].compare_exchange(seen.0, next.0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

/// The places of a set, in the order in which keys of the tag look for theirs.
#[inline]
fn places(tag: Tag) -> impl Iterator<Item = usize> {
    (0..PLACES).map(move |step| (tag.home() + step) % PLACES)
}

fn collect(words: impl Iterator<Item = (usize, Packed)>) -> [(usize, Packed); PLACES] {
    let mut all = [(0, Packed(0)); PLACES];
    all.iter_mut().zip(words).for_each(|(entry, word)| *entry = word);
    all
}
