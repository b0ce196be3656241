//! Recorded and made-up responses with what they say, from `tests/data/header_vectors.json`.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::{Map, Value, json};
use tollgate::upstream::{
    Class, Dimension, IetfDraft, Period, Provider, Pushback, Reader, Reading, Scope, Status, Window,
};

const VECTORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/header_vectors.json");
/// Names another file of the same form.
const OTHER: &str = "TOLLGATE_HEADER_VECTORS";
/// What is written and not read, and what `budget::Shape` reads.
const OF_OTHERS: [&str; 2] = ["emit", "usage"];

#[test]
fn header_vectors() {
    let path = std::env::var(OTHER).unwrap_or(VECTORS.to_string());
    let file: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let (mut failures, mut passed) = (Vec::new(), 0);
    for vector in file["vectors"].as_array().unwrap() {
        let kind = vector["kind"].as_str().unwrap();
        if OF_OTHERS.contains(&kind) {
            continue;
        }
        match check(kind, vector) {
            Ok(()) => passed += 1,
            Err(why) => failures.push(format!("{}: {why}", vector["id"])),
        }
    }
    assert!(failures.is_empty(), "{} of {path}:\n{}", failures.len(), failures.join("\n"));
    assert!(passed > 0 && (path != VECTORS || passed == 155), "{passed} vectors were read");
}

fn check(kind: &str, vector: &Value) -> Result<(), String> {
    let expected = &vector["expect"];
    match kind {
        "go_duration" => same(&go_duration(text(&vector["input"])), expected),
        "proto_duration" => same(&proto_duration(text(&vector["input"])), expected),
        "retry_after" => same(&retry_after(&read(vector)), expected),
        "headers" => {
            let detected = fields(&read_by(Reader::new(), vector), expected);
            let by_name = ["groq", "none"].contains(&text(&vector["provider"]));
            if by_name { Ok(()) } else { detected.map_err(|why| format!("provider not stated: {why}")) }?;
            fields(&read(vector), expected)
        }
        "ietf" => ietf(vector),
        "body" => body(vector),
        "grpc_pushback" => same(&pushback(text(&vector["value"])), expected),
        _ => Err(format!("an unknown kind `{kind}`")),
    }
}

fn same(found: &Value, expected: &Value) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{found}, expected {expected}")) }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn micros(span: Duration) -> Value {
    json!(u64::try_from(span.as_nanos().div_ceil(1_000)).unwrap())
}

fn headers(pairs: &Value) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for pair in pairs.as_array().unwrap() {
        let name: HeaderName = text(&pair[0]).parse().unwrap();
        headers.append(name, HeaderValue::from_bytes(text(&pair[1]).as_bytes()).unwrap());
    }
    headers
}

fn now(vector: &Value) -> SystemTime {
    let seconds = |now: &str| now.parse::<jiff::Timestamp>().unwrap().as_second();
    let seconds = vector["now"].as_str().map_or(0, seconds);
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.try_into().unwrap())
}

fn read(vector: &Value) -> Reading<'static> {
    read_by(provider(vector).map_or(Reader::new(), Reader::of), vector)
}

fn read_by(reader: Reader, vector: &Value) -> Reading<'static> {
    let headers = Box::leak(Box::new(headers(&vector["headers"])));
    let status = StatusCode::from_u16(vector["status"].as_u64().unwrap_or(200) as u16).unwrap();
    reader.read(status, headers, now(vector))
}

fn provider(vector: &Value) -> Option<Provider> {
    Some(match vector["provider"].as_str()? {
        "openai" => Provider::OpenAi,
        "azure" => Provider::Azure,
        "anthropic" => Provider::Anthropic,
        "google" | "gemini" => Provider::Google,
        "groq" => Provider::Groq,
        "mistral" => Provider::Mistral,
        "cohere" => Provider::Cohere,
        "together" => Provider::Together,
        "openrouter" => Provider::OpenRouter,
        "cerebras" => Provider::Cerebras,
        "bedrock" => Provider::Bedrock,
        "github" => Provider::GitHub,
        "shopify" => Provider::Shopify,
        "twitter" => Provider::X,
        "discord" => Provider::Discord,
        "envoy" => Provider::Envoy,
        "generic" | "legacy-ratelimit" | "replicate" => Provider::Generic,
        _ => return None,
    })
}

/// As the reset of OpenAI's that it is.
fn go_duration(input: &str) -> Value {
    let headers = headers(&json!([["x-ratelimit-reset-requests", input]]));
    let reading = Reader::of(Provider::OpenAi).read(StatusCode::OK, &headers, SystemTime::UNIX_EPOCH);
    reading.windows().first().map_or(Value::Null, |window| micros(window.reset.unwrap().span()))
}

/// As the delay of Google's that it is.
fn proto_duration(input: &str) -> Value {
    let body = json!({"error": {"details": [{"retryDelay": input}]}}).to_string();
    let headers = HeaderMap::new();
    let reading = Reader::new().read(StatusCode::TOO_MANY_REQUESTS, &headers, SystemTime::UNIX_EPOCH);
    retry_after(&reading.with_body(body.as_bytes()))
}

fn retry_after(reading: &Reading<'_>) -> Value {
    reading.retry_after().map_or(Value::Null, |asked| micros(asked.wait))
}

fn pushback(value: &str) -> Value {
    match Pushback::parse(value) {
        Pushback::After(delay) => json!({"retry": true, "delay_us": micros(delay)}),
        Pushback::Never => json!({"retry": false}),
    }
}

/// Everything that a vector may expect of header fields, in its form.
fn fields(reading: &Reading<'_>, expected: &Value) -> Result<(), String> {
    let malformed: BTreeSet<_> = reading.malformed().iter().map(HeaderName::as_str).collect();
    let mut found = json!({
        "windows": windows(reading),
        "retry_after_us": retry_after(reading),
        "malformed": malformed,
    });
    for (name, value) in [
        ("scope", reading.scope().map(|scope| json!(scope_name(scope)))),
        ("global", reading.is_global().map(|is_global| json!(is_global))),
        ("query_cost", reading.query_cost().map(|cost| json!(cost))),
        ("policies", Some(json!(policies_of_draft_03(reading))).filter(|it| *it != json!([]))),
    ] {
        value.into_iter().for_each(|value| found[name] = value);
    }
    let mut expected = expected.clone();
    let sorted: BTreeSet<_> = expected["malformed"].as_array().unwrap().iter().map(text).collect();
    expected["malformed"] = json!(sorted);
    // The file's own reader rounds such numbers differently in the last place.
    for side in [&mut found, &mut expected] {
        for window in side["windows"].as_object_mut().unwrap().values_mut() {
            if let Some(share) = window.get("utilization").and_then(Value::as_f64) {
                window["utilization"] = json!(format!("{share:.12}"));
            }
        }
    }
    same(&found, &expected)
}

fn windows(reading: &Reading<'_>) -> Value {
    let named = reading.windows().iter().map(|window| (name(reading, window), figures(reading, window)));
    Value::Object(named.collect())
}

fn figures(reading: &Reading<'_>, window: &Window) -> Value {
    let mut figures = Map::new();
    let span = match window.period {
        Some(Period::Span(span)) => Some(json!(span.as_secs())),
        _ => None,
    };
    let status = window.status.map(|status| match status {
        Status::Allowed => "allowed",
        Status::AllowedWarning => "allowed_warning",
        Status::Rejected => "rejected",
        _ => "unknown",
    });
    for (name, value) in [
        ("limit", window.limit.map(|limit| json!(limit))),
        ("remaining", window.remaining.map(|remaining| json!(remaining))),
        ("reset_us", window.reset.map(|reset| micros(reset.span()))),
        ("window_s", span),
        ("utilization", window.utilization.map(|share| json!(share))),
        ("status", status.map(|status| json!(status))),
        ("bucket", reading.bucket().map(|bucket| json!(bucket))),
        ("resource", reading.resource().map(|resource| json!(resource))),
    ] {
        value.into_iter().for_each(|value| drop(figures.insert(name.to_string(), value)));
    }
    Value::Object(figures)
}

/// The vectors' name of a window. Where one provider has several of one dimension, the period is part of it.
fn name(reading: &Reading<'_>, window: &Window) -> String {
    let dimension = match window.dimension {
        Dimension::Requests if reading.provider() == Some(Provider::Cohere) => "monthly_calls",
        Dimension::Requests => "requests",
        Dimension::Tokens => "tokens",
        Dimension::InputTokens => "input_tokens",
        Dimension::OutputTokens => "output_tokens",
        Dimension::ProjectTokens => "project_tokens",
        Dimension::InputImages => "input_images",
        Dimension::PriorityInputTokens => "priority_input_tokens",
        Dimension::PriorityOutputTokens => "priority_output_tokens",
        Dimension::FastInputTokens => "fast_input_tokens",
        Dimension::FastOutputTokens => "fast_output_tokens",
        Dimension::Unified5h => "unified_5h",
        Dimension::Unified7d => "unified_7d",
        Dimension::UnifiedOverage => "unified_overage",
        Dimension::TrialCalls => "trial_endpoint_calls",
        other => return format!("{other:?}"),
    };
    let by_period = [Some(Provider::Mistral), Some(Provider::Cerebras)].contains(&reading.provider());
    let period = match window.period.filter(|_| by_period) {
        Some(Period::Month) => "_per_month".to_string(),
        Some(Period::Span(span)) => match span.as_secs() {
            1 => "_per_second".to_string(),
            60 => "_per_minute".to_string(),
            3_600 => "_per_hour".to_string(),
            86_400 => "_per_day".to_string(),
            seconds if seconds % 60 == 0 => format!("_per_{}_minute", seconds / 60),
            seconds => format!("_per_{seconds}_second"),
        },
        _ => String::new(),
    };
    format!("{dimension}{period}")
}

fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::User => "user",
        Scope::Global => "global",
        Scope::Shared => "shared",
        _ => "unknown",
    }
}

fn policies_of_draft_03(reading: &Reading<'_>) -> Vec<Value> {
    let policy = |policy: &tollgate::upstream::Policy| {
        let mut found = json!({"limit": policy.quota});
        policy.window.into_iter().for_each(|window| found["window_s"] = json!(window.as_secs()));
        policy.name.iter().for_each(|name| found["name"] = json!(name));
        found
    };
    reading.policies().iter().map(policy).collect()
}

fn ietf(vector: &Value) -> Result<(), String> {
    let draft = match text(&vector["mode"]) {
        "lenient" => IetfDraft::UpTo10,
        _ => IetfDraft::From11,
    };
    let reading = read_by(Reader::new().with_draft(draft), vector);
    let policies: Vec<_> = reading
        .policies()
        .iter()
        .map(|policy| {
            let mut found = json!({"name": policy.name, "q": policy.quota});
            policy.window.into_iter().for_each(|window| found["w"] = json!(window.as_secs()));
            policy.unit.iter().for_each(|unit| found["qu"] = json!(unit));
            policy.partition_key.iter().for_each(|key| found["pk_hex"] = json!(hex(key)));
            found
        })
        .collect();
    let limits: Vec<_> = reading.windows().iter().map(limit).collect();
    let or_null = |list: Vec<Value>| if list.is_empty() { Value::Null } else { json!(list) };
    let ignored: Vec<_> = reading.malformed().iter().map(HeaderName::as_str).collect();
    let found = json!({"policies": or_null(policies), "limits": or_null(limits), "ignored": ignored});
    same(&found, &vector["expect"])
}

fn limit(window: &Window) -> Value {
    let mut found = json!({"name": window.name, "r": window.remaining});
    window.reset.into_iter().for_each(|reset| found["t"] = json!(reset.span().as_secs()));
    window.partition_key.iter().for_each(|key| found["pk_hex"] = json!(hex(key)));
    found
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bodies: only what the vector names is compared, for a body may say more.
fn body(vector: &Value) -> Result<(), String> {
    let body = match &vector["body"] {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    let reading = read(vector).with_body(body.as_bytes());
    let class = match reading.class() {
        Some(Class::RateLimit) => "rate_limit",
        Some(Class::QuotaTerminal) => "quota_terminal",
        Some(Class::Overloaded) => "overloaded",
        _ => "unknown",
    };
    let found = json!({
        "class": class,
        "retry_after_us": retry_after(&reading),
        "windows": windows(&reading),
        "global": reading.is_global(),
    });
    for (name, expected) in vector["expect"].as_object().unwrap() {
        same(&found[name], expected).map_err(|why| format!("{name}: {why}"))?;
    }
    Ok(())
}
