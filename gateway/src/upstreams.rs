//! Where calls go: what each upstream has left, which of them takes a call, and what is learned from its
//! answer.

use std::env;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::uri::Scheme;
use http::{Response, StatusCode, Uri};
use tokio::time::{Instant, sleep};
use tollgate::http::Verdict;
use tollgate::metrics::{Call, Calls, Outcome};
use tollgate::upstream::{
    self, Dimension, Hop, Mirror, NoRoute, Order, Reader, Retry, RetryBudget, RetryPolicy, Router, Tries,
};

use crate::Fault;
use crate::admission::Admitted;
use crate::ask::Ask;
use crate::failure::{Failure, Refused};
use crate::figures::Figures;
use crate::settings;

/// Until the head of the answer is there. The body may take its time.
const LONGEST_SILENCE: Duration = Duration::from_secs(120);
/// An answer is counted, and says what is left, within this of its call.
const COUNTED_WITHIN: Duration = Duration::from_secs(5);

/// All upstreams.
pub(crate) struct Upstreams {
    client: reqwest::Client,
    pub(crate) router: Router,
    pub(crate) places: Vec<Place>,
    /// Of all calls together: when most of them fail, few are tried again.
    retries: RetryBudget,
}

/// One of them.
pub(crate) struct Place {
    pub(crate) name: String,
    pub(crate) url: String,
    key: Option<HeaderValue>,
    /// How long its answers take, and how they end.
    calls: Calls,
    pub(crate) answered: AtomicU64,
    /// Answers with the status 429, which the mirror is there to prevent.
    pub(crate) refused: AtomicU64,
}

/// An answer that has begun, and the call that it answers.
pub(crate) struct Reply {
    pub(crate) hop: Hop,
    pub(crate) timed: Call<()>,
    pub(crate) response: Response<reqwest::Body>,
}

/// Why a hop has led to no reply.
enum Failed {
    /// Another upstream may do better.
    Here(Failure),
    /// It is the last word.
    Last(Failure),
}

impl Upstreams {
    pub(crate) fn new(upstreams: &[settings::Upstream], figures: &Figures) -> Result<Self, Fault> {
        let router = upstreams.iter().try_fold(Router::builder(), |router, upstream| {
            let mirror = Mirror::builder()
                .limit(Dimension::Requests, upstream.requests)
                .limit(Dimension::Tokens, upstream.tokens)
                .counted_within(COUNTED_WITHIN);
            Ok::<_, Fault>(router.upstream(mirror.build()?))
        })?;
        Ok(Self {
            // Each goes where most is left.
            router: router.order(Order::Headroom).build()?,
            client: reqwest::Client::builder().read_timeout(LONGEST_SILENCE).build()?,
            places: upstreams
                .iter()
                .map(|upstream| Place::new(upstream, figures))
                .collect::<Result<_, _>>()?,
            retries: RetryBudget::default(),
        })
    }

    /// Sends the call to the upstream that has most room for it, and on to another if that fails; when none
    /// has room it waits, but not beyond the deadline.
    pub(crate) async fn send(&self, ask: &Ask, admitted: &mut Admitted) -> Result<Reply, Failure> {
        let (cost, mut tries, mut told) = (ask.cost(), Tries::new(), Failure::Unanswered);
        let policy = RetryPolicy::new().budget(self.retries.clone());
        let mut hops = self.router.hops(&cost);
        loop {
            match hops.try_next() {
                Ok(hop) => match self.hop(hop, ask, admitted, &policy, &mut tries).await {
                    // An answer says more than that there was none.
                    Err(Failed::Here(Failure::Unanswered)) => {}
                    Err(Failed::Here(failure)) => told = failure,
                    Err(Failed::Last(failure)) => return Err(failure),
                    Ok(reply) => {
                        policy.succeeded(&mut tries);
                        return Ok(reply);
                    }
                },
                Err(NoRoute::NotYet { upstream, wait }) if Instant::now() + wait > ask.deadline => {
                    return Err(Refused::by_upstream(&self.places[upstream].name, wait).into());
                }
                Err(NoRoute::NotYet { wait, .. }) => {
                    sleep(wait).await;
                    // What has failed before the wait may do now. The policy says how often.
                    hops = self.router.hops(&cost);
                }
                Err(NoRoute::Never(refused)) => return Err(never(ask, refused, told)),
                Err(_) => return Err(told),
            }
        }
    }

    /// One try. The router hears what becomes of it in any case.
    async fn hop(
        &self,
        hop: Hop,
        ask: &Ask,
        admitted: &mut Admitted,
        policy: &RetryPolicy,
        tries: &mut Tries,
    ) -> Result<Reply, Failed> {
        let place = &self.places[hop.upstream()];
        let mut timed = place.calls.start(());
        timed.tell(Outcome::Failed);
        admitted.is_sent(ask.guess.input());
        let answer = self.request(place, ask).send().await;
        match answer.inspect(|response| place.count(response.status())) {
            Ok(response) if response.status().is_success() => {
                hop.head(&Reader::new().read(response.status(), response.headers(), SystemTime::now()));
                timed.tell(Outcome::Dropped);
                Ok(Reply { hop, timed, response: response.into() })
            }
            Ok(response) => {
                admitted.has_failed();
                if response.status() == StatusCode::TOO_MANY_REQUESTS {
                    timed.tell(Outcome::Refused);
                }
                Err(failed(hop, response, policy, tries).await)
            }
            Err(error) => {
                admitted.has_failed();
                if error.is_connect() {
                    hop.unreachable()
                } else {
                    hop.timed_out()
                }
                Err(after(policy.decide_unanswered(tries), Failure::Unanswered))
            }
        }
    }

    fn request(&self, place: &Place, ask: &Ask) -> reqwest::RequestBuilder {
        let request = self.client.post(format!("{}/v1/chat/completions", place.url));
        let request = request.header(CONTENT_TYPE, "application/json").body(ask.body.clone());
        place.key.iter().fold(request, |request, key| request.header(AUTHORIZATION, key))
    }
}

impl Place {
    fn new(upstream: &settings::Upstream, figures: &Figures) -> Result<Self, Fault> {
        let key = upstream.key_from.as_ref().map(|name| {
            let key = env::var(name).map_err(|error| format!("{name}: {error}"))?;
            let mut value = HeaderValue::try_from(format!("Bearer {key}"))?;
            value.set_sensitive(true);
            Ok::<_, Fault>(value)
        });
        let url =
            upstream.url.as_deref().ok_or_else(|| format!("upstream {} has no address", upstream.name))?;
        if url.parse::<Uri>()?.scheme() != Some(&Scheme::HTTP) {
            return Err(format!("upstream {}: {url}: without TLS, so http:// only", upstream.name).into());
        }
        Ok(Self {
            name: upstream.name.clone(),
            url: url.trim_end_matches('/').to_owned(),
            key: key.transpose()?,
            calls: figures.upstream(&upstream.name),
            answered: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        })
    }

    fn count(&self, status: StatusCode) {
        let refused = status == StatusCode::TOO_MANY_REQUESTS;
        // Numbers to look at: they order nothing.
        if refused { &self.refused } else { &self.answered }.fetch_add(1, Ordering::Relaxed);
    }
}

/// No upstream will ever take the call: it is too large, or what the last one has told is all that is to be
/// said.
fn never(ask: &Ask, refused: upstream::Refused, told: Failure) -> Failure {
    match (refused, told) {
        (upstream::Refused::OverCapacity { capacity, .. }, _) => {
            Refused::by("upstreams", Verdict::Never { cost: ask.guess.tokens(), most: capacity }).into()
        }
        (_, Failure::Unanswered) => Failure::Exhausted,
        (_, told) => told,
    }
}

/// An upstream has failed, or refuses. The body tells what.
async fn failed(hop: Hop, response: reqwest::Response, policy: &RetryPolicy, tries: &mut Tries) -> Failed {
    let (status, headers) = (response.status(), response.headers().clone());
    let body = response.bytes().await.unwrap_or_default();
    let reading = Reader::new().read(status, &headers, SystemTime::now()).with_body(&body);
    hop.answered(&reading);
    let passed = Failure::Passed { status, after: headers.get(RETRY_AFTER).cloned(), body };
    after(policy.decide(&reading, tries), passed)
}

/// When to try again is for the router to say: another upstream may take the call at once.
fn after(retry: Retry, failure: Failure) -> Failed {
    if matches!(retry, Retry::After(_)) { Failed::Here(failure) } else { Failed::Last(failure) }
}
