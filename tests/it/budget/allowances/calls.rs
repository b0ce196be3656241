//! A call asks once: all or none, the allowance that refuses is named, shares are consumed with their whole.

use std::time::Duration;

use proptest::prelude::*;
use tollgate::budget::allowances::NotAdmitted;

use super::{SEARCH, allowances, refused_by, set, there};
use crate::support::S;

const ALL: [&str; 5] = ["openai", "search-team", "nightly", "openai-calls", "browsers"];

#[test]
fn a_call_consumes_what_its_tool_uses_and_what_its_caller_is_within() {
    let allowances = allowances(SEARCH);
    let anyone = allowances.call("search").estimate(1_000).try_acquire().unwrap();
    assert_eq!(there(&allowances, ALL), [449_000, 135_000, 13_500, 299, 3]);
    assert_eq!(anyone.allowances().collect::<Vec<_>>(), ["openai", "openai-calls", "browsers"]);
    let batch = allowances.call("search").by("batch").estimate(1_000).try_acquire().unwrap();
    assert_eq!(there(&allowances, ALL), [448_000, 134_000, 13_500, 298, 2]);
    let night = allowances.call("search").by("night").estimate(1_000).try_acquire().unwrap();
    assert_eq!(there(&allowances, ALL), [447_000, 133_000, 12_500, 297, 1]);
    // Tokens come back as far as they were not used, permits come back, calls do not.
    let settled = night.settle(400);
    let told: Vec<_> = settled.iter().map(|one| (&*one.allowance, one.settled.unwrap().given_back)).collect();
    assert_eq!(told, [("openai", 600), ("nightly", 600), ("search-team", 600)]);
    assert_eq!(there(&allowances, ALL), [447_600, 133_600, 13_100, 297, 2]);
    batch.release();
    assert_eq!(
        there(&allowances, ALL),
        [448_600, 134_600, 13_100, 298, 3],
        "never made: the call comes back"
    );
    drop(anyone);
    assert_eq!(
        there(&allowances, ALL),
        [448_600, 134_600, 13_100, 298, 4],
        "not settled: the estimate stays"
    );
}

/// Each refuses in turn, is named, and the others are as they were.
#[test]
fn a_refusal_names_the_allowance_and_takes_nothing() {
    let text = r#"
        [allowance.tokens]
        unit = "tokens"
        rate = "100/s burst 1000"
        [allowance.team]
        share-of = "tokens"
        share = "50%"
        [allowance.calls]
        unit = "calls"
        rate = "1/s burst 3"
        [allowance.slots]
        unit = "permits"
        in-flight = 2
        [tool.work]
        uses = { tokens = "tokens", calls = "2 calls", slots = "permit" }
        [tool.tokens]
        uses = { tokens = "tokens" }
        [tool.calls]
        uses = { calls = 1 }
        [tool.slots]
        uses = { slots = 2 }
        [caller.team]
        within = ["team"]
    "#;
    let names = ["tokens", "team", "calls", "slots"];
    let allowances = allowances(text);
    let work = |tokens| allowances.call("work").by("team").estimate(tokens).try_acquire();
    let other = allowances.call("tokens").estimate(700).try_acquire().unwrap();
    assert_eq!(refused_by(work(301)), "tokens");
    other.release();
    let other = allowances.call("tokens").by("team").estimate(400).try_acquire().unwrap();
    assert_eq!(refused_by(work(101)), "team");
    other.release();
    assert_eq!(refused_by(work(501)), "team", "above its capacity");
    let other = [(); 2].map(|()| allowances.call("calls").try_acquire().unwrap());
    let refused = work(1).unwrap_err();
    assert_eq!((refused.allowance(), refused.wait()), (Some("calls"), Some(Duration::from_secs(1))));
    other.into_iter().for_each(|grants| grants.release());
    let other = allowances.call("slots").try_acquire().unwrap();
    assert_eq!(refused_by(work(1)), "slots");
    drop(other);
    assert_eq!(there(&allowances, names), [1000, 500, 3, 2]);
    let _granted = work(500).unwrap();
    assert_eq!(there(&allowances, names), [500, 0, 1, 1]);
}

#[test]
fn the_largest_wait_is_told() {
    let allowances = allowances(SEARCH);
    // 5 calls a second and 5000 tokens a second, of which the team has 1500.
    let _all = allowances.call("search").by("batch").estimate(135_000).try_acquire().unwrap();
    let refused = allowances.call("search").by("batch").estimate(3_000).try_acquire().unwrap_err();
    assert_eq!(refused.to_string(), "refused by `search-team`: not yet: try again in 2s");
    assert_eq!((refused.allowance(), refused.wait()), (Some("search-team"), Some(Duration::from_secs(2))));
    set(&allowances, 2 * S);
    assert!(allowances.call("search").by("batch").estimate(3_000).try_acquire().is_ok());
}

/// Must-show 6, second part.
#[test]
fn three_tools_below_their_own_limits_are_refused_at_the_credential() {
    let mut text = "[allowance.credential]\nunit = \"calls\"\nrate = \"100/min\"\n".to_owned();
    for tool in ["search", "fetch", "summary"] {
        text += &format!("[allowance.{tool}]\nunit = \"calls\"\nrate = \"60/min\"\n");
        text += &format!("[tool.{tool}]\nuses = {{ {tool} = 1, credential = 1 }}\n");
    }
    let allowances = allowances(&text);
    let call = |tool| allowances.call(tool).try_acquire();
    for _ in 0..33 {
        for tool in ["search", "fetch", "summary"] {
            assert!(call(tool).is_ok());
        }
    }
    assert!(call("search").is_ok());
    for tool in ["search", "fetch", "summary"] {
        assert_eq!(refused_by(call(tool)), "credential");
    }
    assert_eq!(there(&allowances, ["search", "fetch", "summary", "credential"]), [26, 27, 27, 0]);
}

#[test]
fn what_is_reached_in_several_ways_is_consumed_once_at_the_largest_amount() {
    let text = r#"
        [allowance.plan]
        unit = "calls"
        rate = "100/s"
        [allowance.one]
        share-of = "plan"
        share = "50%"
        [allowance.two]
        share-of = "plan"
        share = "50%"
        [tool.search]
        uses = { plan = 1, one = 2 }
        [caller.batch]
        uses = { two = 3 }
        within = ["one"]
    "#;
    let allowances = allowances(text);
    drop(allowances.call("search").try_acquire().unwrap());
    assert_eq!(there(&allowances, ["plan", "one", "two"]), [98, 48, 50]);
    drop(allowances.call("search").by("batch").try_acquire().unwrap());
    assert_eq!(there(&allowances, ["plan", "one", "two"]), [95, 45, 47]);
}

/// Input and output tokens are apart; the file assumes what the call does not state.
#[test]
fn estimates_and_figures_are_for_each_allowance() {
    let text = r#"
        [allowance.input]
        unit = "tokens"
        rate = "1000/s"
        [allowance.input-team]
        share-of = "input"
        share = "50%"
        [allowance.output]
        unit = "tokens"
        rate = "1000/s burst 400"
        [allowance.calls]
        unit = "calls"
        rate = "9/s"
        [tool.ask]
        uses = { input = "tokens", output = "500 tokens", calls = "call" }
        [caller."*"]
        within = ["input-team"]
    "#;
    let names = ["input", "input-team", "output", "calls"];
    let allowances = allowances(text);
    let refused = allowances.call("ask").try_acquire().unwrap_err();
    assert_eq!(refused, NotAdmitted::NoEstimate { allowance: "input".into() });
    let refused = allowances.call("ask").estimate_of("calls", 1).try_acquire().unwrap_err();
    assert_eq!(refused, NotAdmitted::NotConsumed { allowance: "calls".into() });
    let refused = allowances.call("asks").estimate(1).try_acquire().unwrap_err();
    assert_eq!(refused, NotAdmitted::UnknownTool { tool: "asks".into() });
    assert_eq!(refused.wait(), None);
    assert_eq!(there(&allowances, names), [1000, 500, 400, 9]);

    let mut call = allowances.call("ask").by("anyone").estimate_of("input", 300).try_acquire().unwrap();
    assert_eq!(there(&allowances, names), [700, 200, 0, 8], "an assumed estimate is cut to the capacity");
    call.observe_by(|whole| (whole == "input").then_some(350));
    assert_eq!(there(&allowances, names), [650, 150, 0, 8]);
    call.settle_by(|whole| (whole == "input").then_some(320));
    assert_eq!(there(&allowances, names), [680, 180, 0, 8], "without a figure the charge stays");

    let call = || allowances.call("ask").estimate_of("input-team", 10).estimate(20).try_acquire();
    assert_eq!(refused_by(call()), "output");
    set(&allowances, S);
    call().unwrap().settle(15);
    assert_eq!(there(&allowances, names), [985, 485, 385, 8], "a call costs one, of nine");
}

proptest! {
    /// Where every call is within a share, shares that are the whole together are guarantees.
    #[test]
    fn shares_are_guarantees_where_every_call_is_within_one(
        steps in prop::collection::vec((0..3_usize, 1..=40_u64, 0..80_u64, 0..S / 2), 1..120),
        parts in prop::sample::select(vec![["50%", "30%", "20%"], ["33.3333%", "33.3333%", "33.3334%"], ["98%", "1%", "1%"]]),
    ) {
        let mut text = "[allowance.whole]\nunit = \"tokens\"\nrate = \"97/s burst 211\"\n".to_owned();
        for (name, part) in ["a", "b", "c"].into_iter().zip(parts) {
            text += &format!("[allowance.{name}]\nshare-of = \"whole\"\nshare = \"{part}\"\n");
            text += &format!("[caller.{name}]\nwithin = [\"{name}\"]\n");
        }
        let allowances = allowances(&(text + "[tool.t]\nuses = { whole = \"tokens\" }\n"));
        let (mut now, mut open) = (0, Vec::new());
        for (caller, tokens, actual, gap) in steps {
            now += gap;
            set(&allowances, now);
            match allowances.call("t").by(["a", "b", "c"][caller]).estimate(tokens).try_acquire() {
                // What overruns is owed by the whole, and that is at the cost of the others.
                Ok(grants) => open.push((grants, actual.min(tokens))),
                refused => prop_assert_ne!(refused_by(refused), "whole"),
            }
            if open.len() > 4 {
                let (grants, actual) = open.swap_remove(now as usize % open.len());
                grants.settle(actual);
            }
        }
    }
}
