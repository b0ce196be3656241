//! Tables, and what is listed as unused.

use super::{SEARCH, allowances, config};

#[test]
fn declarations_are_a_table() {
    let expected = "\
allowance     unit     limit                share               used by
openai        tokens   300k/min burst 450k  -                   tools search, summary; callers batch, night
search-team   tokens   90k/min burst 135k   30% of openai       callers batch, night
nightly       tokens   9k/min burst 13500   10% of search-team  caller night
openai-calls  calls    300/min              -                   tools search, summary
browsers      permits  4 in flight          -                   tool search

tool     uses
search   openai: estimate, openai-calls: 1, browsers: 1
summary  openai: estimate or 2000, openai-calls: 1

caller  within       uses
batch   search-team  -
night   nightly      -
";
    assert_eq!(config(SEARCH).to_string(), expected);
}

#[test]
fn what_is_there_now_is_a_column() {
    let allowances = allowances(SEARCH);
    let call = allowances.call("search").by("batch").estimate(1_000).try_acquire().unwrap();
    call.settle(135_001);
    let _held = allowances.call("search").estimate(1).try_acquire().unwrap();
    let told = allowances.to_string();
    let rows: Vec<_> =
        told.lines().take(6).map(|row| row.split("  ").filter(|cell| !cell.is_empty()).nth(3)).collect();
    let cells: Vec<_> = rows.into_iter().map(|cell| cell.unwrap().trim()).collect();
    assert_eq!(cells, ["now", "314998", "-1", "13500", "298", "3"]);
    assert_eq!(told.lines().count(), config(SEARCH).to_string().lines().count());
}

#[test]
fn what_has_no_effect_is_listed() {
    let text = SEARCH.to_owned()
        + r#"
[allowance.plan]
unit = "calls"
rate = "5/s"

[allowance.plan-share]
share-of = "plan"
share = "50%"

[caller.idle]
within = ["search-team", "plan-share"]
"#;
    let unused: Vec<_> = config(&text).unused().map(|unused| unused.to_string()).collect();
    let first = SEARCH.lines().count() + 2;
    assert_eq!(
        unused,
        [
            format!("line {first}, `allowance.plan`: no tool or caller uses it"),
            format!("line {}, `allowance.plan-share`: no tool or caller uses it", first + 4),
            format!(
                "line {}, `caller.idle.within`: it is within a share of something that it never uses",
                first + 8
            ),
        ]
    );
    assert_eq!(config(SEARCH).unused().count(), 0);
    let used = text + "uses = { plan = 1 }\n";
    assert_eq!(config(&used).unused().count(), 0);
}

#[test]
fn an_empty_file_declares_nothing() {
    let empty = allowances("");
    assert_eq!(empty.config().unused().count(), 0);
    assert!(empty.call("search").try_acquire().is_err());
    assert_eq!(empty.to_string(), "allowance  unit  limit  now  share  used by\n\ntool  uses\n");
}
