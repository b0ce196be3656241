//! A tree of allowances: each node is guaranteed a share of its parent, and what nobody needs can be borrowed.
//!
//! ```
//! use tollgate::budget::tree::{Share, Tree};
//! use tollgate::{Denied, quota};
//!
//! let tree = Tree::builder(quota!("1000/s"))
//!     .node("research", Share::percent(50))
//!     .node("research/alice", Share::percent(40))
//!     .node("support", Share::percent(30).burst(100))
//!     .node("batch", Share::percent(20).burst(10).ceiling(quota!("600/s")))
//!     .build()?;
//! let alice = tree.node("research/alice").ok_or("no such node")?;
//! alice.try_acquire_n(100).map_err(Denied::from)?;
//! // 1000 tokens are there; those that are held for `support` and `batch` are not hers.
//! assert_eq!(alice.peek().max_cost(), 1000 - 100 - 10);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod balance;
mod builder;
mod error;
mod node;
mod place;
mod plan;
mod refused;
mod rules;
mod share;
mod store;

use std::collections::BTreeMap;
use std::fmt;

pub use self::balance::Balance;
pub use self::builder::TreeBuilder;
pub use self::error::TreeError;
pub use self::node::{Node, NodeId};
pub use self::refused::{Limit, Refused};
pub use self::share::{Grant, Share};
use self::store::Store;
use crate::clock::{Clock, Monotonic};
use crate::nanos::Nanos;
use crate::quota::Quota;

/// One quota for many: a tree whose nodes are guaranteed shares, and borrow what the others leave.
///
/// The root has a quota, as a [`Bucket`](crate::Bucket) has. Every other node has a [`Share`] of its parent. Its share of the
/// rate is held for it, up to its [burst](Grant::burst), and nobody else can take that. What is held for nobody is in the
/// *pool* of the parent: what no child has a share of, and what was issued for children that hold all they can. A cost is
/// paid out of what is held for the node first, then borrowed from the pool of its parent, then from that of the parent's
/// parent, and so on to the root; in parts, if need be. A [ceiling](Grant::ceiling) limits what a node and all below it use,
/// own and borrowed.
///
/// # What is promised
///
/// * **The bound of the whole.** In every interval of the clock of length `t` all nodes together are admitted at most
///   `capacity + rate * t` tokens, as by one bucket with the root's quota (on the binary scale less than a unit more).
/// * **The guarantee.** What is held for a node falls by its own use only, and that of those below it; and a cost that is
///   held for a node is admitted there, unless a ceiling on its way refuses. So a node that has been idle has its burst, and
///   any node its share of the rate. One that asks again and again gets, in any interval, at least what its share issues, less
///   the one cost that it cannot pay yet; provided that the burst has room for a cost and for what is issued until it asks
///   again.
/// * **Claw-back takes no time.** An owner that returns has its burst at once, and its rate from then on, whatever the others
///   do, for what is held is never lent. The price: until it returns, so much lies there unused.
/// * **Nothing else is wasted.** Tokens are lost only while the whole tree is full. A node that asks all the time, for
///   costs that it can be admitted at all, uses all that the others leave.
///
/// A cost above a node's burst always needs a loan, so no guarantee covers it. Who borrows is decided by who asks first:
/// among those who want more than their guarantee there is no order. And the guarantee has a hole where work is charged that
/// was not admitted: see [`Node::charge`].
///
/// # Sizes
///
/// At most 1024 nodes, at most 8 levels below the root. Names are paths, `research/alice`; the root's is `/`. Nodes stay as
/// long as the tree; their shares can be [changed](Self::set_shares). For keys by the thousand, use a keyed limiter below.
///
/// # Cost
///
/// What a node holds itself is admitted without a look at any other node but those on the way to the root, in about the time
/// of seven admissions by a bucket. A loan also reads the numbers of all children of those, and a refusal does so three times,
/// for its wait: with hundreds of siblings that is a microsecond and more (`benches/README.md`). A refusal that meets no change
/// writes nothing. An admission, a charge and a refund take one lock for some stores a level, so those to one tree take turns.
/// No call that admits or refuses allocates.
///
/// # Memory ordering
///
/// As for a bucket: decisions carry no happens-before edge that callers may use, although some do.
///
/// # Algorithm
///
/// The hierarchical token bucket as in Linux's `tc-htb` (M. Devera, 2002): guaranteed rates, ceilings, and borrowing from the
/// parent. Unlike there, rates are exact, decisions are taken when asked for and not by a timer, and a loan is granted only
/// out of what is left when everything that is held for others is left alone; so no debt of a borrower is ever in the way
/// of an owner. See [`docs::theory`](crate::docs).
pub struct Tree<C = Monotonic> {
    quota: Quota,
    store: Store,
    names: BTreeMap<Box<str>, usize>,
    clock: C,
}

impl Tree {
    /// A tree for a quota, to be given nodes.
    pub fn builder(quota: Quota) -> TreeBuilder {
        TreeBuilder::new(quota)
    }
}

impl<C: Clock> Tree<C> {
    /// The node of that name, a path of names with `/` between them; `/` alone is the root.
    ///
    /// Cost: some comparisons of texts. Keep the node, or its [`id`](Node::id).
    pub fn node(&self, name: &str) -> Option<Node<'_, C>> {
        self.names.get(name).map(|&place| Node { tree: self, place })
    }

    /// The node with that id; `None` if it is of a larger tree.
    pub fn by_id(&self, id: NodeId) -> Option<Node<'_, C>> {
        (id.0 < self.store.places().len()).then_some(Node { tree: self, place: id.0 })
    }

    /// The root: all that the tree admits.
    pub fn root(&self) -> Node<'_, C> {
        Node { tree: self, place: 0 }
    }

    /// All nodes, parents before their children, from the root on.
    pub fn nodes(&self) -> impl Iterator<Item = Node<'_, C>> {
        (0..self.store.places().len()).map(|place| Node { tree: self, place })
    }

    /// Gives nodes other shares of their parents: all of them, or none if the shares of some parent's children would be more
    /// than the whole.
    ///
    /// Nothing is refilled: what is held for each node stays, as far as its new burst has room for it, and the rest goes to
    /// the pool. What it owes stays too. Bursts that follow from a share change with it, here and below; bursts and ceilings
    /// that were stated stay as they are. The bound of the whole is not touched. The same shares as before change nothing.
    ///
    /// ```
    /// use tollgate::budget::tree::{Share, Tree};
    /// use tollgate::{Manual, quota};
    ///
    /// let tree = Tree::builder(quota!("100/s")).clock(Manual::new());
    /// let tree = tree.node("a", Share::percent(70)).node("b", Share::percent(30)).build()?;
    /// tree.set_shares([("a", Share::percent(20)), ("b", Share::percent(80))])?;
    /// let held = |name| tree.node(name).map(|node| node.peek().held());
    /// assert_eq!((held("a"), held("b")), (Some(20), Some(30)));
    /// assert!(tree.set_shares([("a", Share::percent(21))]).is_err());
    /// # Ok::<(), tollgate::budget::tree::TreeError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`TreeError`]: a name that is not known (the root has no share), or a reason as when a tree is built. Nothing was
    /// changed.
    pub fn set_shares<'n>(
        &self,
        shares: impl IntoIterator<Item = (&'n str, Share)>,
    ) -> Result<(), TreeError> {
        self.store.set_shares(shares, || self.clock.now_ordered())
    }

    /// [`set_shares`](Self::set_shares) at a reading of the tree's clock.
    ///
    /// # Errors
    ///
    /// As [`set_shares`](Self::set_shares).
    pub fn set_shares_at<'n>(
        &self,
        shares: impl IntoIterator<Item = (&'n str, Share)>,
        now: Nanos,
    ) -> Result<(), TreeError> {
        self.store.set_shares(shares, || now)
    }

    /// The root's quota.
    pub fn quota(&self) -> Quota {
        self.quota
    }

    /// Its clock.
    pub fn clock(&self) -> &C {
        &self.clock
    }

    fn of(quota: Quota, store: Store, clock: C) -> Self {
        let places = store.places().iter().enumerate();
        let names = places.map(|(place, node)| (node.name.clone(), place)).collect();
        Self { quota, store, names, clock }
    }
}

impl<C: Clock> fmt::Debug for Tree<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes: Vec<_> = self.nodes().collect();
        f.debug_struct("Tree").field("quota", &format_args!("{}", self.quota)).field("nodes", &nodes).finish()
    }
}
