//! The conversation trace at 20 times its speed, through two providers that enforce their own limits.

use std::path::Path;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use tollgate_gateway::load::{Arrival, Load, Report, callers, made_up, read};

use super::support::Gateway;

const SPEED: f64 = 20.0;

/// What is guaranteed, in tokens a second: shares of 96k.
const GUARANTEED: [(&str, f64); 3] = [("chat", 43_200.0), ("agents", 33_600.0), ("nightly", 19_200.0)];

/// The trace from this moment on, where it is; the repository has none of it.
fn arrivals(from: Duration) -> Vec<Arrival> {
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/azure_llm_2023_conv.csv");
    if trace.exists() {
        return since(from, read(&trace).unwrap());
    }
    eprintln!("SKIP  {} is not there: a made-up trace instead", trace.display());
    made_up()
}

fn since(from: Duration, arrivals: Vec<Arrival>) -> Vec<Arrival> {
    let later = arrivals.into_iter().filter(|arrival| arrival.at >= from);
    later.map(|arrival| Arrival { at: arrival.at - from, ..arrival }).collect()
}

/// Calls that the providers have admitted and refused so far.
async fn answers(gateway: &Gateway) -> (u64, u64) {
    let (mut admitted, mut refused) = (0, 0);
    for upstream in 0..gateway.upstreams.len() {
        let stats = gateway.tell(upstream, "_stats").await;
        admitted += stats["admitted"].as_u64().unwrap();
        refused += stats["refused"].as_u64().unwrap();
    }
    (admitted, refused)
}

async fn replay(from: Duration, seconds: u64) {
    let gateway = Gateway::start();
    let load = Load {
        gateway: gateway.url.clone(),
        arrivals: arrivals(from),
        speed: SPEED,
        length: Duration::from_secs(seconds),
        aborted_percent: 5,
        callers: callers(),
    };
    let start = Instant::now();
    let sent = tokio::spawn(load.run());
    sleep_until(start + Duration::from_secs(1)).await;
    let first_second = answers(&gateway).await;
    let report = sent.await.unwrap().unwrap();
    let took = start.elapsed();
    let all = answers(&gateway).await;
    println!(
        "{report}in {took:?}; upstreams admitted and refused {first_second:?} in the first second, {all:?} in all"
    );
    println!("{:#}", gateway.status().await);

    upstreams_hardly_refuse(first_second, all);
    tenants_get_their_guarantees(&report, seconds);
    let status = gateway.until_full().await;
    let of_tenants = |what| -> u64 {
        status["tenants"].as_array().unwrap().iter().map(|tenant| tenant[what].as_u64().unwrap()).sum()
    };
    let aborted: u64 = report.0.values().map(|tally| tally.aborted).sum();
    assert!(aborted > 0 && of_tenants("cut") > 0, "streams were aborted");
    assert_eq!(report.0.values().map(|tally| tally.broken).sum::<u64>(), 0);
}

/// After the first second, in which nobody knows yet how long answers are, at most one call of a hundred.
fn upstreams_hardly_refuse((admitted_before, refused_before): (u64, u64), (admitted, refused): (u64, u64)) {
    let (admitted, refused) = (admitted - admitted_before, refused - refused_before);
    assert!(admitted > 100, "{admitted}");
    assert!(refused * 100 <= admitted + refused, "{refused} of {}", admitted + refused);
}

/// Who asks for less than is guaranteed gets nearly all of it; who asks for more gets at least that.
fn tenants_get_their_guarantees(report: &Report, seconds: u64) {
    for (name, rate) in GUARANTEED {
        let (tally, guaranteed) = (&report.0[name], rate * seconds as f64);
        let due = guaranteed.min(tally.offered as f64);
        assert!(tally.tokens as f64 >= 0.95 * due, "{name}: {} of {due}", tally.tokens);
    }
    let chat = &report.0["chat"];
    assert!(chat.tokens * 100 >= chat.offered * 99, "{} of {}", chat.tokens, chat.offered);
}

#[tokio::test]
async fn upstreams_hardly_refuse_and_tenants_get_what_is_theirs() {
    // Where twice as much is asked for as there is.
    replay(Duration::from_secs(1500), 4).await;
}

/// A minute of what the test above has seconds of.
#[tokio::test]
#[ignore = "takes more than a minute"]
async fn a_minute_of_the_conversation_trace() {
    // The twenty minutes in which most is asked for.
    replay(Duration::from_secs(900), 60).await;
}
