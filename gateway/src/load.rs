//! Load from a trace of real traffic, or a made-up one: calls of several tenants, some of which go away
//! before the end.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::Fault;

/// The longest prompt that is sent, in tokens of four bytes.
const LONGEST_PROMPT: u64 = 16_000;

/// One call of a trace.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When, from the first one on.
    pub at: Duration,
    /// Tokens of its prompt.
    pub prompt: u64,
    /// Tokens of its answer.
    pub output: u64,
}

/// Somebody who calls.
#[derive(Clone, Debug)]
pub struct Caller {
    /// For the report.
    pub name: &'static str,
    /// Its key.
    pub key: &'static str,
    /// Its part of all calls, of those of all callers together.
    pub part: u64,
    /// The class of its calls, if they are batch work.
    pub batch: Option<u8>,
    /// How long they may wait.
    pub deadline: Duration,
    /// In how many runs they are, if in any.
    pub runs: u64,
}

/// What is sent.
#[derive(Clone, Debug)]
pub struct Load {
    /// Where the gateway is.
    pub gateway: String,
    /// As the trace has it, at its own speed.
    pub arrivals: Vec<Arrival>,
    /// How many times as fast.
    pub speed: f64,
    /// For how long.
    pub length: Duration,
    /// How many of a hundred streams are given up before their end.
    pub aborted_percent: u64,
    /// Who calls.
    pub callers: Vec<Caller>,
}

/// What became of a caller's calls.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Calls.
    pub calls: u64,
    /// Tokens of all of them.
    pub offered: u64,
    /// Calls that were answered to the end.
    pub served: u64,
    /// Calls that were answered, and given up on purpose.
    pub aborted: u64,
    /// Calls that were answered, and broke off.
    pub broken: u64,
    /// Tokens of all that were answered.
    pub tokens: u64,
    /// The others by status, and by the limit that refused.
    pub refused: BTreeMap<String, u64>,
    /// The longest time to the head of an answer.
    pub slowest: Duration,
}

/// What became of all, by caller.
#[derive(Clone, Debug, Default)]
pub struct Report(pub BTreeMap<&'static str, Tally>);

/// One call, as it was drawn.
struct Call {
    caller: usize,
    arrival: Arrival,
    model: &'static str,
    run: Option<String>,
    /// After so many pieces the client goes away.
    aborted_after: Option<u64>,
}

/// What became of it.
struct Outcome {
    caller: &'static str,
    tokens: u64,
    status: StatusCode,
    refused_by: String,
    head: Duration,
    is_aborted: bool,
    is_broken: bool,
}

/// SplitMix64 (Steele, Lea and Flood 2014): the same load each time.
struct Random(u64);

/// The callers that go with the package's own `gateway.toml`: one below its guarantee, and two that want more
/// than theirs.
pub fn callers() -> Vec<Caller> {
    let second = Duration::from_secs(1);
    let caller = |name, key, part| Caller { name, key, part, batch: None, deadline: 2 * second, runs: 0 };
    vec![
        caller("chat", "chat-key", 18),
        Caller { runs: 40, ..caller("agents", "agents-key", 42) },
        Caller { batch: Some(2), deadline: 5 * second, ..caller("nightly", "nightly-key", 40) },
    ]
}

/// Reads a trace with the columns `TIMESTAMP`, `ContextTokens` and `GeneratedTokens`, as Azure has published
/// them.
///
/// # Errors
///
/// That of the file, or the line that cannot be understood.
pub fn read(path: &Path) -> Result<Vec<Arrival>, Fault> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let lines = text.lines().enumerate().skip(1);
    let mut arrivals = lines
        .map(|(number, line)| {
            arrival(line).ok_or_else(|| format!("{}:{}: {line}", path.display(), number + 1).into())
        })
        .collect::<Result<Vec<_>, Fault>>()?;
    let first = arrivals.first().map_or(Duration::ZERO, |arrival| arrival.at);
    arrivals.iter_mut().for_each(|arrival| arrival.at = arrival.at.saturating_sub(first));
    Ok(arrivals)
}

fn arrival(line: &str) -> Option<Arrival> {
    let mut fields = line.split(',');
    let mut time = fields.next()?.split_once(' ')?.1.splitn(3, ':');
    let (hours, minutes): (u64, u64) = (time.next()?.parse().ok()?, time.next()?.parse().ok()?);
    let seconds: f64 = time.next()?.parse().ok()?;
    Some(Arrival {
        at: Duration::from_secs(hours * 3600 + minutes * 60) + Duration::try_from_secs_f64(seconds).ok()?,
        prompt: fields.next()?.parse().ok()?,
        output: fields.next()?.trim().parse().ok()?,
    })
}

/// An hour that is like a trace's: as many calls, and as many tokens in the mean.
pub fn made_up() -> Vec<Arrival> {
    let (mut random, mut at) = (Random(1), Duration::ZERO);
    let arrivals = std::iter::repeat_with(|| {
        at += Duration::from_millis(random.below(372));
        // Most prompts are short, and some are very long.
        let prompt = 60 + random.below(1200) + if random.below(10) == 0 { random.below(10_000) } else { 0 };
        Arrival { at, prompt, output: 20 + random.below(380) }
    });
    arrivals.take_while(|arrival| arrival.at < Duration::from_secs(3600)).collect()
}

impl Load {
    /// Sends all of it, and waits for the answers.
    ///
    /// # Errors
    ///
    /// That of a call that got no answer at all.
    pub async fn run(self) -> Result<Report, Fault> {
        let (load, client, start) = (Arc::new(self), reqwest::Client::new(), Instant::now());
        let (mut random, mut calls, mut report) = (Random(7), JoinSet::new(), Report::default());
        for arrival in &load.arrivals {
            let at = arrival.at.div_f64(load.speed);
            if at >= load.length {
                break;
            }
            sleep_until(start + at).await;
            let call = Call::new(&load, *arrival, &mut random);
            calls.spawn(call.send(Arc::clone(&load), client.clone()));
            while let Some(ended) = calls.try_join_next() {
                report.add(&ended??);
            }
        }
        while let Some(ended) = calls.join_next().await {
            report.add(&ended??);
        }
        Ok(report)
    }

    /// By their parts.
    fn caller(&self, random: &mut Random) -> usize {
        let mut drawn = random.below(self.callers.iter().map(|caller| caller.part).sum());
        let is_it = |caller: &Caller| {
            let is_it = drawn < caller.part;
            drawn = drawn.saturating_sub(caller.part);
            is_it
        };
        self.callers.iter().position(is_it).unwrap_or(0)
    }
}

impl Call {
    fn new(load: &Load, arrival: Arrival, random: &mut Random) -> Self {
        let caller = load.caller(random);
        let runs = load.callers[caller].runs;
        let is_aborted = random.below(100) < load.aborted_percent;
        Self {
            caller,
            arrival,
            model: if random.below(4) == 0 { "large" } else { "small" },
            run: (runs > 0).then(|| format!("run-{}", random.below(runs))),
            aborted_after: is_aborted.then(|| random.below(4)),
        }
    }

    async fn send(self, load: Arc<Load>, client: reqwest::Client) -> Result<Outcome, Fault> {
        let caller = &load.callers[self.caller];
        let start = Instant::now();
        let mut response = self.request(&load.gateway, caller, &client).send().await?;
        let mut outcome = Outcome {
            caller: caller.name,
            tokens: self.arrival.prompt + self.arrival.output,
            status: response.status(),
            refused_by: String::new(),
            head: start.elapsed(),
            is_aborted: false,
            is_broken: false,
        };
        if !response.status().is_success() {
            outcome.refused_by = refused_by(&response.bytes().await?);
            return Ok(outcome);
        }
        let mut pieces = 0;
        loop {
            if self.aborted_after == Some(pieces) {
                outcome.is_aborted = true;
                return Ok(outcome);
            }
            match response.chunk().await {
                Ok(Some(_)) => pieces += 1,
                Ok(None) => return Ok(outcome),
                Err(_) => {
                    outcome.is_broken = true;
                    return Ok(outcome);
                }
            }
        }
    }

    fn request(&self, gateway: &str, caller: &Caller, client: &reqwest::Client) -> reqwest::RequestBuilder {
        let prompt = "lorem ip ".repeat((self.arrival.prompt.min(LONGEST_PROMPT) * 4 / 9) as usize);
        let body = json!({
            "model": self.model,
            "stream": true,
            "messages": [{ "role": "user", "content": prompt }],
            // Local providers answer at this length, for no model is there to decide it.
            "metadata": { "output_tokens": self.arrival.output.to_string() },
        });
        let request = client.post(format!("{gateway}/v1/chat/completions")).bearer_auth(caller.key);
        let request = request.header("x-deadline-ms", caller.deadline.as_millis().to_string());
        let batch = caller.batch.iter();
        let request = batch.fold(request, |request, class| request.header("x-batch", class.to_string()));
        let request = self.run.iter().fold(request, |request, run| request.header("x-run", run));
        request.body(body.to_string())
    }
}

/// The limit that a refusal names.
fn refused_by(problem: &[u8]) -> String {
    let problem: Value = serde_json::from_slice(problem).unwrap_or_default();
    problem["violated-policies"][0].as_str().unwrap_or_default().to_owned()
}

impl Report {
    fn add(&mut self, outcome: &Outcome) {
        let tally = self.0.entry(outcome.caller).or_default();
        tally.calls += 1;
        tally.offered += outcome.tokens;
        if !outcome.status.is_success() {
            let why = format!("{} {}", outcome.status.as_u16(), outcome.refused_by);
            *tally.refused.entry(why).or_default() += 1;
            return;
        }
        tally.tokens += outcome.tokens;
        tally.slowest = tally.slowest.max(outcome.head);
        match (outcome.is_aborted, outcome.is_broken) {
            (true, _) => tally.aborted += 1,
            (_, true) => tally.broken += 1,
            _ => tally.served += 1,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "caller    calls   offered  served  aborted  broken    tokens  slowest  refused")?;
        for (name, tally) in &self.0 {
            let Tally { calls, offered, served, aborted, broken, tokens, refused, slowest } = tally;
            let slowest = slowest.as_millis();
            writeln!(
                f,
                "{name:8} {calls:6} {offered:9} {served:7} {aborted:8} {broken:7} {tokens:9} {slowest:5} ms  {refused:?}"
            )?;
        }
        Ok(())
    }
}

impl Random {
    /// Below `most`, which is not zero.
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % most.max(1)
    }
}
