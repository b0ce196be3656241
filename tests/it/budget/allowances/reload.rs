//! Reloads: nothing is refilled, what stays keeps what it holds, what is new starts, what is gone ends.

use std::time::Duration;

use proptest::prelude::*;
use tollgate::budget::allowances::{Holdings, NotAdmitted};

use super::{SEARCH, allowances, config, refused_by, set, there};
use crate::support::{S, at};

fn calls(name: &str, rate: &str) -> String {
    format!(
        "[allowance.{name}]\nunit = \"calls\"\nrate = \"{rate}\"\n[tool.{name}]\nuses = {{ {name} = 1 }}\n"
    )
}

#[test]
fn what_stays_keeps_its_tokens_and_its_debts() {
    let allowances = allowances(SEARCH);
    let early = allowances.call("search").by("batch").estimate(100_000).try_acquire().unwrap();
    let faster = SEARCH.replace("300k/min burst 450k", "600k/min burst 900k");
    allowances.reload(config(&faster));
    let names = ["openai", "search-team", "nightly", "openai-calls", "browsers"];
    assert_eq!(there(&allowances, names), [350_000, 35_000, 13_500, 299, 3]);
    early.settle(240_000);
    assert_eq!(there(&allowances, names), [210_000, 0, 13_500, 299, 4]);
    allowances.reload(config(SEARCH));
    assert_eq!(there(&allowances, names), [210_000, 0, 13_500, 299, 4]);
    let refused = allowances.call("search").by("batch").estimate(1_500).try_acquire().unwrap_err();
    // 105 000 are owed, and 1500 a second are issued.
    assert_eq!((refused.allowance(), refused.wait()), (Some("search-team"), Some(Duration::from_secs(71))));
}

#[test]
fn a_lower_limit_in_flight_takes_nothing_back_and_admits_nothing_until_there_is_room() {
    let file = |limit| {
        format!("[allowance.a]\nunit = \"permits\"\nin-flight = {limit}\n[tool.t]\nuses = {{ a = 1 }}\n")
    };
    let allowances = allowances(&file(3));
    let mut held: Vec<_> = (0..3).map(|_| allowances.call("t").try_acquire().unwrap()).collect();
    allowances.reload(config(&file(1)));
    for _ in 0..3 {
        assert_eq!(refused_by(allowances.call("t").try_acquire()), "a");
        held.pop();
    }
    assert!(allowances.call("t").try_acquire().is_ok());
    allowances.reload(config(&file(2)));
    assert_eq!(there(&allowances, ["a"]), [2]);
}

#[test]
fn what_is_new_starts_and_what_is_gone_ends() {
    let allowances = allowances(&calls("old", "10/s"));
    let early = allowances.call("old").try_acquire().unwrap();
    allowances.reload(config(&(calls("new", "10/s holding 3") + &calls("other", "5/s"))));
    assert_eq!(there(&allowances, ["new", "other"]), [3, 5]);
    assert_eq!(allowances.available("old"), None);
    let refused = allowances.call("old").try_acquire().unwrap_err();
    assert_eq!(refused, NotAdmitted::UnknownTool { tool: "old".into() });
    early.release();
    assert_eq!(there(&allowances, ["new", "other"]), [3, 5], "it was admitted by what is gone");
}

#[test]
fn another_unit_is_another_allowance() {
    let allowances = allowances(&calls("plan", "10/s"));
    drop(allowances.call("plan").try_acquire().unwrap());
    let tokens =
        "[allowance.plan]\nunit = \"tokens\"\nrate = \"10/s\"\n[tool.plan]\nuses = { plan = \"tokens\" }\n";
    let changes = allowances.reload(config(tokens));
    assert_eq!(changes.iter().next().unwrap().held, Holdings::Starts);
    assert_eq!(there(&allowances, ["plan"]), [10]);
}

/// What was issued since may be what is there now, so a reading from before a change buys nothing.
#[test]
fn nothing_is_admitted_at_a_reading_from_before_the_change() {
    let allowances = allowances(&calls("a", "1000/s burst 1000"));
    for _ in 0..1000 {
        drop(allowances.call("a").try_acquire().unwrap());
    }
    set(&allowances, S);
    allowances.reload(config(&calls("a", "1/day burst 1000")));
    let refused = allowances.call("a").try_acquire_at(at(S - 1)).unwrap_err();
    assert_eq!((refused.allowance(), refused.wait()), (Some("a"), Some(Duration::from_nanos(1))));
    assert!(allowances.call("a").try_acquire_at(at(S)).is_ok());
}

#[test]
fn a_preview_tells_what_a_reload_would_change_and_for_whom() {
    let allowances = allowances(SEARCH);
    let new = SEARCH
        .replace("300k/min burst 450k", "200k/min")
        .replace("[allowance.openai-calls]\nunit = \"calls\"\nrate = \"300/min\"\n", "")
        .replace("openai-calls = 1, browsers = 1", "browsers = 2, pages = 1")
        .replace(", openai-calls = 1", "")
        .replace("within = [\"nightly\"]", "within = [\"search-team\"]")
        + "[allowance.pages]\nunit = \"calls\"\nrate = \"9/s\"\n";
    let told = allowances.preview(&config(&new));
    let expected = "\
what                    before                                      after                                       held    for whom
allowance.openai        tokens 300k/min burst 450k                  tokens 200k/min                             kept    tools search, summary; callers batch, night
allowance.search-team   tokens 90k/min burst 135k (30% of openai)   tokens 60k/min (30% of openai)              kept    callers batch, night
allowance.nightly       tokens 9k/min burst 13500 (10% of search-team)  tokens 6k/min (10% of search-team)      kept    caller night
";
    let words = |text: &str| {
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
    };
    assert_eq!(words(&told.to_string())[..4], words(expected));
    assert_eq!(
        words(&told.to_string())[4..],
        [
            "allowance.pages - calls 9/s starts tool search",
            "allowance.openai-calls calls 300/min - ends tools search, summary",
            "tool.search openai: estimate, openai-calls: 1, browsers: 1 openai: estimate, browsers: 2, pages: 1 - tool search",
            "tool.summary openai: estimate or 2000, openai-calls: 1 openai: estimate or 2000 - tool summary",
            "caller.night within nightly; uses - within search-team; uses - - caller night",
        ]
    );
    assert_eq!(there(&allowances, ["openai", "browsers"]), [450_000, 4], "nothing has changed");
    assert_eq!(allowances.reload(config(&new)), told, "a reload tells the same");
    assert!(allowances.preview(&config(&new)).is_empty());
}

/// A file of any allowances, shares, tools and callers.
fn files() -> impl Strategy<Value = String> {
    let rates =
        prop::sample::select(vec!["7/s", "100/min burst 30", "10G/s", "5 per 1.5s empty", "3k/day burst 9M"]);
    let wholes = prop::collection::vec((rates, any::<bool>(), 1..=50_u32), 1..6);
    wholes.prop_map(|wholes| {
        let mut text = String::new();
        for (place, (rate, is_tokens, share)) in wholes.into_iter().enumerate() {
            let (unit, amount) = if is_tokens { ("tokens", "\"2 tokens\"") } else { ("calls", "1") };
            text += &format!("[allowance.w{place}]\nunit = \"{unit}\"\nrate = \"{rate}\"\n");
            text += &format!("[allowance.s{place}]\nshare-of = \"w{place}\"\nshare = \"{}%\"\n", share + 50);
            text += &format!("[allowance.p{place}]\nunit = \"permits\"\nin-flight = {share}\n");
            text += &format!("[tool.t{place}]\nuses = {{ w{place} = {amount}, p{place} = 1 }}\n");
            text += &format!("[caller.c{place}]\nwithin = [\"s{place}\"]\nuses = {{ p{place} = 1 }}\n");
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Reloading the file in force changes nothing: not what is there, not what is held, not what is still to come.
    #[test]
    fn the_same_file_changes_nothing(
        text in files(),
        asks in prop::collection::vec((0..6_usize, 0..6_usize, 0..3 * S), 0..20),
    ) {
        let (left, right) = (allowances(&text), allowances(&text));
        let (mut held, mut now) = (Vec::new(), 0);
        for (tool, caller, gap) in asks {
            let changes = left.reload(config(&text));
            prop_assert!(changes.is_empty(), "{changes}");
            prop_assert_eq!(left.to_string(), right.to_string());
            now += gap;
            let (tool, caller) = (format!("t{tool}"), format!("c{caller}"));
            let ask = |side| {
                set(side, now);
                side.call(&tool).by(&caller).try_acquire()
            };
            match (ask(&left), ask(&right)) {
                (Ok(one), Ok(other)) => held.push((one, other)),
                (one, other) => prop_assert_eq!(one.err(), other.err()),
            }
            if held.len() > 3 {
                let (one, other) = held.remove(1);
                prop_assert_eq!(one.settle(1), other.settle(1));
            }
        }
        prop_assert_eq!(left.to_string(), right.to_string());
    }
}
