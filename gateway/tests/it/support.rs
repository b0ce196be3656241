//! A running gateway.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

/// The settings that the package comes with.
pub(crate) const SETTINGS: &str = include_str!("../../gateway.toml");
pub(crate) const ALLOWANCES: &str = include_str!("../../allowances.toml");

/// A gateway and its local providers, as processes. They end with this.
pub(crate) struct Gateway {
    process: Child,
    pub(crate) url: String,
    /// Of the providers.
    pub(crate) upstreams: Vec<String>,
    pub(crate) client: Client,
    _files: TempDir,
}

impl Gateway {
    pub(crate) fn start() -> Self {
        Self::with(SETTINGS, ALLOWANCES)
    }

    pub(crate) fn with(settings: &str, allowances: &str) -> Self {
        let files = tempfile::tempdir().unwrap();
        let mut process = command(&files, settings, allowances).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let (mut url, mut upstreams) = (None, Vec::new());
        for line in output.lines().map(Result::unwrap) {
            let mut words = line.split_whitespace();
            match words.next() {
                Some("status") => url = words.next().map(|url| url.trim_end_matches('/').to_owned()),
                Some("upstream") => upstreams.extend(words.nth(1).map(str::to_owned)),
                Some("load") => break,
                _ => {}
            }
        }
        let url = url.expect("it has started");
        Self { process, url, upstreams, client: Client::new(), _files: files }
    }

    /// What it says where it does not start with these settings and upstreams.
    pub(crate) fn fails(settings: &str, allowances: &str, upstreams: &[&str]) -> String {
        let files = tempfile::tempdir().unwrap();
        let mut command = command(&files, settings, allowances);
        command.args(upstreams.iter().flat_map(|url| ["--upstream", url]));
        let mut process = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let start = Instant::now();
        while process.try_wait().unwrap().is_none() && start.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(10));
        }
        // If it has started.
        let _ = process.kill();
        let output = process.wait_with_output().unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    }

    /// A call of a tenant's, whose answer has so many tokens.
    pub(crate) fn call(&self, tenant: &str, output: u64) -> RequestBuilder {
        let body = json!({
            "model": "small",
            "stream": true,
            "messages": [{ "role": "user", "content": "What is a token bucket?" }],
            "metadata": { "output_tokens": output.to_string() },
        });
        let call = self.client.post(format!("{}/v1/chat/completions", self.url));
        call.bearer_auth(format!("{tenant}-key")).body(body.to_string())
    }

    pub(crate) async fn status(&self) -> Value {
        json_of(self.client.get(format!("{}/status.json", self.url))).await
    }

    /// Tells a provider, on the side of its operator.
    pub(crate) async fn tell(&self, upstream: usize, told: &str) -> Value {
        json_of(self.client.get(format!("{}/{told}", self.upstreams[upstream]))).await
    }

    /// Waits until the status is so.
    pub(crate) async fn until(&self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            let status = self.status().await;
            if is_so(&status) {
                return status;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "not {what}: {status:#}");
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until nothing is under way, and whatever was taken is back.
    pub(crate) async fn until_full(&self) -> Value {
        self.until("full", is_full).await
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // It may have ended by itself. Its providers end when it is gone.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A gateway on a free port, with these settings.
fn command(files: &TempDir, settings: &str, allowances: &str) -> Command {
    std::fs::write(files.path().join("allowances.toml"), allowances).unwrap();
    let path = files.path().join("gateway.toml");
    std::fs::write(&path, settings).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate-gateway"));
    command.args(["--listen", "127.0.0.1:0", "--settings"]).arg(path);
    command
}

/// The entry of that name in a list of the status.
pub(crate) fn named<'s>(status: &'s Value, list: &str, name: &str) -> &'s Value {
    let found = status[list].as_array().unwrap().iter().find(|entry| entry["name"] == name);
    found.unwrap_or_else(|| panic!("no {list} {name}: {status:#}"))
}

fn is_full(status: &Value) -> bool {
    let all = |list: &str, pairs: &[(&str, &str)], zeros: &[&str]| {
        let entries = status[list].as_array().unwrap();
        assert!(!entries.is_empty(), "{list}");
        entries.iter().all(|entry| {
            pairs
                .iter()
                .all(|(level, limit)| entry[level].as_u64().unwrap() == entry[limit].as_u64().unwrap())
                && zeros.iter().all(|zero| entry[zero] == 0)
        })
    };
    all("tenants", &[("held", "burst")], &["in_flight", "debt"])
        && all("allowances", &[("available", "limit")], &["in_flight", "debt"])
        && all("upstreams", &[("tokens", "tokens_limit"), ("requests", "requests_limit")], &["in_flight"])
        && status["tokens"]["available"] == status["tokens"]["limit"]
        && status["batch"]["waiting"] == 0
}

async fn json_of(request: RequestBuilder) -> Value {
    let response = request.send().await.unwrap();
    assert!(response.status().is_success(), "{}", response.text().await.unwrap());
    serde_json::from_slice(&response.bytes().await.unwrap()).unwrap()
}

/// Settings and allowances with which hardly anything is refilled, so that nothing hides what was not given
/// back.
pub(crate) fn still() -> (String, String) {
    let settings = SETTINGS
        .replace("96k/s burst 96k", "9k/day burst 96k")
        .replace("period_ms=2000", "period_ms=864000000")
        .replace("90/s burst 180", "180/240h")
        .replace("55k/s burst 110k", "110k/240h");
    let allowances = ALLOWANCES
        .replace("12M/min burst 12M", "1k/day burst 12M")
        .replace("6M/min burst 6M", "1k/day burst 2000")
        .replace("10k/min burst 1000", "1/day burst 1000");
    (settings, allowances)
}
