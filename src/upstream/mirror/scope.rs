//! Mirrors by what they are the limits of.

use core::fmt;
use std::collections::HashMap;

use super::refused::MirrorError;
use super::{Mirror, MirrorBuilder};
use crate::clock::{Clock, Monotonic};
use crate::sync::{Mutex, lock};

/// Whose limits: those of a credential, at an endpoint, for a model. Scopes that differ in any of the three never share
/// anything. Leave empty what an upstream's limits do not depend on.
///
/// It shows itself without the credential, so name that as you like.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MirrorScope {
    credential: Box<str>,
    endpoint: Box<str>,
    model: Box<str>,
}

/// Mirrors by scope, each built alike when its scope is first asked for; at most so many.
///
/// At the cap, mirrors that are as new ones would be are forgotten: full, open, and with nothing on its way. If there is none, a new
/// scope is refused.
///
/// ```
/// use tollgate::quota;
/// use tollgate::upstream::{Cost, Dimension, Mirror, MirrorScope, Mirrors};
///
/// let built_alike = Mirror::builder().limit(Dimension::Requests, quota!("1/min"));
/// let mirrors = Mirrors::new(built_alike, 100)?;
/// let (small, large) = (MirrorScope::new("key", "/v1", "small"), MirrorScope::new("key", "/v1", "large"));
///
/// let sent = mirrors.of(&small)?.try_send(&Cost::requests(1))?;
/// assert!(mirrors.of(&small)?.try_send(&Cost::requests(1)).is_err());
/// assert!(mirrors.of(&large)?.try_send(&Cost::requests(1)).is_ok());
/// # drop(sent);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Mirrors<C: Clock = Monotonic> {
    builder: MirrorBuilder<C>,
    cap: usize,
    known: Mutex<HashMap<MirrorScope, Mirror<C>>>,
}

/// No room for the mirror of another scope.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoRoomForScope {
    /// The most scopes that there can be.
    pub cap: usize,
}

impl MirrorScope {
    /// A scope by the names of its credential, endpoint and model.
    pub fn new(credential: &str, endpoint: &str, model: &str) -> Self {
        Self { credential: credential.into(), endpoint: endpoint.into(), model: model.into() }
    }

    /// The endpoint.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// The model.
    pub fn model(&self) -> &str {
        &self.model
    }
}

impl<C: Clock + Clone> Mirrors<C> {
    /// Mirrors that are built as `builder` says, for at most `cap` scopes.
    ///
    /// # Errors
    ///
    /// As [`MirrorBuilder::build`].
    pub fn new(builder: MirrorBuilder<C>, cap: usize) -> Result<Self, MirrorError> {
        let _valid = builder.clone().build()?;
        Ok(Self { builder, cap, known: Mutex::new(HashMap::new()) })
    }

    /// The mirror of a scope. It takes a lock, and memory for a new scope.
    ///
    /// # Errors
    ///
    /// The scope is new, and there is no room for it.
    pub fn of(&self, scope: &MirrorScope) -> Result<Mirror<C>, NoRoomForScope> {
        let mut known = lock(&self.known);
        if let Some(mirror) = known.get(scope) {
            return Ok(mirror.clone());
        }
        if known.len() >= self.cap {
            known.retain(|_, mirror| !mirror.is_as_new());
        }
        let full = NoRoomForScope { cap: self.cap };
        if known.len() >= self.cap {
            return Err(full);
        }
        let mirror = self.builder.clone().build().map_err(|_| full)?;
        known.insert(scope.clone(), mirror.clone());
        Ok(mirror)
    }

    /// Gives a scope a mirror of its own making, in place of what it had. Calls on their way still answer to the old one.
    pub fn insert(&self, scope: MirrorScope, mirror: Mirror<C>) {
        lock(&self.known).insert(scope, mirror);
    }

    /// How many scopes are known.
    pub fn len(&self) -> usize {
        lock(&self.known).len()
    }

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Debug for MirrorScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MirrorScope")
            .field("endpoint", &self.endpoint)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

impl<C: Clock> fmt::Debug for Mirrors<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mirrors").field("scopes", &lock(&self.known).len()).field("cap", &self.cap).finish()
    }
}

impl fmt::Display for NoRoomForScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no room for another scope: there are {} already", self.cap)
    }
}

impl core::error::Error for NoRoomForScope {}
