//! What clients are told: C98 to C102.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use axum::routing::get;
use tollgate::http::{Fields, Policy, Refusal};
use tollgate::tower::LimitLayer;
use tollgate::{Bucket, Denied, Manual, Quota, quota};

use crate::support::{Server, number, refused};

/// Admits by a bucket, and writes its fields into every response.
fn told(bucket: Bucket<Manual>, policy: Policy) -> Router {
    let (bucket, policy) = (Arc::new(bucket), Arc::new(policy));
    let fields = Fields::new().with_x_ratelimit();
    let admit = {
        let bucket = Arc::clone(&bucket);
        move |request: &mut Request| {
            bucket.try_acquire()?;
            request.extensions_mut().insert(bucket.peek());
            Ok::<(), Denied>(())
        }
    };
    let handler = {
        let policy = Arc::clone(&policy);
        move |request: Request| {
            let policy = Arc::clone(&policy);
            async move {
                let level = request.extensions().get::<tollgate::Level>().unwrap();
                let mut response = Response::new(Body::from("hello"));
                fields.admitted(&[policy.at(level)], response.headers_mut());
                response
            }
        }
    };
    let refuse = move |_: &Request, denied: Denied| -> Response {
        Refusal::from(denied).by(policy.at(&bucket.peek())).response(&fields)
    };
    Router::new().route("/", get(handler)).layer(LimitLayer::new(admit, refuse))
}

async fn answers(quota: Quota, requests: usize) -> Vec<reqwest::Response> {
    let bucket = Bucket::with_clock(quota, Manual::new());
    let server = Server::axum(told(bucket, Policy::of("p", &quota).unwrap())).await;
    let mut answers = Vec::new();
    for _ in 0..requests {
        answers.push(server.get(&[]).await);
    }
    answers
}

#[tokio::test]
async fn c98_a_refusal_never_says_zero() {
    for (quota, seconds) in [
        (quota!("5/s burst 1"), 1),
        (quota!("1/s"), 1),
        (quota!("1/1000000001ns"), 2),
        (quota!("1/59880239521ns"), 60),
    ] {
        let answers = answers(quota, 2).await;
        assert_eq!(
            (answers[1].status().as_u16(), number(answers[1].headers(), "retry-after")),
            (429, seconds)
        );
    }
}

#[tokio::test]
async fn c99_and_c100_what_is_told_of_the_next_the_whole_and_the_rest() {
    let answers_of_six = answers(quota!("3600/h burst 6"), 7).await;
    let last = answers_of_six[6].headers();
    let figures = ["retry-after", "x-ratelimit-reset", "x-ratelimit-remaining", "x-ratelimit-limit"];
    assert_eq!(figures.map(|name| number(last, name)), [1, 6, 0, 6]);
    assert_eq!(last["content-type"], "application/problem+json");

    let answers_of_three = answers(quota!("3/10s"), 5).await;
    let remaining: Vec<_> =
        answers_of_three.iter().map(|answer| number(answer.headers(), "x-ratelimit-remaining")).collect();
    assert_eq!(remaining, [2, 1, 0, 0, 0]);
    assert_eq!(answers_of_three[0].headers()["ratelimit"], "\"p\";r=2;t=4");
    assert_eq!(answers_of_three[4].headers()["ratelimit"], "\"p\";r=0;t=4");
}

/// Two layers; the fields are of the one that refused.
#[tokio::test]
async fn c101_a_refusal_tells_of_the_limit_that_refused() {
    let (passing, refusing) = (quota!("5/s burst 116"), quota!("1/3000s"));
    let outer = Arc::new(Bucket::with_clock(passing, Manual::new()));
    let policy = Policy::of("passing", &passing).unwrap();
    let refuse = {
        let outer = Arc::clone(&outer);
        move |_: &Request, denied: Denied| -> Response {
            Refusal::from(denied).by(policy.at(&outer.peek())).response(&Fields::new())
        }
    };
    let inner = told(Bucket::with_clock(refusing, Manual::new()), Policy::of("refusing", &refusing).unwrap());
    let server = Server::axum(inner.layer(LimitLayer::by(Arc::clone(&outer), refuse))).await;
    assert_eq!(server.status(&[]).await, 200);
    let answer = server.get(&[]).await;
    let figures = ["x-ratelimit-remaining", "x-ratelimit-reset", "retry-after"];
    assert_eq!(figures.map(|name| number(answer.headers(), name)), [0, 3000, 3000]);
    assert_eq!(answer.headers()["ratelimit"], "\"refusing\";r=0;t=3000");
    let problem: serde_json::Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
    assert_eq!(problem["violated-policies"], serde_json::json!(["refusing"]));
}

/// A client that waits as long as it is told, on the limiter's clock, is admitted.
#[tokio::test]
async fn c102_who_waits_as_told_is_admitted() {
    for quota in [quota!("3/10s"), quota!("7/s burst 2"), quota!("1/90s"), quota!("100/min burst 3")] {
        let bucket = Arc::new(Bucket::with_clock(quota, Manual::new()));
        let layer = LimitLayer::by(Arc::clone(&bucket), |_: &Request, denied: Denied| refused(denied));
        let server = Server::axum(Router::new().route("/", get(async || "hello")).layer(layer)).await;
        for _ in 0..3 {
            // The clock stands still, so that is all there is.
            for _ in 0..bucket.peek().available() {
                assert_eq!(server.status(&[]).await, 200, "{quota}");
            }
            let answer = server.get(&[]).await;
            assert_eq!(answer.status(), 429, "{quota}");
            let wait = number(answer.headers(), "retry-after");
            assert!(wait >= 1);
            bucket.clock().advance(Duration::from_secs(wait));
            assert_eq!(server.status(&[]).await, 200, "{quota}");
        }
    }
}
