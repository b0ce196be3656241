//! A search tree that also knows sums: the cost ahead of an entry, and the first entry that cannot make it.
//!
//! A treap (C. R. Aragon and R. G. Seidel, "Randomized search trees", FOCS 1989): every operation takes logarithmic
//! time, expected over the random seed, and no caller knows the seed.

use std::cmp::Ordering;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use crate::line::Place;
use crate::nanos::Nanos;

/// The order of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    /// Virtual time.
    pub(super) finish: u128,
    pub(super) class: u8,
    /// In the order of arrival; no two entries have the same.
    pub(super) number: u64,
}

pub(super) struct Waiting<T> {
    pub(super) place: Place,
    pub(super) since: Nanos,
    pub(super) item: T,
}

/// Entries in order.
pub(super) struct Tree<T> {
    root: Link<T>,
    seed: RandomState,
}

/// What makes an entry late; see [`Line::take_late`](super::Line::take_late).
pub(super) struct Late {
    pub(super) base: u128,
    pub(super) opening: Nanos,
}

/// What is to be known of some neighbours in the order.
#[derive(Clone, Copy)]
pub(super) struct Summary {
    /// The cost of all of them.
    cost: u128,
    /// The largest base with which none of them is late, if only they are in the line.
    slack: i128,
    deadline: Nanos,
    pub(super) since: Nanos,
    /// A bit for each class.
    classes: u8,
}

struct Node<T> {
    key: Key,
    waiting: Waiting<T>,
    /// Higher than that of its children.
    priority: u64,
    left: Link<T>,
    right: Link<T>,
    /// Of the whole subtree.
    summary: Summary,
}

type Link<T> = Option<Box<Node<T>>>;

impl<T> Tree<T> {
    pub(super) fn new() -> Self {
        Self { root: None, seed: RandomState::new() }
    }

    pub(super) fn summary(&self) -> Option<Summary> {
        self.root.as_ref().map(|root| root.summary)
    }

    pub(super) fn insert(&mut self, key: Key, waiting: Waiting<T>) {
        let (summary, priority) = (Summary::of(&key, &waiting), self.seed.hash_one(key.number));
        let node = Some(Box::new(Node { key, waiting, priority, left: None, right: None, summary }));
        let (before, after) = split(self.root.take(), &key);
        self.root = merge(merge(before, node), after);
    }

    pub(super) fn remove(&mut self, key: &Key) -> Option<Waiting<T>> {
        remove(&mut self.root, key)
    }

    pub(super) fn first(&self) -> Option<(Key, &Waiting<T>)> {
        let mut node = self.root.as_ref()?;
        while let Some(left) = &node.left {
            node = left;
        }
        Some((node.key, &node.waiting))
    }

    pub(super) fn take_first(&mut self) -> Option<(Key, Waiting<T>)> {
        take_first(&mut self.root)
    }

    pub(super) fn last(&self) -> Option<Key> {
        let mut node = self.root.as_ref()?;
        while let Some(right) = &node.right {
            node = right;
        }
        Some(node.key)
    }

    /// The last of a class.
    pub(super) fn last_of(&self, class: u8) -> Option<Key> {
        let has = |link: &Link<T>| link.as_ref().is_some_and(|node| node.summary.classes & (1 << class) != 0);
        let mut link = &self.root;
        while has(link) {
            let node = link.as_ref()?;
            link = match () {
                () if has(&node.right) => &node.right,
                () if node.key.class == class => return Some(node.key),
                () => &node.left,
            };
        }
        None
    }

    /// The cost of all entries before the key.
    pub(super) fn ahead(&self, key: &Key) -> u128 {
        let (mut link, mut ahead) = (&self.root, 0);
        while let Some(node) = link {
            if *key <= node.key {
                link = &node.left;
            } else {
                ahead += cost_of(&node.left) + u128::from(node.waiting.place.cost);
                link = &node.right;
            }
        }
        ahead
    }

    /// The first entry that is late.
    pub(super) fn first_late(&self, late: &Late) -> Option<Key> {
        let (mut link, mut ahead) = (&self.root, late.base);
        while let Some(node) = link {
            if !late.is_any_of(&node.summary, ahead) {
                return None;
            }
            if node.left.as_ref().is_some_and(|left| late.is_any_of(&left.summary, ahead)) {
                link = &node.left;
                continue;
            }
            ahead += cost_of(&node.left);
            let own = Summary::of(&node.key, &node.waiting);
            if late.is_any_of(&own, ahead) {
                return Some(node.key);
            }
            ahead += own.cost;
            link = &node.right;
        }
        None
    }
}

impl Late {
    /// Whether one of them is late when the count stands at `base` before the first.
    fn is_any_of(&self, summary: &Summary, base: u128) -> bool {
        summary.deadline < self.opening || summary.slack < signed(base)
    }
}

impl Summary {
    fn of<T>(key: &Key, waiting: &Waiting<T>) -> Self {
        let Place { cost, deadline, reach, .. } = waiting.place;
        let slack = if reach == u64::MAX { i128::MAX } else { i128::from(reach) - i128::from(cost) };
        Self { cost: cost.into(), slack, deadline, since: waiting.since, classes: 1 << key.class }
    }

    /// Of these and the ones behind them.
    fn then(self, behind: &Self) -> Self {
        Self {
            cost: self.cost + behind.cost,
            slack: self.slack.min(behind.slack.saturating_sub(signed(self.cost))),
            deadline: self.deadline.min(behind.deadline),
            since: self.since.min(behind.since),
            classes: self.classes | behind.classes,
        }
    }
}

impl<T> Node<T> {
    fn summarise(&mut self) {
        let mut summary = Summary::of(&self.key, &self.waiting);
        if let Some(left) = &self.left {
            summary = left.summary.then(&summary);
        }
        if let Some(right) = &self.right {
            summary = summary.then(&right.summary);
        }
        self.summary = summary;
    }
}

fn signed(cost: u128) -> i128 {
    i128::try_from(cost).unwrap_or(i128::MAX)
}

fn cost_of<T>(link: &Link<T>) -> u128 {
    link.as_ref().map_or(0, |node| node.summary.cost)
}

/// Those before the key, and the others.
fn split<T>(link: Link<T>, key: &Key) -> (Link<T>, Link<T>) {
    let Some(mut node) = link else {
        return (None, None);
    };
    if node.key < *key {
        let (before, after) = split(node.right.take(), key);
        node.right = before;
        node.summarise();
        (Some(node), after)
    } else {
        let (before, after) = split(node.left.take(), key);
        node.left = after;
        node.summarise();
        (before, Some(node))
    }
}

/// All of both; every key of the first is before every key of the second.
fn merge<T>(first: Link<T>, second: Link<T>) -> Link<T> {
    match (first, second) {
        (None, link) | (link, None) => link,
        (Some(mut first), Some(second)) if first.priority > second.priority => {
            first.right = merge(first.right.take(), Some(second));
            first.summarise();
            Some(first)
        }
        (first, Some(mut second)) => {
            second.left = merge(first, second.left.take());
            second.summarise();
            Some(second)
        }
    }
}

fn remove<T>(link: &mut Link<T>, key: &Key) -> Option<Waiting<T>> {
    let node = link.as_mut()?;
    let removed = match key.cmp(&node.key) {
        Ordering::Less => remove(&mut node.left, key)?,
        Ordering::Greater => remove(&mut node.right, key)?,
        Ordering::Equal => {
            let mut node = link.take()?;
            *link = merge(node.left.take(), node.right.take());
            return Some(node.waiting);
        }
    };
    node.summarise();
    Some(removed)
}

fn take_first<T>(link: &mut Link<T>) -> Option<(Key, Waiting<T>)> {
    let node = link.as_mut()?;
    if let Some(first) = take_first(&mut node.left) {
        node.summarise();
        return Some(first);
    }
    let node = link.take()?;
    *link = node.right;
    Some((node.key, node.waiting))
}
