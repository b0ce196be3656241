//! What decides about a request.

use crate::decision::Denied;
use crate::limiter::Limiter;

/// Decides at once whether a request is served, and what is given out for it.
///
/// Any function of that form is one, so any limit of the crate is asked by a closure: by key, several at once, a reservation. It
/// may change the request, as to put something into its extensions for the handler.
///
/// ```
/// use http::Request;
/// use tollgate::{Bucket, Denied, quota, tower::Admit};
///
/// let bucket = Bucket::new(quota!("1M/min"));
/// let by_length = move |request: &mut Request<String>| bucket.try_acquire_n(request.body().len() as u64);
/// let decide = |limit: &dyn Admit<Request<String>, Granted = (), Refused = Denied>, body: &str| {
///     limit.admit(&mut Request::new(body.to_string()))
/// };
/// assert!(decide(&by_length, "hello").is_ok());
/// ```
pub trait Admit<Request> {
    /// What is given out for a request that is served.
    type Granted;
    /// Why a request is not.
    type Refused;

    /// Decides.
    ///
    /// # Errors
    ///
    /// The refusal. Nothing was taken.
    fn admit(&self, request: &mut Request) -> Result<Self::Granted, Self::Refused>;
}

impl<Request, F, Granted, Refused> Admit<Request> for F
where
    F: Fn(&mut Request) -> Result<Granted, Refused>,
{
    type Granted = Granted;
    type Refused = Refused;

    #[inline]
    fn admit(&self, request: &mut Request) -> Result<Granted, Refused> {
        self(request)
    }
}

/// A limiter with a cost for each request. A cost of 0 is free: the limiter is not asked.
#[derive(Clone, Copy, Debug)]
pub struct Costing<L, C> {
    limiter: L,
    cost: C,
}

impl<L, C> Costing<L, C> {
    /// Asks the limiter for `cost` of the request.
    pub fn new(limiter: L, cost: C) -> Self {
        Self { limiter, cost }
    }
}

impl<Request, L: Limiter, C: Fn(&Request) -> u64> Admit<Request> for Costing<L, C> {
    type Granted = ();
    type Refused = Denied;

    #[inline]
    fn admit(&self, request: &mut Request) -> Result<(), Denied> {
        match (self.cost)(request) {
            0 => Ok(()),
            1 => self.limiter.try_acquire(),
            cost => self.limiter.try_acquire_n(cost),
        }
    }
}
