//! One of two upstreams dies and comes back; calls move on to the other, within a budget of retries.
//!
//!     cargo run --example failover --features upstream
//!
//! Time is simulated, so that the program need not sleep: with a mirror that has no clock of its own, sleep where this one
//! advances the clock.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::{HeaderMap, StatusCode};
use tollgate::upstream::{
    Cost, Dimension, Hops, Mirror, NoRoute, Reader, Retry, RetryBudget, RetryPolicy, Router, Tries,
};
use tollgate::{Clock, Manual, quota};

const CALLS_A_SECOND: u32 = 100;

/// Seconds in which the preferred upstream is dead.
const DEAD: std::ops::Range<u64> = 3..8;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let clock = Arc::new(Manual::new());
    let mirror =
        || Mirror::builder().limit(Dimension::Requests, quota!("300/s")).clock(Arc::clone(&clock)).build();
    let router =
        Router::builder().upstream(mirror()?).upstream(mirror()?).ramp(Duration::from_secs(5)).build()?;
    // All calls share the budget.
    let budget = RetryBudget::default();
    let policy = RetryPolicy::new().budget(budget.clone());

    println!("second   preferred   other   failed hops   retry tokens");
    for second in 0..18 {
        let (mut served, mut failed_hops) = ([0, 0], 0);
        for _ in 0..CALLS_A_SECOND {
            let (upstream, hops) = call(&router, &policy, &clock);
            served[upstream] += 1;
            failed_hops += hops - 1;
            clock.advance(Duration::from_secs(1) / CALLS_A_SECOND);
        }
        let ([preferred, other], tokens) = (served, budget.available());
        println!("{second:6}   {preferred:9}   {other:5}   {failed_hops:11}   {tokens:12}");
    }
    Ok(())
}

/// One call: where it was served, and in how many hops. Moving on is a retry too, and costs what any other does.
fn call(router: &Router<Arc<Manual>>, policy: &RetryPolicy, clock: &Manual) -> (usize, usize) {
    let (mut tries, mut hops) = (Tries::new(), router.hops(&Cost::requests(1)));
    loop {
        match next_status(&mut hops, clock) {
            Ok((upstream, status)) if status.is_success() => {
                policy.succeeded(&mut tries);
                return (upstream, hops.tried().len());
            }
            // There may be another one that takes it at once, so nobody waits.
            Ok((_, status)) => {
                let headers = HeaderMap::new();
                let reading = Reader::new().read(status, &headers, SystemTime::now());
                let retry = policy.decide(&reading, &mut tries);
                assert!(matches!(retry, Retry::After(_)), "the budget lasts: {retry:?}");
            }
            Err(NoRoute::NotYet { wait, .. }) => clock.advance(wait),
            Err(other) => panic!("{other}"),
        }
    }
}

/// Sends the call to the next upstream. The router hears what became of it.
fn next_status(hops: &mut Hops<Arc<Manual>>, clock: &Manual) -> Result<(usize, StatusCode), NoRoute> {
    let hop = hops.try_next()?;
    let (upstream, status) = (hop.upstream(), respond(hop.upstream(), clock));
    let headers = HeaderMap::new();
    hop.answered(&Reader::new().read(status, &headers, SystemTime::now()));
    Ok((upstream, status))
}

/// Stands for the HTTP client.
fn respond(upstream: usize, clock: &Manual) -> StatusCode {
    let second = clock.now().as_duration().as_secs();
    if upstream == 0 && DEAD.contains(&second) { StatusCode::BAD_GATEWAY } else { StatusCode::OK }
}
