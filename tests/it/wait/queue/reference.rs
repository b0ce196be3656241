//! What a queue does, in a list and with the rational model: searched from end to end at every step.

use tollgate::wait::{Entry, Refused};

use crate::oracle::Oracle;

/// A caller as the model sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) class: u8,
    pub(super) cost: u64,
    /// The reading after which it is of no use.
    pub(super) until: u64,
}

/// How it ended: at which reading, and when capacity was expected if it was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Admitted(u64),
    Full(u64, u64),
    Hopeless(u64, u64),
    Cancelled,
}

pub(super) struct Reference {
    bucket: Oracle,
    depth: usize,
    longest_wait: u64,
    /// The latest reading.
    now: u64,
    /// Virtual time, and what each class is due at.
    time: u128,
    due: [u128; 8],
    /// In order.
    waiting: Vec<Waiting>,
    pub(super) ends: Vec<Option<End>>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// Virtual finish time, class and number.
    key: (u128, u8, usize),
    call: Call,
    deadline: u64,
}

impl Call {
    pub(super) fn entry(&self) -> Entry {
        Entry::new(self.cost).class(self.class).until(crate::support::at(self.until))
    }

    fn span(&self) -> u128 {
        u128::from(self.cost) << self.class
    }
}

impl Reference {
    pub(super) fn new(bucket: Oracle, depth: usize, longest_wait: u64) -> Self {
        Self {
            bucket,
            depth,
            longest_wait,
            now: 0,
            time: 0,
            due: [0; 8],
            waiting: Vec::new(),
            ends: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Serves whoever's turn comes up to `now`, each at the first reading at which its tokens are there.
    pub(super) fn go_to(&mut self, now: u64) {
        while let Some(first) = self.waiting.first().copied() {
            let turn = self.bucket.earliest(first.call.cost, self.now) as u64;
            if turn > now {
                break;
            }
            self.now = turn;
            self.bucket.charge(first.call.cost, turn);
            self.time = self.time.max(first.key.0);
            self.waiting.remove(0);
            self.ends[first.key.2] = Some(End::Admitted(turn));
        }
        self.now = now;
    }

    pub(super) fn enter(&mut self, now: u64, call: Call) {
        self.go_to(now);
        let number = self.ends.len();
        self.ends.push(None);
        let due = self.due[usize::from(call.class)].max(self.time) + call.span();
        let tail = self.waiting.iter().rev().find(|waiting| waiting.call.class == call.class);
        let key = (due.max(tail.map_or(0, |tail| tail.key.0)), call.class, number);
        let newcomer = Waiting { key, call, deadline: call.until.min(now.saturating_add(self.longest_wait)) };
        let turn = self.turn(now, &newcomer);
        if turn > newcomer.deadline {
            self.ends[number] = Some(Self::missed(&newcomer, now, turn));
            return;
        }
        let is_full = self.waiting.len() == self.depth;
        let last = self.waiting.last().copied().filter(|last| is_full && last.key > key);
        if is_full && last.is_none() {
            self.ends[number] = Some(End::Full(now, turn));
            return;
        }
        self.due[usize::from(call.class)] = due;
        let place = self.waiting.partition_point(|waiting| waiting.key < key);
        self.waiting.insert(place, newcomer);
        if let Some(last) = last {
            // It is told when its turn would be with the newcomer ahead.
            self.ends[last.key.2] = Some(End::Full(now, self.turn(now, &last)));
            self.remove(last.key.2);
        }
        self.turn_out(now);
        self.go_to(now);
    }

    pub(super) fn cancel(&mut self, now: u64, number: usize) {
        self.go_to(now);
        if self.ends[number].is_none() {
            self.ends[number] = Some(End::Cancelled);
            self.remove(number);
            self.go_to(now);
        }
    }

    fn remove(&mut self, number: usize) {
        let place = self.waiting.iter().position(|waiting| waiting.key.2 == number).unwrap();
        let call = self.waiting.remove(place).call;
        let due = &mut self.due[usize::from(call.class)];
        *due = due.saturating_sub(call.span());
    }

    /// Everybody who cannot make it, from the front: the next ones come the earlier.
    fn turn_out(&mut self, now: u64) {
        let (mut bucket, mut reading) = (self.bucket.clone(), now);
        for waiting in self.waiting.clone() {
            let turn = bucket.earliest(waiting.call.cost, reading) as u64;
            if turn > waiting.deadline {
                self.ends[waiting.key.2] = Some(Self::missed(&waiting, now, turn));
                self.remove(waiting.key.2);
            } else {
                bucket.charge(waiting.call.cost, turn);
                reading = turn;
            }
        }
    }

    /// When its turn is, behind all who are ahead of it.
    fn turn(&self, now: u64, of: &Waiting) -> u64 {
        let (mut bucket, mut reading) = (self.bucket.clone(), now);
        for waiting in self.waiting.iter().take_while(|waiting| waiting.key < of.key) {
            reading = bucket.earliest(waiting.call.cost, reading) as u64;
            bucket.charge(waiting.call.cost, reading);
        }
        bucket.earliest(of.call.cost, reading) as u64
    }

    fn missed(waiting: &Waiting, now: u64, turn: u64) -> End {
        if waiting.call.until <= waiting.deadline { End::Hopeless(now, turn) } else { End::Full(now, turn) }
    }
}

impl End {
    /// What the queue answered, at which reading.
    pub(super) fn told(reading: u64, answer: Result<(), Refused>) -> Self {
        let expected = |refused: &Refused| super::expected(refused);
        match answer {
            Ok(()) => Self::Admitted(reading),
            Err(refused @ Refused::Full(_)) => Self::Full(reading, expected(&refused)),
            Err(refused @ Refused::Hopeless(_)) => Self::Hopeless(reading, expected(&refused)),
            Err(other) => panic!("{other:?}"),
        }
    }
}
