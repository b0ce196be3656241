//! A provider process for one test.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// A hundred days, in seconds: the length of windows that do not end in a test.
pub(crate) const DAYS_100: u64 = 8_640_000;

/// A running provider. It ends with this, or with the test: its standard input does.
pub(crate) struct Provider {
    process: Child,
    url: String,
    http: reqwest::Client,
}

impl Provider {
    pub(crate) fn start(settings: &str) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_tollgate-provider"))
            .arg("lifetime_s=120")
            .arg(settings)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut port = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut port).unwrap();
        let url = format!("http://127.0.0.1:{}", port.trim());
        Self { process, url, http: reqwest::Client::new() }
    }

    pub(crate) fn http(&self) -> &reqwest::Client {
        &self.http
    }

    /// The address of a call that costs so many tokens.
    pub(crate) fn call(&self, tokens: u64) -> String {
        format!("{}/v1/chat?tokens={tokens}", self.url)
    }

    /// `path?settings` on the side of the operator.
    pub(crate) async fn tell(&self, told: &str) -> Value {
        let response = self.http.get(format!("{}/{told}", self.url)).send().await.unwrap();
        assert!(response.status().is_success(), "{told}: {}", response.text().await.unwrap());
        serde_json::from_slice(&response.bytes().await.unwrap()).unwrap()
    }

    /// One of the counts.
    pub(crate) async fn count(&self, name: &str) -> u64 {
        self.tell("_stats").await[name].as_u64().unwrap_or_else(|| panic!("no count `{name}`"))
    }

    /// Ends its standard input.
    pub(crate) fn leave(&mut self) {
        drop(self.process.stdin.take());
    }

    /// Waits for it to end. Whether it did so in order.
    pub(crate) fn ends(&mut self) -> bool {
        // Held open: `Child::wait` would close it first.
        let _input = self.process.stdin.take();
        self.process.wait().unwrap().success()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
