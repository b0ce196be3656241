//! Each family end to end: a throttle around reqwest, whose configured limits are far too high on purpose.

use bytes::Bytes;
use http::Response;
use tollgate::Quota;
use tollgate::upstream::{
    Class, Cost, Dimension, Heard, Mirror, NotSent, Reader, Refused, RunError, Throttle,
};
use tollgate::wait::TokioTimer;

use crate::support::{DAYS_100, Provider};

/// Those whose every answer tells what is left.
const TELL: [&str; 4] = ["openai", "azure", "anthropic", "github"];

/// So long that nothing comes back during a test. A window is of a hundred days, so that none ends in it
/// either.
fn period(family: &str) -> u64 {
    if family == "github" { DAYS_100 } else { 3600 }
}

fn provider(family: &str, limits: &str) -> Provider {
    Provider::start(&format!("family={family}&period_ms={}&{limits}", period(family) * 1000))
}

/// A thousand times what the provider allows.
fn throttle(family: &str) -> Throttle<TokioTimer> {
    let quota = |tokens| Quota::new(tokens, std::time::Duration::from_secs(period(family))).unwrap();
    let mirror = Mirror::builder()
        .limit(Dimension::Requests, quota(5_000))
        .limit(Dimension::Tokens, quota(10_000_000))
        .limit(Dimension::InputTokens, quota(10_000_000));
    Throttle::new(mirror.build().unwrap(), TokioTimer).with_reader(Reader::new())
}

async fn send(provider: &Provider, tokens: u64) -> reqwest::Result<Response<Bytes>> {
    let response = provider.http().post(provider.call(tokens)).send().await?;
    let (status, headers) = (response.status(), response.headers().clone());
    let mut whole = Response::new(response.bytes().await?);
    (*whole.status_mut(), *whole.headers_mut()) = (status, headers);
    Ok(whole)
}

/// What was heard, or why nothing was sent. Nobody waits here.
async fn call(provider: &Provider, throttle: &Throttle<TokioTimer>, cost: &Cost) -> Result<Heard, NotSent> {
    let call = throttle.try_admit(cost)?;
    let tokens = cost.amount(Dimension::Tokens) + cost.amount(Dimension::InputTokens);
    let response = send(provider, tokens).await.unwrap();
    Ok(call.answered(response.status(), response.headers(), response.body()))
}

async fn counts(provider: &Provider) -> (u64, u64) {
    (provider.count("admitted").await, provider.count("refused").await)
}

#[tokio::test]
async fn the_first_answer_corrects_a_limit_on_requests_so_that_none_is_refused() {
    for family in TELL {
        let (provider, throttle) = (provider(family, "requests=5"), throttle(family));
        for _ in 0..5 {
            let heard = call(&provider, &throttle, &Cost::requests(1)).await;
            assert_eq!(heard, Ok(Heard::Fine), "{family}");
        }
        let refused = call(&provider, &throttle, &Cost::requests(1)).await.unwrap_err();
        let dimension = Dimension::Requests;
        assert!(
            matches!(refused, NotSent::Refused(Refused::NotYet { dimension: of, .. }) if of == dimension),
            "{family}: {refused:?}"
        );
        assert_eq!(counts(&provider).await, (5, 0), "{family}");
    }
}

#[tokio::test]
async fn the_first_answer_corrects_a_limit_on_tokens_so_that_none_is_refused() {
    // Anthropic rounds to the nearest thousand, so up to 500 of what it tells may not be there.
    for (family, dimension, least) in [
        ("openai", Dimension::Tokens, 5),
        ("azure", Dimension::Tokens, 5),
        ("anthropic", Dimension::InputTokens, 4),
    ] {
        let (provider, throttle) = (provider(family, "requests=100&tokens=10000"), throttle(family));
        let cost = Cost::requests(1).with(dimension, 1700);
        while let Ok(heard) = call(&provider, &throttle, &cost).await {
            assert_eq!(heard, Heard::Fine, "{family}");
        }
        let (admitted, refused) = counts(&provider).await;
        assert!(admitted >= least && refused == 0, "{family}: {admitted}, {refused}");
        assert!(throttle.try_admit(&Cost::requests(1)).is_ok(), "{family}: it has requests, but no tokens");
    }
}

#[tokio::test]
async fn a_refusal_that_asks_to_wait_pauses_all_callers() {
    for family in ["openai", "azure", "anthropic", "github"] {
        let (provider, throttle) = (provider(family, "requests=5&refuse=1&penalty_s=600"), throttle(family));
        let (other, third) = (throttle.clone(), throttle.clone());
        let heard = call(&provider, &throttle, &Cost::requests(1)).await.unwrap();
        let Heard::RetryAfter(wait) = heard else { panic!("{family}: {heard:?}") };
        assert_eq!(wait.as_secs(), 600, "{family}");
        for throttle in [&throttle, &other, &third] {
            let refused = call(&provider, throttle, &Cost::requests(1)).await.unwrap_err();
            assert!(matches!(refused, NotSent::Refused(Refused::Paused { .. })), "{family}: {refused:?}");
        }
        assert_eq!(counts(&provider).await, (0, 1), "{family}");
    }
}

#[tokio::test]
async fn gemini_pauses_by_its_body_and_the_silent_one_only_says_no() {
    let (gemini, throttle) = (provider("gemini", "requests=2"), throttle("gemini"));
    for _ in 0..2 {
        assert_eq!(call(&gemini, &throttle, &Cost::requests(1)).await, Ok(Heard::Fine));
    }
    let heard = call(&gemini, &throttle, &Cost::requests(1)).await.unwrap();
    assert!(matches!(heard, Heard::RetryAfter(wait) if (1700..=1801).contains(&wait.as_secs())), "{heard:?}");
    assert!(throttle.try_admit(&Cost::requests(1)).is_err());
    assert_eq!(counts(&gemini).await, (2, 1));

    let (silent, throttle) = (provider("silent", "requests=1"), self::throttle("silent"));
    assert_eq!(call(&silent, &throttle, &Cost::requests(1)).await, Ok(Heard::Fine));
    assert_eq!(call(&silent, &throttle, &Cost::requests(1)).await, Ok(Heard::Limited(None)));
}

#[tokio::test]
async fn a_quota_that_is_used_up_closes_the_throttle() {
    for family in ["openai", "azure", "anthropic", "gemini"] {
        let (provider, throttle) = (provider(family, "requests=5&mode=exhausted"), throttle(family));
        let closed = Refused::Terminal(Class::QuotaTerminal);
        let heard = call(&provider, &throttle, &Cost::requests(1)).await;
        assert_eq!(heard, Ok(Heard::Terminal(Class::QuotaTerminal)), "{family}");
        assert_eq!(
            throttle.admit(&Cost::requests(1)).await.unwrap_err(),
            NotSent::Refused(closed),
            "{family}"
        );
        assert_eq!(provider.count("failed").await, 1, "{family}");
        provider.tell("_control?mode=serve").await;
        throttle.mirror().reopen();
        assert_eq!(call(&provider, &throttle, &Cost::requests(1)).await, Ok(Heard::Fine), "{family}");
    }
}

#[tokio::test]
async fn an_overloaded_upstream_is_told_from_a_limit() {
    for family in ["openai", "anthropic"] {
        let (provider, throttle) = (provider(family, "mode=overloaded"), throttle(family));
        assert_eq!(call(&provider, &throttle, &Cost::requests(1)).await, Ok(Heard::Overloaded), "{family}");
    }
}

#[tokio::test]
async fn a_call_whose_answer_never_comes_stays_charged() {
    let (provider, throttle) = (provider("openai", "mode=dead"), throttle("openai"));
    let left = || throttle.mirror().level(Dimension::Requests).unwrap().available();
    let failed = throttle.run(&Cost::requests(1), || send(&provider, 0)).await;
    assert!(matches!(failed, Err(RunError::Client(_))), "{failed:?}");
    assert_eq!((left(), throttle.mirror().in_flight()), (4_999, 0));

    provider.tell("_control?mode=stall").await;
    let cost = Cost::requests(1);
    let stalled = throttle.run(&cost, || send(&provider, 0));
    assert!(tokio::time::timeout(std::time::Duration::from_millis(50), stalled).await.is_err());
    assert_eq!((left(), throttle.mirror().in_flight()), (4_998, 0));
}

#[tokio::test]
async fn the_head_of_a_stream_corrects_the_limit_before_its_body_ends() {
    let (provider, throttle) = (provider("openai", "requests=5&pieces=3"), throttle("openai"));
    let left = || throttle.mirror().level(Dimension::Requests).unwrap().available();
    let mut call = throttle.try_admit(&Cost::requests(1)).unwrap();
    let mut stream = provider.http().post(provider.call(0)).send().await.unwrap();
    assert_eq!(call.head(stream.status(), stream.headers()), Heard::Fine);
    assert_eq!(left(), 4, "the body is still to come");
    while stream.chunk().await.unwrap().is_some() {}
    call.settled(&Cost::requests(1));
    assert_eq!((left(), throttle.mirror().in_flight()), (4, 0));

    // One that goes silent is given up, and has spent what it was expected to.
    provider.tell("_control?silent_after=1").await;
    let mut call = throttle.try_admit(&Cost::requests(1)).unwrap();
    let mut stream = provider.http().post(provider.call(0)).send().await.unwrap();
    let _heard = call.head(stream.status(), stream.headers());
    assert!(stream.chunk().await.unwrap().is_some());
    let silence = std::time::Duration::from_millis(50);
    assert!(tokio::time::timeout(silence, stream.chunk()).await.is_err());
    drop(call);
    assert_eq!((left(), throttle.mirror().in_flight()), (3, 0));
}

#[tokio::test]
async fn the_usage_that_a_body_reports_settles_what_was_expected() {
    let (provider, throttle) = (provider("silent", "requests=5"), throttle("silent"));
    let call = throttle.try_admit(&Cost::requests(1).with(Dimension::Tokens, 4_000)).unwrap();
    let response = send(&provider, 1_500).await.unwrap();
    let usage: serde_json::Value = serde_json::from_slice(response.body()).unwrap();
    let used = usage["usage"]["total_tokens"].as_u64().unwrap();
    let used = Cost::requests(1).with(Dimension::Tokens, used);
    let heard = call.answered_with(response.status(), response.headers(), response.body(), &used);
    assert_eq!(heard, Heard::Fine);
    let left = throttle.mirror().level(Dimension::Tokens).unwrap();
    assert_eq!(left.available(), 10_000_000 - 1_500);
}
