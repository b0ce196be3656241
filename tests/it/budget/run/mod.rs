//! Runs: ceilings, the end, runs below runs; what they count against a model with the whole history.

mod joint;
mod model;
mod schedules;
mod stress;

use std::panic::{AssertUnwindSafe, catch_unwind};

use tollgate::budget::{Call, Ceiling, Ceilings, Ended, NoCall, Planned, Reserved, Run, Spent};

fn ask(tokens: u64) -> Planned<'static> {
    Planned::new("ask").tokens(tokens)
}

fn ended<T>(answer: Result<T, NoCall>) -> Ended {
    match answer {
        Err(NoCall::Ended(ended)) => ended,
        Err(NoCall::Reserved(reserved)) => panic!("{reserved}"),
        Ok(_) => panic!("it was admitted"),
    }
}

fn reserved<T>(answer: Result<T, NoCall>) -> Reserved {
    match answer {
        Err(NoCall::Reserved(reserved)) => reserved,
        Err(NoCall::Ended(ended)) => panic!("{ended}"),
        Ok(_) => panic!("it was admitted"),
    }
}

fn keep<const N: usize>(calls: [Call; N]) {
    calls.into_iter().for_each(Call::keep);
}

fn spent(calls: u64, tokens: u64, spend: u64) -> Spent {
    Spent { calls, tokens, spend }
}

#[test]
fn each_ceiling_ends_a_run_and_is_named() {
    let ceilings = Ceilings::new().calls(5).calls_of("search", 2).tokens(100).spend(1_000);
    let used = |run: &Run| {
        run.call(Planned::new("search").tokens(10).spend(100)).unwrap().keep();
        run.call(ask(20).spend(200)).unwrap().keep();
    };
    for (more, text) in [
        (vec![ask(0); 4], "2 of 5 calls used, 4 more asked for"),
        (vec![Planned::new("search"); 2], "1 of 2 calls of `search` used, 2 more asked for"),
        (vec![ask(71)], "30 of 100 tokens used, 71 more asked for"),
        (vec![ask(0).spend(300), ask(0).spend(401)], "300 of 1000 micro-units used, 701 more asked for"),
    ] {
        let run = Run::new(&ceilings);
        used(&run);
        assert!(!run.is_over());
        let ended = ended(run.reserve_all(&more));
        assert_eq!(ended.to_string(), format!("the run is over: {text}"));
        assert_eq!((run.ended(), run.trace().ended), (Some(ended), Some(ended)));
        // Also for what would have fitted.
        assert_eq!(run.call(ask(0)).err(), Some(NoCall::Ended(ended)));
        assert_eq!(run.reserve([]).err(), Some(NoCall::Ended(ended)));
        assert_eq!(run.spent(), spent(2, 30, 300), "nothing was taken");
    }
}

#[test]
fn what_is_used_up_to_the_ceiling_ends_nothing() {
    let run = Run::new(&Ceilings::new().calls(2).tokens(100).spend(50));
    run.call(ask(60).spend(50)).unwrap().keep();
    run.call(ask(0)).unwrap().settle(40, 0);
    assert_eq!((run.is_over(), run.left()), (false, spent(0, 0, 0)));
    let ended = ended(run.call(ask(0)));
    assert_eq!(
        (ended.ceiling(), ended.used(), ended.asked(), ended.allowed()),
        (Some(Ceiling::Calls), 2, 1, 2)
    );
    assert!(run.is_over());
}

#[test]
fn open_calls_stand_in_the_way_for_now_and_closed_ones_for_good() {
    let run = Run::new(&Ceilings::new().tokens(100));
    let first = run.call(ask(60)).unwrap();
    let refused = reserved(run.call(ask(50)));
    assert_eq!(
        (refused.ceiling(), refused.used(), refused.asked(), refused.allowed()),
        (Ceiling::Tokens, 60, 50, 100)
    );
    let text = "not while calls are open: 60 of 100 tokens used or reserved, 50 more asked for";
    assert_eq!(refused.to_string(), text);
    assert!(!run.is_over());
    first.settle(10, 0);
    let second = run.call(ask(50)).unwrap();
    assert_eq!(run.left().tokens, 40);
    second.keep();
    assert_eq!(ended(run.call(ask(41))).used(), 60);
}

#[test]
fn an_end_counts_for_more_than_a_refusal_for_now() {
    let parent = Run::new(&Ceilings::new().spend(100));
    let run = parent.child(&Ceilings::new().calls(1).tokens(100));
    let _open = run.call(ask(60)).unwrap();
    // Calls for now, tokens for good; then calls for now, and the parent's money for good.
    assert_eq!(ended(run.call(ask(101))).ceiling(), Some(Ceiling::Tokens));
    let run = parent.child(&Ceilings::new().calls(1));
    let _open = run.call(ask(0)).unwrap();
    let ended = ended(run.call(ask(0).spend(101)));
    assert_eq!((ended.ceiling(), ended.levels_up()), (Some(Ceiling::Spend), 1));
    assert_eq!((run.is_over(), parent.is_over()), (true, false));
}

#[test]
fn a_fan_out_is_all_or_none() {
    let run = Run::new(&Ceilings::new().calls_of("search", 3).tokens(100));
    let search = Planned::new("search").tokens(10);
    let open = run.reserve([search, search, ask(20)]).unwrap();
    assert_eq!((run.left().tokens, run.trace().of("search").unwrap().open), (60, spent(2, 20, 0)));
    assert_eq!(reserved(run.reserve([search, ask(10), search])).asked(), 2);
    assert_eq!(reserved(run.reserve_all(&[ask(30), ask(31)])).asked(), 61);
    assert_eq!((run.left().tokens, run.trace().open.calls), (60, 3));
    let [first, second, third] = open;
    first.release();
    second.settle(5, 0);
    third.keep();
    assert_eq!((run.spent(), run.trace().open), (spent(2, 25, 0), spent(0, 0, 0)));
    keep(run.reserve([search, search]).unwrap());
    assert_eq!(ended(run.reserve([search])).tool(), Some("search"));
}

#[test]
fn an_overrun_is_charged_and_ends_the_run_when_what_is_used_is_above_the_ceiling() {
    let parent = Run::new(&Ceilings::new().tokens(150));
    let run = parent.child(&Ceilings::new().tokens(100).spend(10));
    let [first, second] = run.reserve([ask(50), ask(50)]).unwrap();
    first.settle(70, 0);
    // 120 are used or reserved, but the second may still use less.
    assert_eq!((run.is_over(), run.left().tokens), (false, 0));
    assert_eq!(reserved(run.call(ask(0))).used(), 120);
    second.settle(31, 0);
    let ended = run.ended().unwrap();
    assert_eq!((ended.ceiling(), ended.used(), ended.asked()), (Some(Ceiling::Tokens), 101, 0));
    assert_eq!(ended.to_string(), "the run is over: 101 of 100 tokens used");
    assert_eq!((parent.is_over(), parent.spent().tokens), (false, 101));

    let run = parent.child(&Ceilings::new().spend(10));
    run.call(ask(0).spend(10)).unwrap().settle(50, 11);
    assert_eq!(run.ended().unwrap().ceiling(), Some(Ceiling::Spend));
    assert_eq!(parent.ended().unwrap().used(), 151);
}

#[test]
fn calls_that_are_open_at_the_end_are_settled_and_counted() {
    let run = Run::new(&Ceilings::new().calls(3));
    let [first, second, third] = run.reserve([ask(10), ask(10), ask(10)]).unwrap();
    run.end("the user has left");
    run.end("again");
    let ended = run.ended().unwrap();
    assert_eq!((ended.reason(), ended.ceiling(), ended.tool()), (Some("the user has left"), None, None));
    assert_eq!(ended.to_string(), "the run is over: the user has left");
    first.settle(25, 3);
    second.release();
    drop(third);
    assert_eq!((run.spent(), run.ended()), (spent(2, 35, 3), Some(ended)));
}

#[test]
fn a_call_that_is_dropped_counts_as_made_also_by_a_panic() {
    let run = Run::new(&Ceilings::new());
    drop(run.call(ask(10).spend(7)).unwrap());
    let caught = catch_unwind(AssertUnwindSafe(|| {
        let _call = run.call(ask(20)).unwrap();
        panic!("the tool failed");
    }));
    assert!(caught.is_err());
    assert_eq!((run.spent(), run.trace().open), (spent(2, 30, 7), spent(0, 0, 0)));
}

#[test]
fn ten_thousand_released_calls_leave_nothing() {
    let parent = Run::new(&Ceilings::new().tokens(1_000));
    let run = parent.child(&Ceilings::new().calls(3));
    for _ in 0..10_000 {
        run.call(ask(1_000)).unwrap().release();
    }
    assert_eq!((run.left(), run.spent()), (spent(3, 1_000, u64::MAX), spent(0, 0, 0)));
}

#[test]
fn a_child_takes_from_all_above_and_gives_nothing_back_by_going() {
    let top = Run::new(&Ceilings::new().tokens(100));
    let middle = top.child(&Ceilings::new().calls(2));
    let run = middle.child(&Ceilings::new().tokens(80));
    run.call(ask(30)).unwrap().settle(20, 0);
    let open = run.call(ask(50)).unwrap();
    assert_eq!(
        (top.left().tokens, middle.left(), run.left()),
        (30, spent(0, 30, u64::MAX), spent(0, 10, u64::MAX))
    );
    let refused = reserved(run.call(ask(10)));
    assert_eq!((refused.ceiling(), refused.levels_up()), (Ceiling::Calls, 1));
    assert!(refused.to_string().ends_with(", by its parent"));
    drop((run, middle));
    assert_eq!(open.run().parent().map(Run::left), Some(spent(0, 30, u64::MAX)));
    drop(open);
    assert_eq!(top.spent(), spent(2, 70, 0));
    assert!(!top.is_over());
}

#[test]
fn a_childs_end_is_its_own_and_a_parents_is_that_of_all_below() {
    let top = Run::new(&Ceilings::new().calls_of("search", 1));
    let (one, other) = (top.child(&Ceilings::new().calls(0)), top.child(&Ceilings::new()));
    let below = other.child(&Ceilings::new());
    assert_eq!(ended(one.call(ask(0))).levels_up(), 0);
    assert!(one.is_over() && !top.is_over() && !other.is_over());
    let search = Planned::new("search");
    below.call(search).unwrap().keep();
    let end = ended(below.call(search));
    assert_eq!((end.tool(), end.levels_up()), (Some("search"), 2));
    assert!(end.to_string().ends_with(", by the run 2 levels up"));
    // It was the top's ceiling, but only this one has asked for too much.
    assert!(below.is_over() && !top.is_over() && !other.is_over());
    other.call(ask(0)).unwrap().keep();
    top.end("done");
    for (run, levels_up) in [(&top, 0), (&other, 1), (&other.child(&Ceilings::new()), 2)] {
        assert_eq!(
            run.ended().map(|ended| (ended.reason(), ended.levels_up())),
            Some((Some("done"), levels_up))
        );
        assert_eq!(run.trace().ended, run.ended());
        assert_eq!(ended(run.call(ask(0))).levels_up(), levels_up);
    }
    assert_eq!(one.ended().and_then(|ended| ended.ceiling()), Some(Ceiling::Calls), "its own end came first");
}

#[test]
fn a_run_too_far_down_is_over_from_the_start() {
    let mut runs = vec![Run::new(&Ceilings::new())];
    for _ in 0..Run::MOST_ABOVE {
        runs.push(runs[runs.len() - 1].child(&Ceilings::new()));
    }
    let last = runs.last().unwrap();
    last.call(ask(3)).unwrap().keep();
    assert!(runs.iter().all(|run| run.spent() == spent(1, 3, 0) && !run.is_over()));
    let below = last.child(&Ceilings::new());
    let text = "the run is over: 16 runs above it, which is too many";
    assert_eq!(ended(below.call(ask(0))).to_string(), text);
    assert!(below.is_over() && below.parent().is_none(), "it draws on nothing");
    // However long it goes on.
    let mut run = below;
    for _ in 0..100_000 {
        run = run.child(&Ceilings::new());
    }
    drop(run);
}

#[test]
fn names_beyond_those_told_apart_are_one_tool() {
    let ceilings = Ceilings::new().told_apart(2).calls_per_tool(3).calls_of("search", 9);
    let run = Run::new(&ceilings);
    let make = |tool: &str| run.call(Planned::new(tool).tokens(1)).map(Call::keep);
    for tool in ["a", "b", "search", "c", "d", "a", "search", "e"] {
        make(tool).unwrap();
    }
    let seen = |tool: Option<&str>| {
        let trace = run.trace();
        trace.tools.iter().find(|trace| trace.tool.as_deref() == tool).map(|trace| trace.used.calls)
    };
    assert_eq!([Some("a"), Some("b"), Some("search"), None].map(seen), [2, 1, 2, 3].map(Some));
    assert_eq!((seen(Some("c")), run.trace().tools.len()), (None, 4));
    let ended = ended(make("f"));
    assert_eq!((ended.ceiling(), ended.tool(), ended.used()), (Some(Ceiling::CallsOfOthers), None, 3));

    let long = "x".repeat(129);
    let run = Run::new(&Ceilings::new().calls_of(&long, 1));
    run.call(Planned::new(&long)).unwrap().keep();
    run.call(Planned::new(&("y".repeat(129)))).unwrap().keep();
    let tools: Vec<_> = run.trace().tools.into_iter().map(|tool| tool.tool).collect();
    assert_eq!(tools, [Some(long.clone()), None], "one that is declared is itself");
    let NoCall::Ended(ended) = run.call(Planned::new(&long)).unwrap_err() else { panic!("one was used") };
    assert_eq!(ended.tool(), Some("x".repeat(55).as_str()));
}

#[test]
fn what_is_refused_is_no_tool_that_was_called() {
    let run = Run::new(&Ceilings::new().told_apart(1).tokens(10));
    let open = run.call(ask(10)).unwrap();
    let _refused = reserved(run.reserve([Planned::new("a").tokens(1), Planned::new("b")]));
    open.release();
    assert_eq!(run.trace().tools.len(), 1);
}

#[test]
fn figures_that_cannot_be_counted_stay_on_the_safe_side() {
    let run = Run::new(&Ceilings::new());
    let most = ask(u64::MAX).spend(u64::MAX);
    let open = run.call(most).unwrap();
    assert_eq!(reserved(run.call(ask(1))).used(), u64::MAX);
    open.release();
    assert_eq!(run.left(), spent(u64::MAX, u64::MAX, u64::MAX));
    run.call(ask(1)).unwrap().settle(u64::MAX, u64::MAX);
    run.call(ask(0)).unwrap().settle(7, 7);
    assert_eq!((run.spent(), run.is_over()), (spent(2, u64::MAX, u64::MAX), false));
    assert_eq!(ended(run.reserve([most, most])).asked(), u64::MAX);
}

#[test]
fn a_trace_is_a_table() {
    let run = Run::new(&Ceilings::new().told_apart(1).calls(4));
    run.call(ask(1_200).spend(9_000)).unwrap().keep();
    run.call(Planned::new("made up").tokens(5)).unwrap().keep();
    let _open = run.call(ask(800)).unwrap();
    run.end("enough");
    let table = "\
tool         calls        tokens     micro-units    open
ask              1          1200            9000       1
(others)         1             5               0       0
total            2          1205            9000       1
the run is over: enough
";
    assert_eq!(run.trace().to_string(), table);
}

#[test]
fn ceilings_are_shared_and_changed_only_for_those_who_change_them() {
    let first = Ceilings::new().calls(1).calls_of("search", 5).calls_of("search", 1);
    let second = first.clone().calls(2).calls_of("search", 2);
    let search = || Planned::new("search");
    let (one, two) = (Run::new(&first), Run::new(&second));
    assert_eq!(ended(one.reserve([search(), search()])).allowed(), 1);
    keep(two.reserve([search(), search()]).unwrap());
    assert_eq!(ended(two.call(search())).allowed(), 2);
}
