//! Runs beside shared allowances.

use std::time::Duration;
use tollgate::budget::{AllOf, Budget, Call, Ceilings, Demand, NoCall, Planned, Reason, Run, acquire_all};
use tollgate::{Bucket, Denied, Manual};

use super::{ask, spent};
use crate::budget::{available, budget};
use crate::support::{S, bucket, quota};

fn left(bucket: &Bucket<Manual>) -> u64 {
    bucket.peek().available()
}

/// Must-show 6: the shared allowance never refuses, the run does, and others go on.
#[test]
fn one_run_that_repeats_itself_ends_and_its_siblings_do_not() {
    let shared = bucket(quota(1_000_000, S, 1_000_000));
    let top = Run::new(&Ceilings::new());
    let ceilings = Ceilings::new().calls_of("list_files", 25).calls(500);
    let (looping, sibling) = (top.child(&ceilings), top.child(&ceilings));
    let once = |run: &Run, tool: &str| {
        let call = run.calling(tool);
        let limits = AllOf::new(["run", "credential"], (&call, &shared));
        limits
            .try_acquire([40, 1])
            .map(|(call, _)| call.settle(30, 2))
            .map_err(|refused| (refused.name(), refused.reason()))
    };
    let answers: Vec<_> = (0..2_000).map(|_| once(&looping, "list_files")).collect();
    let (made, refused) = answers.split_at(25);
    assert!(made.iter().all(Result::is_ok));
    let end = looping.ended().unwrap();
    assert_eq!((end.tool(), end.used(), end.allowed(), end.levels_up()), (Some("list_files"), 25, 25, 0));
    assert!(refused.iter().all(|answer| *answer == Err(("run", Reason::Ended(end)))), "and nothing else");
    assert_eq!(once(&looping, "read_file"), Err(("run", Reason::Ended(end))));
    let trace = looping.trace();
    assert_eq!((trace.used, trace.of("list_files").unwrap().used), (spent(25, 750, 50), spent(25, 750, 50)));
    assert_eq!((trace.tools.len(), trace.ended), (1, Some(end)));
    assert_eq!(left(&shared), 1_000_000 - 25, "what the run refuses costs nothing");
    // The sibling has its own ceilings, and the run above both goes on.
    assert!((0..25).all(|_| once(&sibling, "list_files").is_ok()));
    assert!(!sibling.is_over() && !top.is_over());
    assert_eq!((once(&top, "list_files"), top.spent()), (Ok(()), spent(51, 1_530, 102)));
}

/// Must-show 6: each tool is below its own ceiling, and the credential that they share refuses.
#[test]
fn three_tools_on_one_credential_are_refused_at_the_credentials() {
    let credential = bucket(quota(1, S, 30));
    let run = Run::new(&Ceilings::new().calls_per_tool(20));
    let tools = ["search", "read", "write"];
    for round in 0..13 {
        for tool in tools {
            let call = run.calling(tool);
            let answer = AllOf::new(["run", "credential"], (&call, &credential)).try_acquire([1, 1]);
            if round < 10 {
                answer.unwrap().0.settle(1, 0);
                continue;
            }
            let refused = answer.map(|_| ()).unwrap_err();
            assert_eq!(
                (refused.name(), refused.wait(), refused.ended()),
                ("credential", Some(Duration::from_secs(1)), None)
            );
        }
    }
    let trace = run.trace();
    assert!(tools.iter().all(|tool| trace.of(tool).unwrap().used.calls == 10), "{trace}");
    assert_eq!((trace.open, trace.ended), (spent(0, 0, 0), None));
    credential.clock().advance(Duration::from_secs(3));
    assert!(
        AllOf::new(["run", "credential"], (&run.calling("read"), &credential)).try_acquire([1, 1]).is_ok()
    );
}

#[test]
fn a_refusal_tells_the_end_from_what_may_be_asked_again() {
    let tokens = budget(1, S, 100);
    let run = Run::new(&Ceilings::new().tokens(90));
    let call = run.calling("ask");
    let limits = AllOf::new(["tokens", "run"], (&tokens, &call));
    let (reservation, open) = limits.try_acquire([60, 60]).unwrap();
    // Later; once a call is settled; smaller; not at all.
    let refused = limits.try_acquire([41, 30]).unwrap_err();
    assert_eq!(
        (refused.name(), refused.wait(), refused.ended()),
        ("tokens", Some(Duration::from_secs(1)), None)
    );
    let refused = limits.try_acquire([1, 31]).unwrap_err();
    assert!(matches!(refused.reason(), Reason::Reserved(reserved) if reserved.used() == 60));
    assert_eq!((refused.name(), refused.wait(), refused.ended()), ("run", Some(Duration::ZERO), None));
    let refused = limits.try_acquire([101, 1]).unwrap_err();
    assert_eq!((refused.name(), refused.wait(), refused.ended()), ("tokens", None, None));
    assert_eq!((available(&tokens), run.left().tokens, run.is_over()), (40, 30, false));
    let refused = limits.try_acquire([101, 91]).unwrap_err();
    assert_eq!((refused.name(), refused.wait(), refused.retry_after()), ("run", None, None));
    assert_eq!(refused.ended(), run.ended());
    assert_eq!(
        refused.to_string(),
        "refused by `run`: the run is over: 0 of 90 tokens used, 91 more asked for"
    );
    assert!(run.is_over());
    open.settle(20, 0);
    assert_eq!(reservation.settle(20).unwrap().given_back, 40);
    assert_eq!((available(&tokens), run.spent().tokens), (80, 20));
}

#[test]
fn what_another_refuses_is_given_back_in_every_run_of_the_line() {
    let top = Run::new(&Ceilings::new().calls(5));
    let run = top.child(&Ceilings::new().tokens(100));
    let shared = Flaky { inner: bucket(quota(1, S, 1)) };
    let call = run.calling("ask").spend(3);
    for _ in 0..10 {
        let refused =
            AllOf::new(["run", "flaky"], (&call, &shared)).try_acquire([100, 1]).map(|_| ()).unwrap_err();
        assert_eq!(refused.name(), "flaky");
    }
    assert_eq!((top.left().calls, run.left(), run.spent()), (5, spent(5, 100, u64::MAX), spent(0, 0, 0)));
}

/// It would admit, and when it is asked it does not, as one that another call has overtaken.
struct Flaky {
    inner: Bucket<Manual>,
}

impl tollgate::budget::Limit for Flaky {
    type Held<'a> = tollgate::Charge<'a, Manual>;

    fn reading(&self, _: &mut tollgate::budget::CallTime) -> tollgate::budget::Reading {
        None
    }

    fn look(&self, _: u64, _: tollgate::budget::Reading) -> Result<(), Reason> {
        Ok(())
    }

    fn take(&self, _: u64, _: tollgate::budget::Reading) -> Result<Self::Held<'_>, Reason> {
        self.inner.try_charge(2).map_err(Reason::Denied)
    }

    fn undo(&self, held: Self::Held<'_>) {
        held.undo();
    }
}

#[test]
fn a_fan_out_and_what_all_share_are_admitted_together() {
    let requests = bucket(quota(1, S, 5));
    let run = Run::new(&Ceilings::new().calls_of("fetch", 4));
    let pages = [Planned::new("fetch").tokens(10); 5];
    let fan_out = run.fan_out(&pages);
    let ask = |calls| AllOf::new(["run", "requests"], (&fan_out, &requests)).try_acquire([calls, calls]);
    let (calls, _) = ask(3).unwrap();
    assert_eq!((calls.len(), run.trace().open, left(&requests)), (3, spent(3, 30, 0), 2));
    let refused = ask(2).unwrap_err();
    assert!(matches!(refused.reason(), Reason::Reserved(reserved) if reserved.asked() == 2));
    for (calls, reason) in [(0, Denied::ZeroCost), (6, Denied::OverCapacity { cost: 6, capacity: 5 })] {
        let refused =
            AllOf::new(["run", "requests"], (&fan_out, &requests)).try_acquire([calls, 1]).unwrap_err();
        assert_eq!(refused.reason(), Reason::Denied(reason));
    }
    calls.into_iter().for_each(Call::release);
    assert_eq!((run.trace().open, left(&requests)), (spent(0, 0, 0), 2));
    let (calls, _) = ask(2).unwrap();
    drop(calls);
    assert_eq!((ask(1).unwrap_err().name(), run.spent()), ("requests", spent(2, 20, 0)));
    assert_eq!(
        ask(3).unwrap_err().ended().and_then(|ended| ended.tool().map(String::from)),
        Some("fetch".into())
    );
}

#[test]
fn a_list_may_have_a_run_among_its_limits() {
    let (requests, run) = (bucket(quota(1, S, 5)), Run::new(&Ceilings::new().tokens(100)));
    let tokens: Budget<Manual> = budget(1, S, 1_000);
    let call = run.calling("ask").spend(9);
    let demands = |tokens_asked| {
        [
            Demand { name: "run", limit: &call, cost: tokens_asked },
            Demand { name: "requests", limit: &requests, cost: 1 },
            Demand { name: "tokens", limit: &tokens, cost: tokens_asked },
        ]
    };
    let mut settled = Vec::new();
    for grant in acquire_all(&demands(80)).unwrap() {
        settled.push(grant.settle(30).map(Result::unwrap));
    }
    let run_settled = settled[0].unwrap();
    assert_eq!((run_settled.charged, run_settled.given_back, run_settled.overrun), (30, 50, 0));
    assert_eq!((run.spent(), available(&tokens)), (spent(1, 30, 9), 970));
    let refused = acquire_all(&demands(71)).map(drop).unwrap_err();
    assert_eq!((refused.name(), refused.ended()), ("run", run.ended()));
    assert!(refused.ended().is_some());
    assert!(matches!(run.call(ask(0)), Err(NoCall::Ended(_))));
}
