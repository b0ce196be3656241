//! A mapped word by itself, and deaths in the middle of what gives back to it.

use proptest::prelude::*;

use super::*;
#[cfg(feature = "wait")]
use crate::bucket::Ruled;
use crate::gcra::Gcra;
use crate::quota::Quota;

/// A second is a token, and a token is a unit of this many.
fn rules() -> (Gcra, u64) {
    let gcra = Gcra::new(&Quota::new(20, core::time::Duration::from_secs(20)).unwrap());
    (gcra, gcra.one.units)
}

fn word(arrival: u64) -> MappedWord {
    let [undoing, lowered, refunding, promised] = [0; 4].map(AtomicU64::new);
    let cancelled = [0; 4 * REMEMBERED].map(AtomicU64::new);
    MappedWord { word: Word::new(arrival), undoing, lowered, refunding, promised, cancelled }
}

/// A charge of 10 tokens: what was counted before it, and what it wrote.
fn charge(word: &MappedWord, issued: u64) -> (Lowered, u64) {
    let (gcra, token) = rules();
    let lowered = word.lowered();
    (lowered, word.raise_always(|arrival| gcra.charge(arrival, issued, 10 * token)).written)
}

/// What an undo of it gives back.
fn undo(word: &MappedWord, (before, written): (Lowered, u64), issued: u64) -> u64 {
    let (gcra, token) = rules();
    let held = word.arrival().max(issued);
    word.undo(10 * token, |arrival, lowered| {
        gcra.undo(arrival, issued, 10 * token, written, before.until(lowered))
    });
    (held - word.arrival().max(issued)) / token
}

/// Where a process can die in an undo of 10 tokens.
const DEATHS: [fn(&MappedWord); 3] = [
    |word| word.undoing.store(10 * rules().1, Ordering::Relaxed),
    |word| {
        DEATHS[0](word);
        word.step(|arrival| arrival - 10 * rules().1);
    },
    |word| {
        DEATHS[1](word);
        word.count(10 * rules().1);
    },
];

#[test]
fn who_dies_in_an_undo_mints_nothing_for_charges_that_were_there() {
    let (gcra, token) = rules();
    for (at, die) in DEATHS.into_iter().enumerate() {
        let begin = gcra.issued(0);
        let word = word(begin);
        let (_theirs, ours) = (charge(&word, begin), charge(&word, begin));
        die(&word);
        // Refill makes good what is left, and somebody else takes ten.
        let later = word.arrival();
        word.raise_always(|arrival| arrival + 10 * token);
        assert_eq!(undo(&word, ours, later), 0, "{at}");
    }
}

#[test]
fn who_dies_in_an_undo_holds_up_nothing_for_charges_to_come() {
    let begin = rules().0.issued(0);
    for die in DEATHS {
        let word = word(begin);
        let theirs = charge(&word, begin);
        die(&word);
        undo(&word, theirs, begin);
        word.replace(|arrival| (begin, arrival.max(begin) - begin));
        for _ in 0..3 {
            let ours = charge(&word, begin);
            assert_eq!(undo(&word, ours, begin), 10);
        }
    }
}

#[test]
fn of_who_dies_in_an_undo_no_cancelled_place_is_believed() {
    let word = word(100);
    word.cancelled.iter().for_each(|place| place.store(7, Ordering::Relaxed));
    word.undo(5, |arrival, _| arrival);
    let remembered = || word.cancelled.iter().map(|place| place.load(Ordering::Relaxed)).sum::<u64>();
    assert_eq!(remembered(), 7 * 32, "an undo that ends leaves them");
    DEATHS[0](&word);
    word.undo(5, |arrival, _| arrival);
    assert_eq!(remembered(), 0);
}

#[test]
fn an_undo_leaves_word_of_itself_before_it_gives_anything_back() {
    let (word, told) = (word(100), Cell::new(0));
    word.undo(7, |arrival, _| {
        told.set(word.undoing.load(Ordering::Relaxed));
        arrival - 5
    });
    assert_eq!(
        (told.get(), word.lowered.load(Ordering::Relaxed), word.undoing.load(Ordering::Relaxed)),
        (7, 5, 0)
    );
}

/// A refund without the lock of which nobody counts anything, as when its process dies right after it.
fn refund_and_die(word: &MappedWord, issued: u64, units: u64) -> u64 {
    let (gcra, _) = rules();
    let refund = |arrival| gcra.refund(arrival, issued, units);
    word.refunding.fetch_add(word.arrival() - refund(word.arrival()), Ordering::Relaxed);
    let Raised { seen, written } = word.step(refund);
    seen - written
}

/// The same with the lock.
#[cfg(feature = "wait")]
fn refund_alone_and_die(word: &MappedWord, issued: u64, units: u64) -> u64 {
    let before = word.refunding.load(Ordering::Relaxed);
    word.count_the_dead();
    let given = refund_and_die(word, issued, units);
    word.refunding.store(before, Ordering::Relaxed);
    word.undoing.store(given, Ordering::Relaxed);
    given
}

#[test]
fn a_refund_leaves_word_of_itself_before_it_gives_anything_back() {
    let alone = word(100);
    let told = told_on_the_way(&alone, &alone.undoing, |next| alone.replace(next));
    assert_eq!(told, [0, 5, 0]);
    let beside = word(100);
    let told = told_on_the_way(&beside, &beside.refunding, |next| beside.replace_beside(next));
    assert_eq!(told, [0, 5, 0]);
}

/// What is announced when five are given back, at the second attempt to, and after it.
fn told_on_the_way(
    word: &MappedWord,
    announced: &AtomicU64,
    replace: impl FnOnce(&dyn Fn(u64) -> (u64, u64)),
) -> [u64; 3] {
    let (told, last) = (Cell::new([0; 2]), || announced.load(Ordering::Relaxed));
    replace(&|arrival| {
        if arrival == 100 {
            word.raise_always(|arrival| arrival + 1);
        }
        told.set([told.get()[1], last()]);
        (arrival - 5, 5)
    });
    assert_eq!((word.arrival(), word.lowered.load(Ordering::Relaxed)), (96, 5));
    let [first, second] = told.get();
    [first, second, last()]
}

#[cfg(feature = "wait")]
const DYING_REFUNDS: [fn(&MappedWord, u64, u64) -> u64; 2] = [refund_and_die, refund_alone_and_die];

/// Twenty are taken, twenty and twenty booked behind; a refund of five dies uncounted, and the first
/// place is cancelled. Both starts of 40 s from now may be twenty-five then, five more than the capacity
/// for the refund, and no more.
#[cfg(feature = "wait")]
#[test]
fn a_cancellation_gives_nothing_back_for_a_refund_that_it_does_not_know_of() {
    let ((gcra, token), longest) = (rules(), Nanos::new(100_000_000_000));
    for (at, die) in DYING_REFUNDS.into_iter().enumerate() {
        let word = word(gcra.issued(0));
        let ruled = Ruled { gcra: &gcra, word: &word };
        ruled.admit(&gcra.cost(20).unwrap(), Nanos::ZERO).unwrap();
        let book = || ruled.take_place(20, Spacing::Burst, longest, Nanos::ZERO, &word).unwrap();
        let (first, second) = (book(), book());
        die(&word, gcra.issued(0), 5 * token);
        word.cancel(&first, &gcra, || Nanos::ZERO);
        let issued = gcra.issued(second.due().as_u64());
        let left = gcra.available(word.arrival().saturating_sub(issued));
        assert_eq!((second.due(), left + 20), (Nanos::new(40_000_000_000), 25), "{at}");
    }
}

/// A charge that was admitted: when, how much, and how much of it was not given back.
struct Admitted {
    issued: u64,
    kept: u64,
    undoable: Option<(u64, u64, Lowered)>,
}

/// A charge that may be undone, an admission, an undo, a refund, time; refunds are rare, for they widen what is
/// checked.
fn verbs() -> impl Strategy<Value = u8> {
    prop_oneof![5 => Just(0_u8), 4 => Just(1), 5 => Just(2), 1 => Just(3), 4 => Just(4)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// What an undo gives back is net of its charge only; with all that undos gave back and was admitted again, each
    /// refund widens the bound by its amount and no more.
    #[test]
    fn refunds_that_undos_do_not_know_of_widen_the_bound_once(
        steps in proptest::collection::vec((verbs(), 4..=10_u64, 0..12_u64), 8..40),
    ) {
        let (gcra, token) = rules();
        let (begin, mut refunded) = (gcra.issued(0), 0);
        let (word, mut issued, mut log) = (word(begin), begin, Vec::<Admitted>::new());
        for (verb, tokens, pick) in steps {
            let units = tokens * token;
            match verb {
                0 | 1 => {
                    let (lowered, cost) = (word.lowered(), gcra.cost(tokens).unwrap());
                    let raised = word.raise(|arrival| gcra.admit(arrival, issued, cost));
                    if let Ok(Raised { written, .. }) = raised {
                        let undoable = (verb == 0).then_some((units, written, lowered));
                        log.push(Admitted { issued, kept: units, undoable });
                    }
                }
                2 => {
                    let mut open: Vec<_> = log.iter_mut().filter(|one| one.undoable.is_some()).collect();
                    let which = pick as usize % open.len().max(1);
                    let Some(one) = open.get_mut(which) else { continue };
                    let Some((units, written, before)) = one.undoable.take() else { continue };
                    word.undo(units, |arrival, lowered| {
                        gcra.undo(arrival, issued, units, written, before.until(lowered))
                    });
                    // An undone charge does not count, however little came back.
                    one.kept = 0;
                }
                3 => refunded += refund_and_die(&word, issued, units),
                _ => issued += pick * token,
            }
            // If all that is there were admitted now: no interval that ends here has too much.
            let mut sum = (gcra.one.units + gcra.one.spare).saturating_sub(word.arrival().saturating_sub(issued));
            for one in log.iter().rev() {
                sum += one.kept;
                prop_assert!(sum <= 20 * token + refunded + issued - one.issued);
            }
        }
    }
}

/// What starts when, in whole seconds, and how much.
#[cfg(feature = "wait")]
type Starts = Vec<(u64, u64)>;

/// No interval has more than the capacity, what is issued in it, and what was refunded.
#[cfg(feature = "wait")]
fn is_within_the_bound(starts: &Starts, refunded: u64) -> bool {
    let within = |begin: u64, end: u64| starts.iter().filter(move |one| (begin..=end).contains(&one.0));
    starts.iter().all(|&(begin, _)| {
        let mut ends = starts.iter().filter(|one| one.0 >= begin);
        ends.all(|&(end, _)| within(begin, end).map(|one| one.1).sum::<u64>() <= 20 + refunded + end - begin)
    })
}

#[cfg(feature = "wait")]
proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]

    /// Places that are booked, cancelled or kept, and admissions, beside refunds that die uncounted.
    #[test]
    fn refunds_that_cancellations_do_not_know_of_widen_the_bound_once(
        steps in proptest::collection::vec((verbs(), 1..=20_u64, 0..12_u64), 8..40),
    ) {
        const SECOND: u64 = 1_000_000_000;
        let (gcra, token) = rules();
        let (word, longest) = (word(gcra.issued(0)), Nanos::new(60 * SECOND));
        let ruled = Ruled { gcra: &gcra, word: &word };
        let (mut now, mut refunded, mut booked, mut starts) = (0, 0, Vec::new(), Starts::new());
        for (verb, tokens, pick) in steps {
            let time = Nanos::new(now * SECOND);
            match verb {
                0 => {
                    let place = ruled.take_place(tokens, Spacing::Burst, longest, time, &word);
                    booked.extend(place.map(|one| (one, tokens)));
                }
                1 if ruled.admit(&gcra.cost(tokens).unwrap(), time).is_ok() => starts.push((now, tokens)),
                2 if !booked.is_empty() => {
                    let (cancelled, _) = booked.swap_remove(pick as usize % booked.len());
                    word.cancel(&cancelled, &gcra, || time);
                }
                3 => {
                    let die = DYING_REFUNDS[pick as usize % 2];
                    refunded += die(&word, gcra.issued(time.as_u64()), tokens * token) / token;
                }
                4 => now += pick,
                _ => {}
            }
            let left = gcra.available(word.arrival().saturating_sub(gcra.issued(now * SECOND)));
            let due = booked.iter().map(|(one, tokens)| (one.due().as_u64() / SECOND, *tokens));
            let starts: Starts = starts.iter().copied().chain(due).chain([(now, left)]).collect();
            prop_assert!(is_within_the_bound(&starts, refunded), "{:?}, {} refunded", starts, refunded);
        }
    }
}
