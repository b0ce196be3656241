//! Starts a provider and its clients, and counts.

use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::client::{Plan, Tally, Way};

/// What is run.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) run: Duration,
    pub(crate) clients: u64,
    pub(crate) load: f64,
    pub(crate) limit: u64,
    /// What a call costs in tokens, in the mean; then these are limited. 0: requests are.
    pub(crate) tokens: u64,
    pub(crate) period: Duration,
    pub(crate) family: String,
    pub(crate) latency: Duration,
    pub(crate) keep: u64,
    ways: Vec<Way>,
}

/// How to start the processes, each with one argument.
pub(crate) struct Programs<'p> {
    pub(crate) provider: &'p dyn Fn(&str) -> Command,
    pub(crate) client: &'p dyn Fn(&str) -> Command,
}

/// What came of one run.
#[derive(Debug)]
pub(crate) struct Outcome {
    way: Way,
    clients: Vec<Tally>,
    admitted: u64,
    refused: u64,
    /// What those that were admitted cost, in what is limited.
    taken: u64,
    /// All that the limit could have given: what was there at the start, and what came.
    possible: f64,
}

/// The heads of the columns that an [`Outcome`] prints.
pub(crate) const HEADS: &str = "\
| each client | offered | sent | refused by the provider | of what was sent | used of the limit | each client's part |
|---|---|---|---|---|---|---|";

impl Default for Scenario {
    fn default() -> Self {
        Self {
            run: Duration::from_secs(60),
            clients: 3,
            load: 3.0,
            limit: 100,
            tokens: 0,
            period: Duration::from_secs(1),
            family: "openai".to_owned(),
            latency: Duration::from_millis(30),
            keep: 0,
            ways: vec![Way::Mirror, Way::Obey, Way::Limit],
        }
    }
}

impl Scenario {
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut scenario = Self::default();
        for argument in arguments {
            scenario.set(argument).ok_or_else(|| format!("cannot understand `{argument}`"))?;
        }
        Ok(scenario)
    }

    fn set(&mut self, argument: &str) -> Option<()> {
        let (key, value) = argument.split_once('=')?;
        let number = || value.parse::<u64>().ok();
        match key {
            "seconds" => self.run = Duration::from_secs(number()?),
            "clients" => self.clients = number()?,
            "load" => self.load = value.parse().ok()?,
            "limit" => self.limit = number()?,
            "tokens" => self.tokens = number()?,
            "period_ms" => self.period = Duration::from_millis(number()?),
            "family" => self.family = value.to_owned(),
            "latency_ms" => self.latency = Duration::from_millis(number()?),
            "keep" => self.keep = number()?,
            "ways" => self.ways = value.split(',').map(Way::parse).collect::<Option<_>>()?,
            _ => return None,
        }
        Some(())
    }

    pub(crate) fn ways(&self) -> impl Iterator<Item = Way> {
        self.ways.iter().copied()
    }

    fn settings(&self) -> String {
        let (requests, tokens) = if self.tokens == 0 { (self.limit, 0) } else { (0, self.limit) };
        format!(
            "family={}&requests={requests}&tokens={tokens}&period_ms={}&latency_ms={}",
            self.family,
            self.period.as_millis(),
            self.latency.as_millis()
        )
    }

    fn dimension(&self) -> &'static str {
        match (self.tokens, self.family.as_str()) {
            (0, _) => "requests",
            (_, "anthropic") => "input-tokens",
            _ => "tokens",
        }
    }

    fn plan(&self, way: Way, number: u64, port: u16) -> Plan {
        let cost = self.tokens.max(1);
        let rate = self.limit as f64 / cost as f64 / self.period.as_secs_f64();
        Plan {
            url: format!("http://127.0.0.1:{port}/v1/chat"),
            way,
            run: self.run,
            rate: self.load * rate / self.clients as f64,
            dimension: self.dimension().to_owned(),
            limit: self.limit,
            cost,
            period: self.period,
            keep: self.keep,
            seed: 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(number + 1),
        }
    }
}

impl Outcome {
    /// The share of the calls that were sent which the provider refused.
    pub(crate) fn refused(&self) -> f64 {
        self.refused as f64 / (self.admitted + self.refused) as f64
    }

    /// The share of what the provider could have admitted that it admitted.
    pub(crate) fn used(&self) -> f64 {
        self.taken as f64 / self.possible
    }

    /// Calls that neither were refused nor succeeded.
    pub(crate) fn failed(&self) -> u64 {
        self.clients.iter().map(|client| client.failed).sum()
    }
}

/// One provider, its clients, and what they counted.
pub(crate) fn run(scenario: &Scenario, way: Way, programs: &Programs<'_>) -> Outcome {
    let mut provider = start((programs.provider)(&scenario.settings()));
    let port = first_line(&mut provider).trim().parse().expect("the provider prints its port");
    ask(port, "/_reset");
    let clients: Vec<_> = (0..scenario.clients)
        .map(|number| start((programs.client)(&scenario.plan(way, number, port).text())))
        .collect();
    let clients: Vec<_> = clients.into_iter().map(tally).collect();
    let stats = ask(port, "/_stats");
    drop(provider.stdin.take());
    let _ = provider.wait();
    let count = |name: &str| stats[name].as_u64().expect("a count");
    let (taken, possible) = match scenario.tokens {
        0 => ("admitted", "possible_requests"),
        _ => ("tokens", "possible_tokens"),
    };
    Outcome {
        way,
        clients,
        admitted: count("admitted"),
        refused: count("refused"),
        taken: count(taken),
        possible: stats[possible].as_f64().expect("a count"),
    }
}

fn start(mut command: Command) -> Child {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a process")
}

fn first_line(process: &mut Child) -> String {
    let mut line = String::new();
    let output = process.stdout.take().expect("its output is piped");
    BufReader::new(output).read_line(&mut line).expect("a line");
    line
}

fn tally(mut client: Child) -> Tally {
    let mut output = String::new();
    client.stdout.take().expect("its output is piped").read_to_string(&mut output).expect("text");
    let tally = output.lines().find_map(Tally::parse);
    client.wait().expect("it was started");
    tally.expect("a client prints its tally")
}

/// One request by hand: this process needs no client else.
fn ask(port: u16, path: &str) -> Value {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("the provider listens");
    write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let body = answer.split_once("\r\n\r\n").expect("a head and a body").1;
    serde_json::from_str(body).expect("JSON")
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { run, clients, load, limit, tokens, period, family, latency, keep, .. } = self;
        let what = if *tokens == 0 { "requests" } else { "tokens" };
        write!(
            f,
            "{clients} clients for {run:?} at {load} times {limit} {what} in {period:?}, provider {family} \
             answering in {latency:?}, {keep} kept for others"
        )?;
        if *tokens == 0 { Ok(()) } else { write!(f, ", {tokens} tokens a call in the mean") }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let way = match self.way {
            Way::Mirror => "a throttle with a mirror",
            Way::Alone => "a throttle whose mirror knows of no others",
            Way::Adapt => "a throttle with a rate that adapts",
            Way::Obey => "its own limiter, and pauses by `Retry-After`",
            Way::Limit => "its own limiter",
        };
        let offered: u64 = self.clients.iter().map(|client| client.offered).sum();
        let parts: Vec<_> = self.clients.iter().map(|client| client.admitted.to_string()).collect();
        write!(
            f,
            "| {way} | {offered} | {} | {} | {:.1} % | {:.1} % | {} |",
            self.admitted + self.refused,
            self.refused,
            100.0 * self.refused(),
            100.0 * self.used(),
            parts.join(", ")
        )?;
        if self.failed() > 0 { write!(f, " {} failed", self.failed()) } else { Ok(()) }
    }
}
