//! How a tree is made.

use std::fmt;

use super::Tree;
use super::error::TreeError;
use super::plan::Plan;
use super::share::Grant;
use super::store::Store;
use crate::clock::{Clock, Monotonic};
use crate::quota::Quota;

/// Nodes of a [`Tree`], parents before their children. What cannot be is told by [`build`](Self::build).
#[must_use = "it makes no tree before `build`"]
pub struct TreeBuilder<C = ()> {
    quota: Quota,
    plan: Result<Plan, TreeError>,
    clock: C,
}

impl TreeBuilder {
    pub(super) fn new(quota: Quota) -> Self {
        Self { quota, plan: Ok(Plan::new()), clock: () }
    }

    /// The tree, on the [`Monotonic`] clock.
    ///
    /// # Errors
    ///
    /// [`TreeError`] has the reasons.
    pub fn build(self) -> Result<Tree<Monotonic>, TreeError> {
        self.clock(Monotonic::new()).build()
    }
}

impl<C> TreeBuilder<C> {
    /// Adds a node. Its name is a path below the root: `research`, then `research/alice`. What it is given is a
    /// [`Share`](super::Share) of its parent, perhaps with a burst and a ceiling.
    pub fn node(self, name: &str, grant: impl Into<Grant>) -> Self {
        let plan = self.plan.and_then(|mut plan| plan.add(name, grant.into()).map(|()| plan));
        Self { plan, ..self }
    }

    /// Another clock.
    pub fn clock<D: Clock>(self, clock: D) -> TreeBuilder<D> {
        TreeBuilder { quota: self.quota, plan: self.plan, clock }
    }
}

impl<C: Clock> TreeBuilder<C> {
    /// The tree.
    ///
    /// # Errors
    ///
    /// [`TreeError`] has the reasons.
    pub fn build(self) -> Result<Tree<C>, TreeError> {
        let Self { quota, plan, clock } = self;
        let store = Store::new(quota, plan?, clock.now().as_u64())?;
        Ok(Tree::of(quota, store, clock))
    }
}

impl<C> fmt::Debug for TreeBuilder<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TreeBuilder")
            .field("quota", &self.quota)
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}
