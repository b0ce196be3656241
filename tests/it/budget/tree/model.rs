//! A tree in exact numbers, written without looking at the library: every node holds so many parts of a token, time adds to
//! them, and a cost walks up the tree and takes what it finds in each pool.

use crate::oracle::{Answer, Oracle};

/// Parts of a token, so that three levels of tenths are whole numbers.
pub(super) const TOKEN: i128 = 1_000_000;

/// What a node is given: tenths of its parent, and perhaps a burst and a ceiling of `(tokens, period, burst)`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Given {
    /// The parent's place; places count from 1, and 0 is the root.
    pub(super) parent: usize,
    pub(super) tenths: u32,
    pub(super) burst: Option<u64>,
    pub(super) ceiling: Option<(u64, u64, u64)>,
}

#[derive(Clone, Debug)]
struct Held {
    given: Given,
    /// Parts issued to it in a nanosecond.
    rate: i128,
    full: i128,
    there: i128,
    ceiling: Option<Oracle>,
    used: u64,
    borrowed: i128,
}

#[derive(Clone, Debug)]
pub(super) struct Model {
    nodes: Vec<Held>,
    now: u64,
}

/// Why the model refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum No {
    Zero,
    /// For ever, by the ceiling of the node, or by the pools.
    Never(Option<usize>),
    Ceiling(usize),
    Pool,
    Total,
}

impl Model {
    /// A tree of `tokens` a microsecond; `None` if it cannot be.
    pub(super) fn new(tokens: u64, capacity: u64, given: &[Given]) -> Option<Self> {
        let root = Given { parent: 0, tenths: 10, burst: Some(capacity), ceiling: None };
        let (rate, full) = (i128::from(tokens) * TOKEN / 1000, i128::from(capacity) * TOKEN);
        let held = |given: Given| Held {
            given,
            rate,
            full,
            there: full,
            ceiling: given.ceiling.map(|(tokens, period, burst)| Oracle::new(tokens, period.into(), burst)),
            used: 0,
            borrowed: 0,
        };
        let nodes = [root].into_iter().chain(given.iter().copied()).map(held).collect();
        let mut model = Model { nodes, now: 0 };
        model.measure().then_some(())?;
        for node in &mut model.nodes {
            node.there = node.full;
        }
        Some(model)
    }

    /// Works out what each is due; `false` if that cannot be.
    fn measure(&mut self) -> bool {
        for place in 1..self.nodes.len() {
            let given = self.nodes[place].given;
            let parent = &self.nodes[given.parent];
            let tenths = i128::from(given.tenths);
            let (rate, share) = (parent.rate * tenths / 10, parent.full * tenths / 10);
            assert_eq!(
                (parent.rate * tenths % 10, parent.full * tenths % 10),
                (0, 0),
                "the model is not exact"
            );
            let node = &mut self.nodes[place];
            (node.rate, node.full) = (rate, given.burst.map_or(share, |burst| i128::from(burst) * TOKEN));
            node.there = node.there.min(node.full);
        }
        let sum = |place, of: &dyn Fn(&Held) -> i128| self.children(place).map(of).sum::<i128>();
        let all = 0..self.nodes.len();
        let fits = all.clone().all(|place| {
            sum(place, &|node| node.given.tenths.into()) <= 10
                && sum(place, &|node| node.full) <= self.nodes[place].full
        });
        fits && self.nodes.iter().all(|node| node.full >= TOKEN && node.given.tenths > 0)
    }

    /// Gives other shares, or changes nothing.
    pub(super) fn set_shares(&mut self, shares: &[(usize, u32)]) -> bool {
        let mut next = self.clone();
        for &(place, tenths) in shares {
            next.nodes[place].given.tenths = tenths;
        }
        let valid = next.measure();
        if valid {
            *self = next;
        }
        valid
    }

    pub(super) fn advance(&mut self, nanos: u64) {
        self.now += nanos;
        for node in &mut self.nodes {
            node.there = node.full.min(node.there + node.rate * i128::from(nanos));
        }
    }

    pub(super) fn acquire(&mut self, place: usize, cost: u64) -> Result<(), No> {
        self.refuse(place, cost).map_or(Ok(()), Err)?;
        let missing = self.walk(place, cost);
        assert_eq!(missing, 0);
        Ok(())
    }

    pub(super) fn charge(&mut self, place: usize, cost: u64) {
        let missing = self.walk(place, cost);
        for above in self.path(place) {
            self.nodes[above].there -= missing;
            self.nodes[above].borrowed -= missing;
        }
    }

    pub(super) fn refund(&mut self, place: usize, cost: u64) {
        let mut given = i128::from(cost) * TOKEN;
        let now = self.now;
        for above in self.path(place).into_iter().rev() {
            let node = &mut self.nodes[above];
            given = given.min(node.full - node.there);
            node.there += given;
            if let Some(ceiling) = &mut node.ceiling {
                ceiling.refund(cost, now);
            }
        }
    }

    /// Why the cost is refused now, if it is.
    pub(super) fn refuse(&self, place: usize, cost: u64) -> Option<No> {
        if cost == 0 {
            return Some(No::Zero);
        }
        let path = self.path(place);
        let asked =
            |above: usize| self.nodes[above].ceiling.as_ref().map(|ceiling| ceiling.ask(cost, self.now));
        let by = |answer: fn(&Answer) -> bool| {
            path.iter().copied().find(|&above| asked(above).is_some_and(|asked| answer(&asked)))
        };
        if let Some(above) = by(|answer| *answer == Answer::Never) {
            return Some(No::Never(Some(above)));
        }
        if i128::from(cost) * TOKEN > self.most(place) {
            return Some(No::Never(None));
        }
        if let Some(above) = by(|answer| matches!(answer, Answer::Wait(_))) {
            return Some(No::Ceiling(above));
        }
        if self.nodes[0].there < i128::from(cost) * TOKEN {
            return Some(No::Total);
        }
        (self.clone().walk(place, cost) > 0).then_some(No::Pool)
    }

    /// Whole tokens: held, owed, the largest cost that is admitted, ever admitted, used, borrowed.
    pub(super) fn balance(&self, place: usize) -> [u64; 6] {
        let node = &self.nodes[place];
        let up = |parts: i128| u64::try_from(parts).unwrap_or(0).div_ceil(TOKEN as u64);
        let largest = |admitted: &dyn Fn(Option<No>) -> bool| {
            (1..=100).take_while(|&cost| admitted(self.refuse(place, cost))).last().unwrap_or(0)
        };
        [
            node.there.max(0) as u64 / TOKEN as u64,
            up(-node.there),
            largest(&|no| no.is_none()),
            largest(&|no| !matches!(no, Some(No::Never(_)))),
            node.used,
            node.borrowed as u64 / TOKEN as u64,
        ]
    }

    /// Whether someone owes a part of its share.
    pub(super) fn is_in_debt(&self) -> bool {
        self.nodes.iter().any(|node| node.there < 0)
    }

    /// Takes what is found on the way up and tells what is missing.
    fn walk(&mut self, place: usize, cost: u64) -> i128 {
        let mut missing = i128::from(cost) * TOKEN;
        let path = self.path(place);
        for (nth, &above) in path.iter().enumerate() {
            let found = self.pool(above).clamp(0, missing);
            missing -= found;
            for (mth, &higher) in path.iter().enumerate() {
                if mth >= nth {
                    self.nodes[higher].there -= found;
                } else {
                    self.nodes[higher].borrowed += found;
                }
            }
        }
        let now = self.now;
        for above in path {
            self.nodes[above].used += cost;
            self.nodes[above].borrowed += missing;
            if let Some(ceiling) = &mut self.nodes[above].ceiling {
                ceiling.charge(cost, now);
            }
        }
        missing
    }

    /// Held for the node and for none of its children.
    fn pool(&self, place: usize) -> i128 {
        self.nodes[place].there - self.children(place).map(|child| child.there.max(0)).sum::<i128>()
    }

    fn most(&self, place: usize) -> i128 {
        let pool = |above: usize| {
            self.nodes[above].full - self.children(above).map(|child| child.full).sum::<i128>()
        };
        self.path(place).into_iter().map(pool).sum()
    }

    fn children(&self, place: usize) -> impl Iterator<Item = &Held> {
        self.nodes.iter().skip(1).filter(move |node| node.given.parent == place)
    }

    /// From the place up to the root.
    fn path(&self, place: usize) -> Vec<usize> {
        let mut path = vec![place];
        while path[path.len() - 1] != 0 {
            path.push(self.nodes[path[path.len() - 1]].given.parent);
        }
        path
    }
}
