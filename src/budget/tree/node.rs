//! One node of a tree, to ask it.

use std::fmt;

use super::Tree;
use super::balance::Balance;
use super::refused::Refused;
use crate::clock::{Clock, Monotonic};
use crate::decision::Denied;
use crate::limiter::Limiter;
use crate::nanos::Nanos;
use crate::quota::Quota;

/// A node of a [`Tree`], borrowed: a team, a user, a key, or the root itself. It is a [`Limiter`].
///
/// ```
/// use tollgate::budget::tree::{Limit, Share, Tree};
/// use tollgate::{Manual, quota};
///
/// let tree = Tree::builder(quota!("10/s")).clock(Manual::new());
/// let tree = tree.node("a", Share::percent(50)).node("b", Share::percent(30).burst(1)).build()?;
/// let (a, b) = (tree.node("a").ok_or("no a")?, tree.node("b").ok_or("no b")?);
///
/// // Five are held for `a` and one for `b`; the four that are held for nobody can be borrowed.
/// assert!(a.try_acquire_n(9).is_ok());
/// let refused = a.try_acquire().unwrap_err();
/// assert_eq!((refused.node, refused.limit), ("/", Limit::Pool));
/// assert_eq!(refused.to_string(), "refused by the pool of `/`: not yet: try again in 100ms");
/// assert!(b.try_acquire().is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Node<'a, C = Monotonic> {
    pub(super) tree: &'a Tree<C>,
    pub(super) place: usize,
}

/// Which node of a tree it is: to be kept where a [`Node`], which borrows the tree, cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(super) usize);

impl<'a, C: Clock> Node<'a, C> {
    /// Admits one token now, or refuses and takes nothing from anyone.
    ///
    /// # Errors
    ///
    /// [`Refused`], which names the limit and tells the wait.
    pub fn try_acquire(&self) -> Result<(), Refused<'a>> {
        self.try_acquire_n(1)
    }

    /// [`try_acquire`](Self::try_acquire) at a reading of the tree's clock.
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Self::try_acquire).
    pub fn try_acquire_at(&self, now: Nanos) -> Result<(), Refused<'a>> {
        self.try_acquire_n_at(1, now)
    }

    /// Admits `cost` tokens now, at this node and all above it, or refuses and takes nothing from anyone.
    ///
    /// # Errors
    ///
    /// [`Refused`] names the first limit on the way up that refuses. Its wait is the longest of those of all that do: the
    /// shortest that will do if nobody else asks meanwhile, exact to the nanosecond. (While a node [owes](Balance::owed), it is
    /// the shortest that may do.) Costs of zero are refused, and those above
    /// [`max_cost`](Balance::max_cost).
    pub fn try_acquire_n(&self, cost: u64) -> Result<(), Refused<'a>> {
        self.tree.store.acquire(self.place, cost, || self.tree.clock.now())
    }

    /// [`try_acquire_n`](Self::try_acquire_n) at a reading of the tree's clock. An older one than others have used makes the
    /// answer stricter; what is held for the others may then lack what this node is issued in the time between.
    ///
    /// # Errors
    ///
    /// As [`try_acquire_n`](Self::try_acquire_n).
    pub fn try_acquire_n_at(&self, cost: u64, now: Nanos) -> Result<(), Refused<'a>> {
        self.tree.store.acquire(self.place, cost, || now)
    }

    /// Takes `cost` tokens whether they are there or not, for work that has been done already.
    ///
    /// It takes what an admission would, as far as that goes. What is missing then is debt, of the whole tree and of each node
    /// on the way down to this one, which pays it off out of its coming share before that is held for it again. The hole: what
    /// is missing was held for others. Until it is paid off, they may together find so much less than they are
    /// guaranteed. Ceilings count it too.
    pub fn charge(&self, cost: u64) {
        self.tree.store.charge(self.place, cost, || self.tree.clock.now());
    }

    /// [`charge`](Self::charge) at a reading of the tree's clock.
    pub fn charge_at(&self, cost: u64, now: Nanos) {
        self.tree.store.charge(self.place, cost, || now);
    }

    /// Gives `cost` tokens back: to the whole tree, up to full, and of that to each node on the way down, up to full.
    ///
    /// As a bucket's, a refund does not know what it refunds: each one may widen the bound by its amount. What was borrowed
    /// is not given back to the pool before the node itself is full.
    pub fn refund(&self, cost: u64) {
        self.tree.store.refund(self.place, cost, || self.tree.clock.now());
    }

    /// [`refund`](Self::refund) at a reading of the tree's clock.
    pub fn refund_at(&self, cost: u64, now: Nanos) {
        self.tree.store.refund(self.place, cost, || now);
    }

    /// Looks without taking: what is held for the node, what it could have, and what it has used and borrowed so far. All
    /// numbers are of one moment.
    pub fn peek(&self) -> Balance {
        self.peek_at(self.tree.clock.now())
    }

    /// [`peek`](Self::peek) at a reading of the tree's clock.
    pub fn peek_at(&self, now: Nanos) -> Balance {
        self.tree.store.look(|| Balance::of(self.tree.store.rules(), self.place, now))
    }

    /// Its name: the path from the root, with `/` between the parts; `/` for the root.
    pub fn name(&self) -> &'a str {
        &self.tree.store.places()[self.place].name
    }

    /// Its ceiling, if it has one.
    pub fn ceiling(&self) -> Option<Quota> {
        self.tree.store.places()[self.place].ceiling.as_ref().map(|ceiling| ceiling.quota)
    }

    /// Its id, by which this tree finds it again.
    pub fn id(&self) -> NodeId {
        NodeId(self.place)
    }

    /// Its parent; the root has none.
    pub fn parent(&self) -> Option<Self> {
        let above = self.tree.store.places()[self.place].path.get(1);
        above.map(|&place| Self { tree: self.tree, place })
    }

    /// Its children.
    pub fn children(&self) -> impl Iterator<Item = Self> + use<'a, C> {
        let tree = self.tree;
        tree.store.places()[self.place].children.iter().map(move |&place| Self { tree, place })
    }
}

impl<C: Clock> Limiter for Node<'_, C> {
    fn try_acquire_n(&self, cost: u64) -> Result<(), Denied> {
        Ok(Self::try_acquire_n(self, cost)?)
    }
}

impl<C> Clone for Node<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Node<'_, C> {}

impl<C: Clock> fmt::Debug for Node<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node").field("name", &self.name()).field("balance", &self.peek()).finish()
    }
}
