//! An agent's loop that does what tool results say.

use std::time::Duration;

use serde_json::Value;
use tollgate::budget::{Ceilings, NoCall, Planned, Run};
use tollgate::http::{Refusal, ToolResult};
use tollgate::{Bucket, Manual, quota};

/// A tool that searches: at most so often, so much at once, and so many times in a run.
struct Search {
    limit: Bucket<Manual>,
    run: Run,
}

impl Search {
    /// The search costs as many tokens as it has words.
    fn call(&self, query: &str) -> Result<String, ToolResult> {
        let words = query.split_whitespace().count() as u64;
        let refused = |no: NoCall| Refusal::from(no).tool_result();
        let call = self.run.call(Planned::new("search")).map_err(refused)?;
        if let Err(denied) = self.limit.try_acquire_n(words) {
            call.release();
            return Err(Refusal::from(denied).named("search").tool_result());
        }
        call.keep();
        Ok(format!("found {query}"))
    }
}

/// Waits as long as it is told, halves what is too large, and ends when it is told to; by the JSON alone.
fn agent(search: &Search, queries: &[&str]) -> (Vec<String>, Vec<Value>) {
    let (mut found, mut refused) = (Vec::new(), Vec::new());
    let mut open: Vec<_> = queries.iter().rev().map(|query| query.to_string()).collect();
    while let Some(query) = open.pop() {
        assert!(refused.len() < 100, "it goes on for ever: {refused:?}");
        let result = match search.call(&query) {
            Ok(result) => {
                found.push(result);
                continue;
            }
            Err(refusal) => refusal.into_json(),
        };
        match result["outcome"].as_str().unwrap() {
            "try_later" => {
                assert_eq!(result["retry"], true);
                search
                    .limit
                    .clock()
                    .advance(Duration::from_secs(result["retry_after_seconds"].as_u64().unwrap()));
                open.push(query);
            }
            "never_fits" => {
                let words: Vec<_> = query.split_whitespace().collect();
                let (left, right) = words.split_at(result["most"].as_u64().unwrap() as usize);
                open.push(right.join(" "));
                open.push(left.join(" "));
            }
            outcome => {
                assert_eq!((outcome, &result["retry"]), ("run_ended", &Value::Bool(false)));
                open.clear();
            }
        }
        refused.push(result);
    }
    (found, refused)
}

#[test]
fn it_waits_makes_smaller_and_completes() {
    let limit = Bucket::with_clock(quota!("1/s burst 3"), Manual::new());
    let search = Search { limit, run: Run::new(&Ceilings::new().calls(10)) };
    let (found, refused) = agent(&search, &["one", "one two three", "one two three four"]);
    assert_eq!(found, ["found one", "found one two three", "found one two three", "found four"]);
    let outcomes: Vec<_> = refused.iter().map(|refused| refused["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["try_later", "never_fits", "try_later", "try_later"]);
    let waits: Vec<_> =
        refused.iter().filter_map(|refused| refused["retry_after_seconds"].as_u64()).collect();
    assert_eq!(waits, [1, 3, 1], "no wait is longer than it must be");
}

#[test]
fn it_stops_when_the_run_is_over() {
    let limit = Bucket::with_clock(quota!("100/s"), Manual::new());
    let search = Search { limit, run: Run::new(&Ceilings::new().calls_of("search", 2)) };
    let (found, refused) = agent(&search, &["a", "b", "c", "d"]);
    assert_eq!((found.len(), refused.len()), (2, 1), "nothing is asked after the end");
    assert_eq!(
        (&refused[0]["tool"], &refused[0]["used"], &refused[0]["allowed"]),
        (&"search".into(), &2.into(), &2.into())
    );
}

#[test]
fn the_three_texts_cannot_be_taken_for_each_other() {
    let limit = Bucket::with_clock(quota!("1/min burst 3"), Manual::new());
    let search = Search { limit, run: Run::new(&Ceilings::new().calls(1)) };
    let sentence = |refused: ToolResult| refused.sentence().to_string();
    let never = sentence(search.call("a b c d").unwrap_err());
    search.limit.try_acquire_n(3).unwrap();
    let later = sentence(search.call("a").unwrap_err());
    search.limit.reset();
    search.call("a").unwrap();
    let ended = Refusal::from(search.run.call(Planned::new("search")).unwrap_err());
    assert_eq!(
        later,
        "Not now: the limit `search` is used up. Wait 60 seconds, then make the same call again."
    );
    assert_eq!(
        never,
        "Too large: this call costs 4 and the limit `search` admits at most 3 at once, however long you \
         wait. Do not repeat it; make it smaller."
    );
    assert_eq!(
        ended.tool_result().sentence(),
        "Stop: the run is over: 1 of 1 calls used, 1 more asked for. Make no more calls; finish with what \
         you have."
    );
    assert_eq!((ended.status().as_u16(), ended.retry_after()), (403, None));
    assert_eq!(ended.grpc().code(), 8);
}

/// Calls that are open hold what is left: that may change, and nobody knows when.
#[test]
fn what_open_calls_hold_is_asked_for_later() {
    let run = Run::new(&Ceilings::new().calls(1));
    let open = run.call(Planned::new("search")).unwrap();
    let result = Refusal::from(run.call(Planned::new("search")).unwrap_err()).tool_result();
    assert_eq!((&result.json()["outcome"], &result.json()["retry"]), (&"try_later".into(), &true.into()));
    assert!(result.json().get("retry_after_seconds").is_none());
    assert_eq!(
        result.sentence(),
        "Not now: a limit has too much in flight. Wait a little, then make the same call again."
    );
    open.release();
}
