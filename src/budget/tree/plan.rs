//! Who is given what: the nodes as they were stated, and what that amounts to in numbers.

use super::error::TreeError;
use super::share::{Grant, Share, WHOLE, scaled};

/// Levels below the root.
pub(super) const MAX_DEPTH: usize = 8;

/// Nodes, with the root.
pub(super) const MAX_NODES: usize = 1024;

/// The nodes, parents before their children. The first is the root.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    nodes: Vec<Stated>,
}

/// A node as it was stated.
#[derive(Clone, Debug)]
struct Stated {
    name: String,
    /// The place of the parent; of the root, its own.
    parent: usize,
    depth: usize,
    grant: Grant,
}

/// What a node is guaranteed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Measure {
    /// Of the whole tree's rate, in parts of [`WHOLE`].
    pub(super) share: u64,
    /// Held for it at most, in units of the tree's axis.
    pub(super) span: u64,
}

/// What the children of a node are not given yet.
#[derive(Clone, Copy)]
struct Left {
    parts: u64,
    span: u64,
}

impl Plan {
    /// A tree of a root alone.
    pub(super) fn new() -> Self {
        let grant = Grant::from(Share::of(1, 1));
        Self { nodes: vec![Stated { name: "/".to_string(), parent: 0, depth: 0, grant }] }
    }

    /// Adds a node behind its parent.
    pub(super) fn add(&mut self, name: &str, grant: Grant) -> Result<(), TreeError> {
        let node = || name.to_string();
        if name.split('/').any(str::is_empty) {
            return Err(TreeError::Name { node: node() });
        }
        if self.place_of(name).is_some() {
            return Err(TreeError::Twice { node: node() });
        }
        let parent = name.rsplit_once('/').map_or(Some(0), |(parent, _)| self.place_of(parent));
        let parent = parent.ok_or_else(|| TreeError::NoParent { node: node() })?;
        let depth = self.nodes.get(parent).map_or(0, |parent| parent.depth) + 1;
        if depth > MAX_DEPTH {
            return Err(TreeError::TooDeep { node: node() });
        }
        if self.nodes.len() >= MAX_NODES {
            return Err(TreeError::TooMany { node: node() });
        }
        self.nodes.push(Stated { name: node(), parent, depth, grant });
        Ok(())
    }

    /// Gives a node another share.
    pub(super) fn set_share(&mut self, name: &str, share: Share) -> Result<(), TreeError> {
        let node = self.nodes.iter_mut().skip(1).find(|node| node.name == name);
        let node = node.ok_or_else(|| TreeError::Unknown { node: name.to_string() })?;
        node.grant.share = share;
        Ok(())
    }

    /// What each node is guaranteed in a tree that holds `span` units, with `unit` of them to a token.
    ///
    /// A node's share of the whole is its parent's times its own, rounded down; so those of children add up to no more
    /// than their parent's if the shares as stated add up to no more than one. The same with what is held.
    pub(super) fn measures(&self, span: u64, unit: u64) -> Result<Vec<Measure>, TreeError> {
        let mut measures: Vec<Measure> = Vec::with_capacity(self.nodes.len());
        let mut left: Vec<Left> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let measure = match (measures.get(node.parent), left.get_mut(node.parent)) {
                (Some(parent), Some(left)) => node.measure(*parent, left, unit)?,
                _ => Measure { share: WHOLE, span },
            };
            measures.push(measure);
            left.push(Left { parts: WHOLE, span: measure.span });
        }
        Ok(measures)
    }

    /// Names and parents' places, in order.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (&str, usize, Grant)> {
        self.nodes.iter().map(|node| (node.name.as_str(), node.parent, node.grant))
    }

    fn place_of(&self, name: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node.name == name)
    }
}

impl Stated {
    /// What it is guaranteed of its parent, and what that leaves.
    fn measure(&self, parent: Measure, left: &mut Left, unit: u64) -> Result<Measure, TreeError> {
        let (node, share) = (|| self.name.clone(), self.grant.share);
        let parts = share.parts().ok_or_else(|| TreeError::Share { node: node(), share })?;
        let Some(parts_left) = left.parts.checked_sub(parts) else {
            let left_ppm = u32::try_from(left.parts / (WHOLE / 1_000_000)).unwrap_or(0);
            return Err(TreeError::SharesAboveWhole { node: node(), share, left_ppm });
        };
        let measure = Measure {
            share: scaled(parent.share, parts.into(), WHOLE.into()),
            span: self.span(parent, parts, unit),
        };
        if measure.share == 0 {
            return Err(TreeError::ShareVanishes { node: node(), share });
        }
        let burst = self.grant.burst;
        if measure.span < unit {
            return Err(TreeError::BurstBelowOne { node: node(), burst });
        }
        let Some(span_left) = left.span.checked_sub(measure.span) else {
            return Err(TreeError::BurstsAboveParent { node: node(), burst, left: left.span / unit });
        };
        *left = Left { parts: parts_left, span: span_left };
        Ok(measure)
    }

    /// What is held for it at most: as stated, or its share of what is held for the parent.
    fn span(&self, parent: Measure, parts: u64, unit: u64) -> u64 {
        match self.grant.burst {
            Some(tokens) => tokens.saturating_mul(unit),
            None => scaled(parent.span, parts.into(), WHOLE.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TOKEN: u64 = 1000;

    /// Children of each of several nodes below each other, by odd fractions that add up to at most one.
    fn odd() -> impl Strategy<Value = Vec<Vec<(u32, u32)>>> {
        let level = prop::collection::vec(1..=u32::MAX / 6, 1..=6);
        prop::collection::vec(level, 1..=4).prop_map(|levels| {
            let of_their_sum = |parts: Vec<u32>| {
                let whole = parts.iter().sum();
                parts.into_iter().map(|part| (part, whole)).collect()
            };
            levels.into_iter().map(of_their_sum).collect()
        })
    }

    /// The first child of each is the parent of the next ones.
    fn planned(levels: &[Vec<(u32, u32)>]) -> Plan {
        let (mut plan, mut prefix) = (Plan::new(), String::new());
        for level in levels {
            for (nth, &(part, whole)) in level.iter().enumerate() {
                let _ = plan.add(&format!("{prefix}{nth}"), Share::of(part, whole).into());
            }
            prefix += "0/";
        }
        plan
    }

    proptest! {
        #[test]
        fn shares_sum_to_no_more_than_their_parent_and_none_is_zero(levels in odd(), span in any::<u64>()) {
            let plan = planned(&levels);
            let span = (span >> 3).max(1 << 60);
            let measures = match plan.measures(span, 1) {
                Ok(measures) => measures,
                Err(TreeError::ShareVanishes { .. } | TreeError::BurstBelowOne { .. }) => return Ok(()),
                Err(error) => panic!("{error}"),
            };
            prop_assert_eq!(measures[0], Measure { share: WHOLE, span });
            for (parent, of_parent) in measures.iter().enumerate() {
                let children: Vec<_> = (1..measures.len()).filter(|&node| plan.nodes[node].parent == parent).collect();
                let sum = |of: fn(&Measure) -> u64| children.iter().map(|&node| u128::from(of(&measures[node]))).sum::<u128>();
                prop_assert!(sum(|measure| measure.share) <= of_parent.share.into());
                prop_assert!(sum(|measure| measure.span) <= of_parent.span.into());
                for node in children {
                    prop_assert!(measures[node].share > 0 && measures[node].span > 0);
                    let Share { part, whole } = plan.nodes[node].grant.share;
                    let exact = |of: u64| u128::from(of) * u128::from(part) / u128::from(whole);
                    // Two roundings down, of the share to 10^-18 and of the product.
                    prop_assert!(exact(of_parent.share).abs_diff(measures[node].share.into()) <= 2);
                    prop_assert!(exact(of_parent.span).abs_diff(measures[node].span.into()) <= 4);
                }
            }
        }
    }

    #[test]
    fn percents_are_exact_down_to_the_last_level() {
        let plan = planned(&vec![vec![(10, 100), (90, 100)]; MAX_DEPTH]);
        let measures = plan.measures(TOKEN * 100_000_000, TOKEN).unwrap();
        assert_eq!(measures[2 * MAX_DEPTH].share, WHOLE / 100_000_000 * 9);
        assert_eq!(measures[2 * MAX_DEPTH].span, 9 * TOKEN);
    }
}
