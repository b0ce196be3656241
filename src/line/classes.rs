//! The classes' shares: who is due when, in virtual time.

use crate::line::tree::Key;

/// The lowest class. Below it a share would be less than a promise.
pub(crate) const LAST_CLASS: u8 = 7;

/// Virtual time, in which a cost of class `k` takes `2^k` times its amount.
///
/// It is the finish time of what was served last. A class that waits goes on from its own last finish time, another one
/// from the virtual time, so nobody saves up a share by staying away.
pub(super) struct Classes {
    time: u128,
    of: [Class; LAST_CLASS as usize + 1],
}

#[derive(Clone, Copy)]
struct Class {
    waiting: usize,
    /// The finish time of everything that the class was served or waits for. What has left does not count any more.
    due: u128,
    /// The finish time of the last that waits: the next one's is no earlier.
    tail: u128,
}

impl Classes {
    pub(super) fn new() -> Self {
        let class = Class { waiting: 0, due: 0, tail: 0 };
        Self { time: 0, of: [class; LAST_CLASS as usize + 1] }
    }

    pub(super) fn waiting(&self) -> usize {
        self.of.iter().map(|class| class.waiting).sum()
    }

    /// The finish time of a newcomer.
    pub(super) fn finish_of(&self, class: u8, cost: u64) -> u128 {
        let Class { waiting, tail, .. } = self.of[usize::from(class)];
        let due = self.due_with(class, cost);
        if waiting == 0 { due } else { due.max(tail) }
    }

    pub(super) fn enter(&mut self, key: &Key, cost: u64) {
        let due = self.due_with(key.class, cost);
        let class = self.class_mut(key);
        *class = Class { waiting: class.waiting + 1, due, tail: key.finish };
    }

    pub(super) fn serve(&mut self, key: &Key) {
        self.time = self.time.max(key.finish);
        self.class_mut(key).waiting -= 1;
    }

    pub(super) fn put_back(&mut self, key: &Key) {
        let class = self.class_mut(key);
        class.tail = if class.waiting == 0 { key.finish } else { class.tail.max(key.finish) };
        class.waiting += 1;
    }

    /// One left that was not served; `tail` is the finish time of the last that waits on.
    ///
    /// Those behind it keep their places. What it would have taken goes to the next of its class that enters.
    pub(super) fn leave(&mut self, key: &Key, cost: u64, tail: Option<u128>) {
        self.credit(key, cost);
        let class = self.class_mut(key);
        class.waiting -= 1;
        class.tail = tail.unwrap_or(0);
    }

    /// The class is not charged for a cost.
    pub(super) fn credit(&mut self, key: &Key, cost: u64) {
        let span = virtual_span(key.class, cost);
        let class = self.class_mut(key);
        class.due = class.due.saturating_sub(span);
    }

    fn due_with(&self, class: u8, cost: u64) -> u128 {
        self.of[usize::from(class)].due.max(self.time) + virtual_span(class, cost)
    }

    fn class_mut(&mut self, key: &Key) -> &mut Class {
        &mut self.of[usize::from(key.class)]
    }
}

fn virtual_span(class: u8, cost: u64) -> u128 {
    u128::from(cost) << class
}
