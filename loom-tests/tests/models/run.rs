//! Runs: calls that start together are taken together, in the run and in all above, whoever asks beside whom.

use std::collections::BTreeSet;

use tollgate::budget::{Call, Ceilings, NoCall, Planned, Run};
use tollgate_loom_tests::{explore, race2, race3};

/// What a run answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Answer {
    Taken,
    /// Not while the calls of others are open.
    Later,
    Over,
}

use Answer::{Later, Over, Taken};

/// Asks for calls that use so many tokens each and are made at once.
fn make<const N: usize>(run: &Run, tokens: [u64; N]) -> Answer {
    match run.reserve(tokens.map(|tokens| Planned::new("tool").tokens(tokens))) {
        Ok(calls) => {
            calls.into_iter().for_each(Call::keep);
            Taken
        }
        Err(NoCall::Reserved(_)) => Later,
        Err(NoCall::Ended(_)) => Over,
    }
}

/// Calls and tokens used, and calls that are open.
fn counts(run: &Run) -> (u64, u64, u64) {
    let trace = run.trace();
    (trace.used.calls, trace.used.tokens, trace.open.calls)
}

/// Three calls are left and two fan-outs want two each: one gets them. The other is told to come back while
/// they are open, and ends the run when they are made.
#[test]
fn two_fan_outs_want_the_last_calls() {
    let outcomes = explore("run_fan_outs", || {
        let run = Run::new(&Ceilings::new().calls_of("tool", 3));
        let (one, other) = (run.clone(), run.clone());
        let (one, other) = race2(move || make(&one, [0, 0]), move || make(&other, [0, 0]));
        (one, other, run.is_over(), counts(&run))
    });
    let all = [
        (Taken, Later, false, (2, 0, 0)),
        (Taken, Over, true, (2, 0, 0)),
        (Later, Taken, false, (2, 0, 0)),
        (Over, Taken, true, (2, 0, 0)),
    ];
    assert_eq!(outcomes, BTreeSet::from(all));
}

/// A child draws on what its parent wants too. What does not hold both is the parent's, and the end is that
/// of the one who asked.
#[test]
fn a_child_beside_its_parent() {
    let outcomes = explore("run_child_and_parent", || {
        let parent = Run::new(&Ceilings::new().tokens(10));
        let child = parent.child(&Ceilings::new().tokens(8));
        let (below, above) = (child.clone(), parent.clone());
        let (below, above) = race2(move || make(&below, [6]), move || make(&above, [6]));
        (below, above, child.is_over(), parent.is_over(), counts(&child), counts(&parent))
    });
    let (made, none) = ((1, 6, 0), (0, 0, 0));
    let all = [
        (Taken, Later, false, false, made, made),
        (Taken, Over, true, true, made, made),
        (Later, Taken, false, false, none, made),
        (Over, Taken, true, false, none, made),
    ];
    assert_eq!(outcomes, BTreeSet::from(all));
}

/// Two children of one run: what one gives back, the other finds in the run above as a whole or not at all.
#[test]
fn a_child_gives_back_beside_its_sibling() {
    let outcomes = explore("run_siblings", || {
        let parent = Run::new(&Ceilings::new().calls(2).tokens(10));
        let (one, other) = (parent.child(&Ceilings::new()), parent.child(&Ceilings::new()));
        let open = one.call(Planned::new("tool").tokens(7)).expect("it is there");
        let sibling = other.clone();
        let (_, asked) = race2(move || open.settle(4, 0), move || make(&sibling, [6]));
        (asked, counts(&one), counts(&other), counts(&parent))
    });
    let all = [(Taken, (1, 4, 0), (1, 6, 0), (2, 10, 0)), (Later, (1, 4, 0), (0, 0, 0), (1, 4, 0))];
    assert_eq!(outcomes, BTreeSet::from(all));
}

/// Whoever sees a call closed in a run sees it closed above too.
#[test]
fn a_call_is_closed_in_the_whole_line_at_once() {
    let outcomes = explore("run_close", || {
        let parent = Run::new(&Ceilings::new());
        let child = parent.child(&Ceilings::new());
        let open = child.call(Planned::new("tool").tokens(7)).expect("it is there");
        let (_, seen) = race2(move || open.settle(4, 0), move || (counts(&child), counts(&parent)));
        seen
    });
    let (open, closed) = ((0, 0, 1), (1, 4, 0));
    assert_eq!(outcomes, BTreeSet::from([(open, open), (open, closed), (closed, closed)]));
}

/// A parent is stopped while a child asks and an open call of it is closed: the child's calls are made before
/// or not at all, and whatever is made is counted in both.
#[test]
fn a_parent_is_stopped_beside_its_child() {
    let outcomes = explore("run_stop", || {
        let parent = Run::new(&Ceilings::new());
        let child = parent.child(&Ceilings::new());
        let open = child.call(Planned::new("tool").tokens(3)).expect("it is there");
        let (below, above) = (child.clone(), parent.clone());
        let (asked, _, _) =
            race3(move || make(&below, [5, 5]), move || above.end("stopped"), move || open.settle(1, 0));
        (asked, child.is_over(), parent.is_over(), counts(&child), counts(&parent))
    });
    let all = [(Taken, true, true, (3, 11, 0), (3, 11, 0)), (Over, true, true, (1, 1, 0), (1, 1, 0))];
    assert_eq!(outcomes, BTreeSet::from(all));
}
