//! A throttle around reqwest. The upstream is a process of this program that behaves like OpenAI and allows 5 calls at once
//! and 5 a second, which the configuration below does not know.
//!
//! `cargo run -p tollgate-provider --example throttle`

use std::env;
use std::error::Error;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Response;
use tollgate::quota;
use tollgate::upstream::{Cost, Dimension, Heard, Mirror, Throttle};
use tollgate::wait::TokioTimer;

#[tokio::main(flavor = "current_thread")]
async fn calls(url: &str) -> Result<(), Box<dyn Error>> {
    // What the provider's page says, or a guess. Every answer corrects it.
    let mirror = Mirror::builder().limit(Dimension::Requests, quota!("100/s")).build()?;
    let throttle = Throttle::new(mirror, TokioTimer);
    let client = reqwest::Client::new();
    let start = Instant::now();
    for number in 1..=12 {
        let (response, heard) = throttle.run(&Cost::requests(1), || send(&client, url)).await?;
        println!("{number:>2} after {:>4} ms: {}", start.elapsed().as_millis(), response.status());
        match heard {
            // The throttle waits as long as it was told, or as the figures say; the call may be tried again.
            Heard::RetryAfter(_) | Heard::Limited(_) => println!("   refused: {heard:?}"),
            Heard::Terminal(_) => return Err("the quota is used up".into()),
            _ => {}
        }
    }
    // For a streamed body or a usage record, take the two halves: `admit`, and then `answered_with`.
    let cost = Cost::requests(1);
    let call = throttle.admit_within(&cost, Duration::from_secs(5)).await?;
    let response = send(&client, url).await?;
    let heard = call.answered_with(response.status(), response.headers(), response.body(), &cost);
    println!("13 after {:>4} ms: {heard:?}", start.elapsed().as_millis());
    Ok(())
}

/// The throttle reads status, headers and body as the crate `http` has them; so does reqwest.
async fn send(client: &reqwest::Client, url: &str) -> reqwest::Result<Response<Bytes>> {
    let response = client.post(url).body("{}").send().await?;
    let (status, headers) = (response.status(), response.headers().clone());
    let mut whole = Response::new(response.bytes().await?);
    (*whole.status_mut(), *whole.headers_mut()) = (status, headers);
    Ok(whole)
}

fn main() -> Result<(), Box<dyn Error>> {
    if env::args().nth(1).as_deref() == Some("provider") {
        let mut settings = tollgate_provider::Settings::default();
        settings.set_all("family=openai&requests=5&period_ms=1000&latency_ms=10")?;
        return Ok(tollgate_provider::run(settings)?);
    }
    let (mut provider, url) = provider()?;
    let done = calls(&url);
    drop(provider.stdin.take());
    provider.wait()?;
    done
}

fn provider() -> Result<(Child, String), Box<dyn Error>> {
    let mut process = Command::new(env::current_exe()?)
        .arg("provider")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut port = String::new();
    BufReader::new(process.stdout.take().ok_or("no output")?).read_line(&mut port)?;
    Ok((process, format!("http://127.0.0.1:{}/v1/chat", port.trim())))
}
