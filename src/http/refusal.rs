//! Refusals in one form.

use std::time::Duration;

use ::http::StatusCode;

use crate::decision::{Denied, NotYet};
use crate::nanos::Nanos;

use super::standing::Standing;

/// What a caller should do about a refusal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "a refusal means that the work may not start"]
#[non_exhaustive]
pub enum Verdict {
    /// Come back after the wait.
    Later {
        /// How long, exactly.
        wait: Duration,
    },
    /// Come back later: work in flight stands in the way, and when that ends nobody knows.
    Busy,
    /// Come back later: what decides takes nothing any more, as that of a server that shuts down. Whoever
    /// closed it serves again, or another does.
    Closed,
    /// Do not come back with this cost: it is above what is ever admitted at once.
    Never {
        /// The cost asked for.
        cost: u64,
        /// The most that is ever admitted at once.
        most: u64,
    },
    /// A cost of zero asks for nothing: the program that asks is wrong, not its caller.
    Invalid,
    /// Do not come back at all: the run is over.
    #[cfg(feature = "budget")]
    Ended(crate::budget::Ended),
}

/// A refusal as it is told to a client: the [`Verdict`], and the limit that refused.
///
/// It is made by [`From`] of what limits within the process refuse with: [`Denied`] and [`NotYet`], and the
/// refusals of `inflight`, of queues, of runs, of several limits at once and of trees. Of those of other
/// places, as a store that does not answer, say the verdict yourself: [`new`](Self::new).
///
/// It renders as a [status](Self::status), as response fields ([`Fields`](super::Fields)), as
/// [problem details](Self::problem), for [gRPC](Self::grpc) and as the [result](Self::tool_result) of a
/// tool's call.
///
/// | verdict | status | `Retry-After` | gRPC |
/// |---|---|---|---|
/// | later | 429 | yes | `RESOURCE_EXHAUSTED`, `RetryInfo` |
/// | busy | 429 | if [hinted](Self::or_after) | `RESOURCE_EXHAUSTED` |
/// | these as an [overload](Self::as_overload) | 503 | the same | `UNAVAILABLE` |
/// | closed | 503 | if [hinted](Self::or_after) | `UNAVAILABLE` |
/// | never | 413 | no | `RESOURCE_EXHAUSTED`, do not retry |
/// | run over | 403 | no | `RESOURCE_EXHAUSTED`, do not retry |
/// | invalid | 500 | no | `INTERNAL`, do not retry |
///
/// What no wait mends has a status that clients do not retry by themselves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "a refusal means that the work may not start"]
pub struct Refusal<'p> {
    verdict: Verdict,
    name: Option<&'p str>,
    standing: Option<Standing<'p>>,
    hint: Option<Duration>,
    is_overload: bool,
}

impl<'p> Refusal<'p> {
    /// A refusal by a limit that is not named.
    pub fn new(verdict: Verdict) -> Self {
        Self { verdict, name: None, standing: None, hint: None, is_overload: false }
    }

    /// By a limit of this name; its standing is not told.
    pub fn named(self, name: &'p str) -> Self {
        Self { name: Some(name), ..self }
    }

    /// By this limit. Look at it after the refusal, so that what is told is not older.
    pub fn by(self, standing: Standing<'p>) -> Self {
        Self { name: Some(standing.policy().name()), standing: Some(standing), ..self }
    }

    /// Tells this wait where the verdict has none of its own: how long work in flight usually takes.
    pub fn or_after(self, hint: Duration) -> Self {
        Self { hint: Some(hint), ..self }
    }

    /// The limit protects the server, whoever asks, and is not the client's own: 503 and `UNAVAILABLE`.
    pub fn as_overload(self) -> Self {
        Self { is_overload: true, ..self }
    }

    /// What the client should do.
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// The name of the limit that refused.
    pub fn name(&self) -> Option<&'p str> {
        self.name
    }

    /// How the limit that refused stands.
    pub fn standing(&self) -> Option<Standing<'p>> {
        self.standing
    }

    /// The status of the response.
    pub fn status(&self) -> StatusCode {
        match self.verdict {
            _ if self.is_overload() => StatusCode::SERVICE_UNAVAILABLE,
            Verdict::Later { .. } | Verdict::Busy | Verdict::Closed => StatusCode::TOO_MANY_REQUESTS,
            Verdict::Never { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Verdict::Invalid => StatusCode::INTERNAL_SERVER_ERROR,
            #[cfg(feature = "budget")]
            Verdict::Ended(_) => StatusCode::FORBIDDEN,
        }
    }

    /// How long to wait before the same is asked again; `None` if that is not known, or will not help: see
    /// [`is_final`](Self::is_final).
    pub fn wait(&self) -> Option<Duration> {
        match self.verdict {
            Verdict::Later { wait } => Some(wait),
            Verdict::Busy | Verdict::Closed => self.hint,
            _ => None,
        }
    }

    /// The wait in whole seconds, rounded up and never zero, for a `Retry-After` field.
    pub fn retry_after(&self) -> Option<Duration> {
        self.wait().map(|wait| Nanos::from_duration(wait).as_retry_after())
    }

    /// Whether no wait helps.
    pub fn is_final(&self) -> bool {
        !matches!(self.verdict, Verdict::Later { .. } | Verdict::Busy | Verdict::Closed)
    }

    /// Whether it is the server's and not the client's.
    pub(super) fn is_overload(&self) -> bool {
        self.verdict == Verdict::Closed || (self.is_overload && !self.is_final())
    }
}

impl From<NotYet> for Verdict {
    fn from(not_yet: NotYet) -> Self {
        Self::Later { wait: not_yet.wait() }
    }
}

impl From<Denied> for Verdict {
    fn from(denied: Denied) -> Self {
        match denied {
            Denied::NotYet(not_yet) | Denied::NoRoom(not_yet) => not_yet.into(),
            Denied::OverCapacity { cost, capacity } => Self::Never { cost, most: capacity },
            Denied::ZeroCost => Self::Invalid,
        }
    }
}

impl<V: Into<Verdict>> From<V> for Refusal<'_> {
    fn from(refused: V) -> Self {
        Self::new(refused.into())
    }
}

#[cfg(feature = "inflight")]
mod in_flight {
    use super::Verdict;
    use crate::inflight::{NoPermit, Unjoined};

    impl From<NoPermit> for Verdict {
        fn from(no: NoPermit) -> Self {
            match no {
                NoPermit::OverLimit { weight, limit } => {
                    Self::Never { cost: weight.into(), most: limit.into() }
                }
                NoPermit::ZeroWeight => Self::Invalid,
                _ => Self::Busy,
            }
        }
    }

    impl From<Unjoined> for Verdict {
        fn from(no: Unjoined) -> Self {
            match no {
                Unjoined::Rate(denied) => denied.into(),
                Unjoined::InFlight(no) => no.into(),
            }
        }
    }
}

#[cfg(feature = "wait")]
impl From<crate::wait::Refused> for Verdict {
    fn from(refused: crate::wait::Refused) -> Self {
        use crate::wait::Refused;
        match refused {
            Refused::Full(expected) | Refused::Hopeless(expected) => expected.into(),
            Refused::Closed => Self::Closed,
            Refused::Never(denied) => denied.into(),
        }
    }
}

#[cfg(feature = "budget")]
mod budget {
    use super::{Refusal, Verdict};
    use crate::budget::{Ended, NoCall, Reason, Refused, Reserved, tree};

    impl From<Ended> for Verdict {
        fn from(ended: Ended) -> Self {
            Self::Ended(ended)
        }
    }

    /// When open calls are settled nobody knows.
    impl From<Reserved> for Verdict {
        fn from(_: Reserved) -> Self {
            Self::Busy
        }
    }

    impl From<NoCall> for Verdict {
        fn from(no: NoCall) -> Self {
            match no {
                NoCall::Ended(ended) => ended.into(),
                NoCall::Reserved(reserved) => reserved.into(),
            }
        }
    }

    impl From<Reason> for Verdict {
        fn from(reason: Reason) -> Self {
            match reason {
                Reason::Denied(denied) => denied.into(),
                #[cfg(feature = "inflight")]
                Reason::NoPermit(no) => no.into(),
                Reason::Ended(ended) => ended.into(),
                Reason::Reserved(reserved) => reserved.into(),
            }
        }
    }

    impl<'n> From<Refused<'n>> for Refusal<'n> {
        fn from(refused: Refused<'n>) -> Self {
            Self::new(refused.reason().into()).named(refused.name())
        }
    }

    impl<'n> From<tree::Refused<'n>> for Refusal<'n> {
        fn from(refused: tree::Refused<'n>) -> Self {
            Self::new(refused.denied.into()).named(refused.node)
        }
    }
}
