//! The provider alone: it answers as those do whom it stands for.

use std::time::Duration;

use reqwest::{Response, StatusCode};
use tokio::time::timeout;

use crate::support::{DAYS_100, Provider};

/// Long enough for any machine.
const ENOUGH: Duration = Duration::from_secs(60);

async fn call(provider: &Provider, tokens: u64) -> Response {
    provider.http().post(provider.call(tokens)).send().await.unwrap()
}

fn field<'r>(response: &'r Response, name: &str) -> &'r str {
    response.headers().get(name).unwrap_or_else(|| panic!("no `{name}` in {response:?}")).to_str().unwrap()
}

/// Two of two requests an hour, so that nothing comes back during the test; the third call is refused. A
/// window is of a hundred days, so that none ends in it either.
async fn three_calls(family: &str) -> (Provider, [Response; 3]) {
    let period = if family == "github" { DAYS_100 } else { 3600 };
    let provider =
        Provider::start(&format!("family={family}&requests=2&tokens=10000&period_ms={}", period * 1000));
    let calls = [call(&provider, 1700).await, call(&provider, 0).await, call(&provider, 0).await];
    assert_eq!((provider.count("admitted").await, provider.count("refused").await), (2, 1), "{family}");
    (provider, calls)
}

#[tokio::test]
async fn openai_tells_in_go_durations_when_its_buckets_are_full() {
    let (_provider, [first, _, refused]) = three_calls("openai").await;
    assert_eq!(first.status(), StatusCode::OK);
    assert_eq!(field(&first, "x-ratelimit-limit-requests"), "2");
    assert_eq!(field(&first, "x-ratelimit-remaining-requests"), "1");
    assert_eq!(field(&first, "x-ratelimit-reset-requests"), "30m0s");
    assert_eq!(field(&first, "x-ratelimit-remaining-tokens"), "8300");
    assert_eq!(field(&first, "x-ratelimit-reset-tokens"), "10m12s");
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!((1700..=1800).contains(&field(&refused, "retry-after").parse().unwrap()));
    assert!(refused.text().await.unwrap().contains("rate_limit_exceeded"));
}

#[tokio::test]
async fn azure_tells_in_bare_milliseconds_and_the_renewal_period() {
    let (_provider, [first, _, refused]) = three_calls("azure").await;
    assert_eq!(field(&first, "x-ratelimit-reset-tokens"), "612000");
    assert_eq!(field(&first, "x-ratelimit-renewalperiod-tokens"), "3600");
    assert!((1_700_000..=1_800_000).contains(&field(&refused, "retry-after-ms").parse().unwrap()));
}

#[tokio::test]
async fn anthropic_tells_tokens_to_the_nearest_thousand() {
    let (_provider, [first, _, refused]) = three_calls("anthropic").await;
    assert_eq!(field(&first, "anthropic-ratelimit-requests-remaining"), "1");
    assert_eq!(field(&first, "anthropic-ratelimit-input-tokens-remaining"), "8000");
    assert!(field(&first, "anthropic-ratelimit-input-tokens-reset").ends_with('Z'));
    assert!((1700..=1800).contains(&field(&refused, "retry-after").parse().unwrap()));
}

#[tokio::test]
async fn gemini_tells_in_the_body_of_a_refusal_only() {
    let (_provider, [first, _, refused]) = three_calls("gemini").await;
    assert!(!first.headers().keys().any(|name| name.as_str().contains("ratelimit")));
    assert!(!refused.headers().contains_key("retry-after"));
    assert!(refused.text().await.unwrap().contains("retryDelay"));
}

#[tokio::test]
async fn github_tells_the_end_of_its_window_and_refuses_with_403() {
    let (_provider, [first, _, refused]) = three_calls("github").await;
    assert_eq!(field(&first, "x-ratelimit-remaining"), "1");
    assert_eq!(field(&first, "x-ratelimit-reset").parse::<u64>().unwrap() % DAYS_100, 0);
    assert_eq!(refused.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn the_silent_one_tells_nothing() {
    let (_provider, [_, _, refused]) = three_calls("silent").await;
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(!refused.headers().keys().any(|name| name.as_str().contains("rate") || name == "retry-after"));
    assert_eq!(refused.text().await.unwrap(), "");
}

#[tokio::test]
async fn it_is_told_to_refuse_to_step_and_to_be_exhausted() {
    let provider = Provider::start("requests=100&period_ms=3600000");
    provider.tell("_control?refuse=1&penalty_s=7").await;
    assert_eq!(field(&call(&provider, 0).await, "retry-after"), "7");
    assert_eq!(field(&call(&provider, 0).await, "x-ratelimit-remaining-requests"), "99");
    provider.tell("_control?requests=40").await;
    assert_eq!(field(&call(&provider, 0).await, "x-ratelimit-remaining-requests"), "39");
    provider.tell("_control?mode=exhausted").await;
    assert!(call(&provider, 0).await.text().await.unwrap().contains("insufficient_quota"));
    provider.tell("_control?mode=overloaded").await;
    assert_eq!(call(&provider, 0).await.status(), StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn it_dies_stalls_and_goes_silent_in_the_middle_of_a_stream() {
    let provider = Provider::start("mode=dead");
    assert!(provider.http().post(provider.call(0)).send().await.is_err());
    provider.tell("_control?mode=stall").await;
    let stalled = timeout(Duration::from_millis(100), call(&provider, 0)).await;
    assert!(stalled.is_err());
    provider.tell("_control?mode=serve&pieces=3").await;
    assert!(call(&provider, 5).await.text().await.unwrap().contains("\"total_tokens\":5"));
    provider.tell("_control?silent_after=1").await;
    let mut stream = call(&provider, 5).await;
    assert!(timeout(ENOUGH, stream.chunk()).await.unwrap().unwrap().is_some());
    assert!(timeout(Duration::from_millis(100), stream.chunk()).await.is_err());
}

#[test]
fn it_ends_with_its_parent_or_when_its_time_is_over() {
    let mut orphan = Provider::start("requests=1");
    orphan.leave();
    assert!(orphan.ends());
    assert!(Provider::start("lifetime_s=0").ends());
}
