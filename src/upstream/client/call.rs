//! A call on its way.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use http::{HeaderMap, StatusCode};

use super::nudge::Nudge;
use crate::clock::Clock;
use crate::upstream::adapt::Trial;
use crate::upstream::mirror::{Cost, Heard, Sent};
use crate::upstream::read::{Provider, Reader, Reading};

/// A call that was let through and is charged: send it now, and tell what came of it.
///
/// Dropped without a word (the client failed, the task was cancelled, the time was up) it stays charged at what it was
/// expected to cost, since nobody knows whether the upstream counted it; it is in flight no more.
///
/// ```
/// use http::{HeaderMap, HeaderValue, StatusCode};
/// use tollgate::quota;
/// use tollgate::upstream::{Cost, Dimension, Mirror, Throttle};
/// # use std::{future::{Ready, ready}, time::Duration};
/// # struct Timer;
/// # impl tollgate::wait::Timer for Timer {
/// #     type Sleep = Ready<()>;
/// #     fn sleep(&self, _: Duration) -> Ready<()> { ready(()) }
/// # }
///
/// let mirror = Mirror::builder().limit(Dimension::Requests, quota!("600/min")).limit(Dimension::Tokens, quota!("90k/min"));
/// let throttle = Throttle::new(mirror.build()?, Timer);
/// let left = || [Dimension::Requests, Dimension::Tokens].map(|of| throttle.mirror().level(of).unwrap().available());
///
/// // A stream: the head is heard when it comes, the usage when the body has ended.
/// let mut call = throttle.try_admit(&Cost::requests(1).with(Dimension::Tokens, 4_000))?;
/// let mut headers = HeaderMap::new();
/// headers.insert("x-ratelimit-remaining-requests", HeaderValue::from_static("80"));
/// call.head(StatusCode::OK, &headers);
/// assert_eq!(left(), [80, 86_000]);
/// call.settled(&Cost::requests(1).with(Dimension::Tokens, 1_500));
/// assert_eq!(left(), [80, 88_500]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a call that is dropped stays charged; send it, or say that it was not sent"]
pub struct Call<C: Clock> {
    sent: Sent<C>,
    /// Where a rate adapts.
    trial: Option<Trial<C>>,
    ears: Ears,
}

/// What learns from responses.
pub(super) struct Ears {
    pub(super) reader: Reader,
    pub(super) nudge: Arc<Nudge>,
}

impl<C: Clock> Call<C> {
    pub(super) fn new(sent: Sent<C>, trial: Option<Trial<C>>, ears: Ears) -> Self {
        Self { sent, trial, ears }
    }

    /// The response is there, head and body. It was expected to cost what it cost.
    ///
    /// The body matters where the response failed, and always from Shopify's GraphQL; otherwise it may be empty.
    pub fn answered(self, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Heard {
        self.hear(status, headers, body, None).0
    }

    /// The same of a call that cost `used`, as its usage record says: more is charged, less is given back.
    pub fn answered_with(self, status: StatusCode, headers: &HeaderMap, body: &[u8], used: &Cost) -> Heard {
        self.hear(status, headers, body, Some(used)).0
    }

    /// The head of a successful response is there, and its body takes its time: what the head says is heard now, and its figures
    /// do not grow old meanwhile. When the body has ended, [`settled`](Self::settled); dropped, it stays charged.
    ///
    /// Of a failure read the body, and say [`answered`](Self::answered) instead: the body tells what has failed.
    pub fn head(&mut self, status: StatusCode, headers: &HeaderMap) -> Heard {
        self.progress();
        let heard = self.sent.head(&self.ears.reader.read(status, headers, SystemTime::now()));
        self.ears.nudge.ring();
        heard
    }

    /// The body has ended, and the usage record in it tells what the call cost.
    pub fn settled(self, used: &Cost) {
        self.sent.settled(used);
        if let Some(trial) = self.trial {
            trial.succeeded();
        }
        self.ears.nudge.ring();
    }

    /// The same as [`answered`](Self::answered), with what was read.
    pub(super) fn hear<'h>(
        self,
        status: StatusCode,
        headers: &'h HeaderMap,
        body: &[u8],
        used: Option<&Cost>,
    ) -> (Heard, Reading<'h>) {
        let reading = self.ears.read(status, headers, body);
        let heard = match used {
            None => self.sent.answered(&reading),
            Some(used) => self.sent.answered_with(&reading, used),
        };
        if let Some(trial) = self.trial {
            trial.answered(status, &reading);
        }
        self.ears.nudge.ring();
        (heard, reading)
    }

    /// A part of a stream has come. It matters to a rate that adapts, which takes a long silence for a stall.
    pub fn progress(&mut self) {
        if let Some(trial) = &mut self.trial {
            trial.progress();
        }
    }

    /// Whether it is a stream that has been silent for so long that it should be cancelled; `false` without a rate that adapts.
    pub fn is_stalled(&self) -> bool {
        self.trial.as_ref().is_some_and(Trial::is_stalled)
    }

    /// No answer came in the caller's time, or the stream stalled. It stays charged, and a rate that adapts falls.
    pub fn timed_out(self) {
        if let Some(trial) = self.trial {
            trial.timed_out();
        }
    }

    /// It never left: all of it is given back, but for its token of a rate that adapts.
    pub fn not_sent(self) {
        self.sent.not_sent();
        self.ears.nudge.ring();
    }
}

impl Ears {
    fn read<'h>(&self, status: StatusCode, headers: &'h HeaderMap, body: &[u8]) -> Reading<'h> {
        let reading = self.reader.read(status, headers, SystemTime::now());
        let speaks = !status.is_success() || reading.provider() == Some(Provider::Shopify);
        if speaks { reading.with_body(body) } else { reading }
    }
}

impl<C: Clock> fmt::Debug for Call<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("reader", &self.ears.reader).finish_non_exhaustive()
    }
}
