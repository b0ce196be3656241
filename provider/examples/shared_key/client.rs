//! One client process.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::task::LocalSet;
use tokio::time::sleep_until;
use tollgate::upstream::{AdaptiveRate, Cost, Dimension, Mirror, Reader, Throttle};
use tollgate::wait::TokioTimer;
use tollgate::{Bucket, Quota};

/// Whoever has waited so long for a turn gives up.
const PATIENCE: Duration = Duration::from_secs(1);

/// How a client keeps to the limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// By a throttle whose mirror hears what is answered.
    Mirror,
    /// By a throttle whose mirror takes all that it is told for its own.
    Alone,
    /// By a throttle with a rate that adapts, and a mirror that knows no limit.
    Adapt,
    /// By a limiter of its own with all of the published limit, paused by the `Retry-After` of refusals.
    Obey,
    /// By that limiter alone.
    Limit,
}

/// What a client is to do, written as `key=value&...`.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) url: String,
    pub(crate) way: Way,
    pub(crate) run: Duration,
    /// Calls a second, in the mean.
    pub(crate) rate: f64,
    /// What is limited: `requests`, `tokens` or `input-tokens`.
    pub(crate) dimension: String,
    pub(crate) limit: u64,
    /// What a call costs of it, in the mean: 1, or evenly from 1 to nearly twice as much.
    pub(crate) cost: u64,
    pub(crate) period: Duration,
    pub(crate) keep: u64,
    pub(crate) seed: u64,
}

/// What came of it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Tally {
    /// Calls that it had to send.
    pub(crate) offered: u64,
    pub(crate) admitted: u64,
    pub(crate) limited: u64,
    pub(crate) failed: u64,
}

struct Client {
    url: String,
    http: reqwest::Client,
    way: Way,
    dimension: Dimension,
    throttle: Throttle<TokioTimer>,
    bucket: Bucket,
    tally: Cell<Tally>,
}

/// Xorshift64 by Marsaglia.
struct Random(u64);

impl Way {
    pub(crate) const ALL: [Self; 5] = [Self::Mirror, Self::Alone, Self::Adapt, Self::Obey, Self::Limit];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Mirror => "mirror",
            Self::Alone => "alone",
            Self::Adapt => "adapt",
            Self::Obey => "obey",
            Self::Limit => "limit",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|way| way.name() == name)
    }
}

impl Plan {
    pub(crate) fn parse(text: &str) -> Self {
        let value = |key: &str| {
            let mut pairs = text.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(name, _)| *name == key).unwrap_or_else(|| panic!("no `{key}` in `{text}`")).1
        };
        let number = |key: &str| value(key).parse::<u64>().unwrap_or_else(|_| panic!("`{key}` in `{text}`"));
        Self {
            url: value("url").to_owned(),
            way: Way::parse(value("way")).unwrap_or_else(|| panic!("`way` in `{text}`")),
            run: Duration::from_millis(number("run_ms")),
            rate: value("rate").parse().unwrap_or_else(|_| panic!("`rate` in `{text}`")),
            dimension: value("dimension").to_owned(),
            limit: number("limit"),
            cost: number("cost"),
            period: Duration::from_millis(number("period_ms")),
            keep: number("keep"),
            seed: number("seed"),
        }
    }

    pub(crate) fn text(&self) -> String {
        format!(
            "url={}&way={}&run_ms={}&rate={}&dimension={}&limit={}&cost={}&period_ms={}&keep={}&seed={}",
            self.url,
            self.way.name(),
            self.run.as_millis(),
            self.rate,
            self.dimension,
            self.limit,
            self.cost,
            self.period.as_millis(),
            self.keep,
            self.seed,
        )
    }

    fn dimension(&self) -> Dimension {
        match self.dimension.as_str() {
            "tokens" => Dimension::Tokens,
            "input-tokens" => Dimension::InputTokens,
            _ => Dimension::Requests,
        }
    }

    /// Between a tenth of the published limit and all of it, and five calls at once.
    fn rate_that_adapts(&self) -> AdaptiveRate {
        let base = self.quota().burst(5).expect("a burst of five calls");
        AdaptiveRate::builder(base).build().expect("a rate")
    }

    fn quota(&self) -> Quota {
        Quota::new(self.limit, self.period).expect("a limit that can be counted")
    }
}

impl Tally {
    /// What [`run`] prints.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.strip_prefix("tally ")?.split(' ').map(|number| number.parse().ok());
        let mut next = || numbers.next().flatten();
        Some(Self { offered: next()?, admitted: next()?, limited: next()?, failed: next()? })
    }
}

/// Sends calls at random times, as many as the plan says, and tells what came of them in a line.
pub(crate) fn run(plan: &Plan) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let tally = runtime.block_on(LocalSet::new().run_until(offer(plan)));
    let Tally { offered, admitted, limited, failed } = tally;
    format!("tally {offered} {admitted} {limited} {failed}")
}

async fn offer(plan: &Plan) -> Tally {
    let client = Rc::new(Client::new(plan));
    let (end, mut random) = (Instant::now() + plan.run, Random(plan.seed | 1));
    let mut next = Instant::now();
    let mut calls = Vec::new();
    while next < end {
        sleep_until(next.into()).await;
        calls.push(tokio::task::spawn_local(Rc::clone(&client).call(random.evenly(plan.cost), end)));
        next += Duration::from_secs_f64(random.exponentially() / plan.rate);
    }
    for call in calls {
        call.await.expect("a call");
    }
    client.tally.get()
}

impl Client {
    fn new(plan: &Plan) -> Self {
        let limited = Mirror::builder().limit(plan.dimension(), plan.quota());
        let limited = limited.keep(plan.dimension(), plan.keep);
        let mirror = match plan.way {
            Way::Adapt => Mirror::builder(),
            Way::Alone => limited,
            _ => limited.shared(),
        };
        let mirror = mirror.build().expect("a mirror");
        let throttle = Throttle::new(mirror, TokioTimer).max_waiting(100_000);
        let throttle = match plan.way {
            Way::Adapt => throttle.with_rate(plan.rate_that_adapts()),
            _ => throttle,
        };
        Self {
            url: plan.url.clone(),
            http: reqwest::Client::new(),
            way: plan.way,
            dimension: plan.dimension(),
            throttle,
            bucket: Bucket::new(plan.quota()),
            tally: Cell::default(),
        }
    }

    async fn call(self: Rc<Self>, cost: u64, end: Instant) {
        self.count(|tally| tally.offered += 1);
        let patience = PATIENCE.min(end.saturating_duration_since(Instant::now()));
        let status = match self.way {
            Way::Mirror | Way::Alone | Way::Adapt => self.by_throttle(cost, patience).await,
            Way::Obey | Way::Limit => self.by_limit(cost, patience).await,
        };
        match status {
            None => {}
            Some(Ok(200)) => self.count(|tally| tally.admitted += 1),
            Some(Ok(403 | 429)) => self.count(|tally| tally.limited += 1),
            Some(_) => self.count(|tally| tally.failed += 1),
        }
    }

    /// The status, if it was sent.
    async fn by_throttle(&self, cost: u64, patience: Duration) -> Option<reqwest::Result<u16>> {
        let cost_of_it = Cost::of(self.dimension, cost);
        let call = self.throttle.admit_within(&cost_of_it, patience).await.ok()?;
        let response = match self.send(cost).await {
            Ok(response) => response,
            Err(error) => return Some(Err(error)),
        };
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.bytes().await.unwrap_or_default();
        let _heard = call.answered(status, &headers, &body);
        Some(Ok(status.as_u16()))
    }

    async fn by_limit(&self, cost: u64, patience: Duration) -> Option<reqwest::Result<u16>> {
        self.bucket.acquire_n(cost).within(patience).await.ok()?;
        let response = match self.send(cost).await {
            Ok(response) => response,
            Err(error) => return Some(Err(error)),
        };
        let status = response.status();
        if self.way == Way::Obey && !status.is_success() {
            let now = std::time::SystemTime::now();
            if let Some(wait) = Reader::new().read(status, response.headers(), now).wait() {
                self.bucket.pause_for(wait);
            }
        }
        let _body = response.bytes().await;
        Some(Ok(status.as_u16()))
    }

    async fn send(&self, cost: u64) -> reqwest::Result<reqwest::Response> {
        let tokens = if self.dimension == Dimension::Requests { 0 } else { cost };
        self.http.post(format!("{}?tokens={tokens}", self.url)).send().await
    }

    fn count(&self, change: impl FnOnce(&mut Tally)) {
        let mut tally = self.tally.get();
        change(&mut tally);
        self.tally.set(tally);
    }
}

impl Random {
    /// From 0 to 1.
    fn part(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A time between two calls that come at random, in units of its mean.
    fn exponentially(&mut self) -> f64 {
        -self.part().max(1e-9).ln()
    }

    /// From 1 to nearly twice the mean.
    fn evenly(&mut self, mean: u64) -> u64 {
        1 + (self.part() * (2 * mean - 1) as f64) as u64
    }
}
