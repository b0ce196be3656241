//! What it costs to read what an upstream says: `cargo bench -p tollgate-bench --bench reading`.
//!
//! Each set of header fields is read a thousand times in a row; the median of such rounds is told, and held to a microsecond for
//! the sets that are typical. That reading them allocates nothing is a test's business. Exit code 1 if one takes longer.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Instant, SystemTime};

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use tollgate::upstream::Reader;
use tollgate_bench::machine::Machine;
use tollgate_bench::{start, thread};

const ROUNDS: usize = 201;
const READS: u32 = 1_000;
const LIMIT_NANOS: f64 = 1_000.0;

type Fields = &'static [(&'static str, &'static str)];

/// What stands around the fields in any response.
const COMMON: Fields = &[
    ("date", "Tue, 13 May 2025 14:20:00 GMT"),
    ("content-type", "application/json"),
    ("content-length", "1834"),
    ("connection", "keep-alive"),
    ("server", "cloudflare"),
    ("x-request-id", "req_0123456789abcdef"),
    ("strict-transport-security", "max-age=31536000; includeSubDomains; preload"),
];

const OPENAI: Fields = &[
    ("x-ratelimit-limit-requests", "10000"),
    ("x-ratelimit-limit-tokens", "150000"),
    ("x-ratelimit-remaining-requests", "9999"),
    ("x-ratelimit-remaining-tokens", "149984"),
    ("x-ratelimit-reset-requests", "6ms"),
    ("x-ratelimit-reset-tokens", "6ms"),
];

const ANTHROPIC: Fields = &[
    ("anthropic-ratelimit-requests-limit", "4000"),
    ("anthropic-ratelimit-requests-remaining", "3999"),
    ("anthropic-ratelimit-requests-reset", "2025-05-13T14:20:00Z"),
    ("anthropic-ratelimit-input-tokens-limit", "400000"),
    ("anthropic-ratelimit-input-tokens-remaining", "399000"),
    ("anthropic-ratelimit-input-tokens-reset", "2025-05-13T14:20:01Z"),
    ("anthropic-ratelimit-output-tokens-limit", "80000"),
    ("anthropic-ratelimit-output-tokens-remaining", "80000"),
    ("anthropic-ratelimit-output-tokens-reset", "2025-05-13T14:20:00Z"),
];

const GITHUB: Fields = &[
    ("x-ratelimit-limit", "5000"),
    ("x-ratelimit-remaining", "4987"),
    ("x-ratelimit-used", "13"),
    ("x-ratelimit-reset", "1747149600"),
    ("x-ratelimit-resource", "core"),
];

const IETF: Fields = &[
    ("ratelimit-policy", "\"burst\";q=100;w=60,\"daily\";q=1000;w=86400"),
    ("ratelimit", "\"burst\";r=50;t=30,\"daily\";r=900;t=36000"),
];

fn main() -> ExitCode {
    let Some(smoke) = start::is_smoke() else { return ExitCode::SUCCESS };
    thread::pin_to(0);
    println!("{}\n\n{:<12}{:>9}", Machine::here(), "fields", "ns");
    let (rounds, mut holds) = (if smoke { 3 } else { ROUNDS }, true);
    // The structured fields are parsed into memory, and have no bar.
    for (name, fields, has_a_bar) in [
        ("OpenAI", OPENAI, true),
        ("Anthropic", ANTHROPIC, true),
        ("GitHub", GITHUB, true),
        ("IETF", IETF, false),
    ] {
        let nanos = median(rounds, &headers(fields));
        println!("{name:<12}{nanos:>9.0}");
        holds &= !has_a_bar || nanos < LIMIT_NANOS;
    }
    println!("\nbelow {LIMIT_NANOS} ns: {}", if holds { "PASS" } else { "FAIL" });
    if holds || smoke { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Nanoseconds of one read.
fn median(rounds: usize, headers: &HeaderMap) -> f64 {
    let now = SystemTime::now();
    let mut all: Vec<f64> = (0..rounds)
        .map(|_| {
            let begin = Instant::now();
            for _ in 0..READS {
                let reading = Reader::new().read(StatusCode::OK, black_box(headers), now);
                assert!(!black_box(&reading).windows().is_empty());
            }
            begin.elapsed().as_nanos() as f64 / f64::from(READS)
        })
        .collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn headers(fields: Fields) -> HeaderMap {
    let all = COMMON.iter().chain(fields);
    all.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
}
