//! The line against a list that is searched from end to end, and what the order promises.

use proptest::prelude::*;

use super::*;

/// Entries in no order, and all that ever happened to each class.
#[derive(Default)]
struct Model {
    depth: usize,
    time: u128,
    waiting: Vec<(Key, Waiting<u64>)>,
    called: Vec<u64>,
    log: [Vec<Event>; 8],
    next: u64,
}

#[derive(Clone, Copy)]
enum Event {
    Entered { time: u128, span: u128 },
    Unserved { span: u128 },
}

impl Model {
    fn key(&self, class: u8, cost: u64) -> Key {
        let due = self.log[usize::from(class)].iter().fold(0, |due: u128, event| match *event {
            Event::Entered { time, span } => due.max(time) + span,
            Event::Unserved { span } => due.saturating_sub(span),
        });
        let due = due.max(self.time) + (u128::from(cost) << class);
        let tail = self.sorted().iter().rev().find(|key| key.class == class).map_or(0, |key| key.finish);
        Key { finish: due.max(tail), class, number: self.next }
    }

    fn sorted(&self) -> Vec<Key> {
        let mut keys: Vec<_> = self.waiting.iter().map(|(key, _)| *key).collect();
        keys.sort();
        keys
    }

    fn of(&self, key: &Key) -> &Waiting<u64> {
        &self.waiting.iter().find(|(other, _)| other == key).unwrap().1
    }

    fn ahead(&self, key: &Key) -> u128 {
        let before = self.waiting.iter().filter(|(other, _)| other < key);
        before.map(|(_, waiting)| u128::from(waiting.place.cost)).sum()
    }

    fn enter(&mut self, place: Place, since: Nanos) -> Result<Option<u64>, ()> {
        let key = self.key(place.class, place.cost);
        let mut displaced = None;
        if self.waiting.len() + self.called.len() >= self.depth {
            let last = self.sorted().pop().filter(|last| *last > key).ok_or(())?;
            displaced = Some(self.leave(&last));
        }
        let event = Event::Entered { time: self.time, span: span(&place) };
        self.log[usize::from(place.class)].push(event);
        self.waiting.push((key, Waiting { place, since, item: self.next }));
        self.next += 1;
        Ok(displaced)
    }

    fn take(&mut self, key: &Key) -> Waiting<u64> {
        let at = self.waiting.iter().position(|(other, _)| other == key).unwrap();
        self.waiting.swap_remove(at).1
    }

    fn leave(&mut self, key: &Key) -> u64 {
        let gone = self.take(key);
        self.log[usize::from(key.class)].push(Event::Unserved { span: span(&gone.place) });
        gone.item
    }

    fn call(&mut self) -> Option<u64> {
        let key = *self.sorted().first()?;
        self.time = self.time.max(key.finish);
        let item = self.take(&key).item;
        self.called.push(item);
        Some(item)
    }

    fn first_late(&self, base: u128, opening: Nanos) -> Option<Key> {
        self.sorted().into_iter().find(|key| {
            let Place { cost, deadline, reach, .. } = self.of(key).place;
            let end = base + self.ahead(key) + u128::from(cost);
            deadline < opening || (reach != u64::MAX && end > u128::from(reach))
        })
    }
}

fn span(place: &Place) -> u128 {
    u128::from(place.cost) << place.class
}

#[derive(Clone, Debug)]
enum Op {
    Enter { class: u8, cost: u64, deadline: u64, reach: u64 },
    Call,
    Came(usize),
    PutBack(usize),
    GaveUp(usize),
    Leave(usize),
    TakeLate { base: u64, opening: u64 },
}

fn op() -> impl Strategy<Value = Op> {
    let cost = prop_oneof![4 => 1..4u64, 1 => 1..40u64, 1 => Just(1 << 61)];
    let end = || prop_oneof![4 => 0..60u64, 1 => Just(u64::MAX)];
    prop_oneof![
        6 => (0..=LAST_CLASS, cost, end(), end())
            .prop_map(|(class, cost, deadline, reach)| Op::Enter { class, cost, deadline, reach }),
        2 => Just(Op::Call),
        1 => (0..8usize).prop_map(Op::Came),
        1 => (0..8usize).prop_map(Op::PutBack),
        1 => (0..8usize).prop_map(Op::GaveUp),
        1 => (0..40usize).prop_map(Op::Leave),
        1 => (0..30u64, 0..20u64).prop_map(|(base, opening)| Op::TakeLate { base, opening }),
    ]
}

/// Both, side by side.
struct Pair {
    line: Line<u64>,
    model: Model,
    tickets: Vec<Ticket>,
    turns: Vec<Turn<u64>>,
}

impl Pair {
    fn new(depth: usize) -> Self {
        let model = Model { depth, ..Model::default() };
        Self { line: Line::new(depth), model, tickets: Vec::new(), turns: Vec::new() }
    }

    fn step(&mut self, op: &Op, now: Nanos) {
        match *op {
            Op::Enter { class, cost, deadline, reach } => {
                let place = Place { reach, ..Place::new(class, cost, Nanos::new(deadline)) };
                self.enter(place, now);
            }
            Op::Call => {
                let turn = self.line.call();
                assert_eq!(turn.as_ref().map(|turn| turn.waiting.item), self.model.call());
                self.turns.extend(turn);
            }
            Op::Came(nth) => {
                if let Some(turn) = self.turn(nth) {
                    self.line.came(turn);
                }
            }
            Op::PutBack(nth) => {
                if let Some(turn) = self.turn(nth) {
                    let Turn { key, waiting: Waiting { place, since, item } } = &turn;
                    let waiting = Waiting { place: *place, since: *since, item: *item };
                    self.model.waiting.push((*key, waiting));
                    self.line.put_back(turn);
                }
            }
            Op::GaveUp(nth) => {
                if let Some(turn) = self.turn(nth) {
                    let place = *turn.place();
                    self.model.log[usize::from(place.class)].push(Event::Unserved { span: span(&place) });
                    self.line.gave_up(turn);
                }
            }
            Op::Leave(nth) => {
                if let Some(ticket) = self.tickets.get(nth).copied() {
                    let waits = self.model.sorted().contains(&ticket.0);
                    let left = waits.then(|| self.model.leave(&ticket.0));
                    assert_eq!(self.line.leave(ticket), left);
                }
            }
            Op::TakeLate { base, opening } => {
                let (base, opening) = (base.into(), Nanos::new(opening));
                let late = self.model.first_late(base, opening);
                let late = late.map(|key| (self.model.ahead(&key), self.model.leave(&key)));
                let taken = self.line.take_late(base, opening);
                assert_eq!(taken.map(|gone| (gone.ahead, gone.item)), late);
            }
        }
        self.compare();
    }

    fn enter(&mut self, place: Place, now: Nanos) {
        assert_eq!(
            self.line.ahead_of(place.class, place.cost),
            self.model.ahead(&self.model.key(place.class, place.cost))
        );
        let entered = self.line.enter(place, now, self.model.next);
        match (entered, self.model.enter(place, now)) {
            (Ok(Entered { ticket, displaced }), Ok(expected)) => {
                assert_eq!(displaced.map(|gone| gone.item), expected);
                self.tickets.push(ticket);
            }
            (entered, expected) => assert_eq!(entered.is_err(), expected.is_err()),
        }
    }

    fn turn(&mut self, nth: usize) -> Option<Turn<u64>> {
        (nth < self.turns.len()).then(|| {
            self.model.called.swap_remove(nth);
            self.turns.swap_remove(nth)
        })
    }

    fn compare(&self) {
        let (line, model) = (&self.line, &self.model);
        assert_eq!((line.len(), line.called()), (model.waiting.len(), model.called.len()));
        assert!(line.len() + line.called() <= line.depth());
        assert_eq!(line.is_full(), model.waiting.len() + model.called.len() == model.depth);
        let first = model.sorted().first().map(|key| model.of(key).item);
        assert_eq!(line.front().map(|(_, item)| *item), first);
        assert_eq!(line.oldest(), model.waiting.iter().map(|(_, waiting)| waiting.since).min());
        for ticket in &self.tickets {
            assert_eq!(line.tree.ahead(&ticket.0), model.ahead(&ticket.0));
        }
    }
}

proptest! {
    #[test]
    fn the_line_does_what_a_list_does(depth in 1..20usize, ops in prop::collection::vec(op(), 1..120)) {
        let mut pair = Pair::new(depth);
        for (now, op) in ops.iter().enumerate() {
            pair.step(op, Nanos::new(now as u64));
        }
    }
}

fn place(class: u8, cost: u64) -> Place {
    Place::new(class, cost, Nanos::MAX)
}

fn enter(line: &mut Line<u64>, class: u8, cost: u64, item: u64) -> Ticket {
    line.enter(place(class, cost), Nanos::ZERO, item).unwrap().ticket
}

/// Serves all and tells the items.
fn order(line: &mut Line<u64>) -> Vec<u64> {
    std::iter::from_fn(|| line.serve()).map(|(_, item)| item).collect()
}

#[test]
fn a_higher_class_comes_in_before_a_lower_one_but_not_for_ever() {
    let mut line = Line::new(100);
    enter(&mut line, 2, 1, 1000);
    for item in 0..9 {
        enter(&mut line, 0, 1, item);
    }
    assert_eq!(order(&mut line), [0, 1, 2, 3, 1000, 4, 5, 6, 7, 8]);
}

#[test]
fn a_large_cost_is_not_passed_over() {
    let mut line = Line::new(100);
    enter(&mut line, 0, 10, 1000);
    for item in 0..3 {
        enter(&mut line, 0, 1, item);
    }
    assert_eq!(order(&mut line), [1000, 0, 1, 2]);
}

#[test]
fn who_leaves_leaves_its_share_to_its_class() {
    let mut line = Line::new(100);
    for item in 0..12 {
        enter(&mut line, 0, 1, item);
    }
    let large = enter(&mut line, 1, 100, 1000);
    assert_eq!(line.leave(large), Some(1000));
    enter(&mut line, 1, 1, 1001);
    let first = enter(&mut line, 1, 1, 1002);
    enter(&mut line, 1, 1, 1003);
    assert_eq!(line.leave(first), Some(1002));
    assert_eq!(line.leave(first), None);
    enter(&mut line, 1, 1, 1004);
    assert_eq!(order(&mut line), [0, 1, 1001, 2, 3, 4, 5, 1003, 1004, 6, 7, 8, 9, 10, 11]);
}

/// Whoever waits all the time gets its share, to within one entry of each class, whatever the costs.
#[test]
fn shares_are_two_to_one_from_class_to_class() {
    let mut line = Line::new(1000);
    for class in 0..=LAST_CLASS {
        for nth in 0..100 {
            enter(&mut line, class, 1 + (nth * u64::from(class)) % 5, class.into());
        }
    }
    let mut served = [0; LAST_CLASS as usize + 1];
    for nth in 0..20_000 {
        let (place, class) = line.serve().unwrap();
        served[class as usize] += place.cost;
        enter(&mut line, place.class, 1 + nth % 5, class);
        let (highest, lowest) = (served[0], served[usize::from(LAST_CLASS)]);
        assert!(highest <= (lowest + 2 * 5) << LAST_CLASS, "{served:?}");
    }
    let all: u64 = served.iter().sum();
    for (class, served) in served.iter().enumerate() {
        assert!(served + 5 >= all >> (class + 1), "class {class}: {served} of {all}");
    }
}

#[test]
fn a_flood_of_one_class_does_not_shut_out_another() {
    for (flood, other) in [(0, LAST_CLASS), (LAST_CLASS, 0)] {
        let mut line = Line::new(300);
        for item in 0..300 {
            enter(&mut line, flood, 1, item);
        }
        assert!(line.enter(place(flood, 1), Nanos::ZERO, 300).is_err());
        let entered = line.enter(place(other, 1), Nanos::ZERO, 1000).unwrap();
        assert_eq!(entered.displaced.map(|gone| (gone.item, gone.ahead)), Some((299, 300)));
    }
}

#[test]
fn only_the_late_are_taken() {
    let mut line = Line::new(10);
    for (item, reach) in [(0, 5), (1, 1), (2, 2), (3, 4)] {
        let place = Place { reach, ..place(0, 1) };
        line.enter(place, Nanos::ZERO, item).unwrap();
    }
    // With the second gone, the others make it.
    assert_eq!(line.take_late(0, Nanos::ZERO).map(|gone| (gone.item, gone.ahead)), Some((1, 1)));
    assert!(line.take_late(0, Nanos::ZERO).is_none());
    assert_eq!(line.take_late(1, Nanos::ZERO).map(|gone| gone.item), Some(2));
    assert!(line.take_late(2, Nanos::ZERO).is_none());
}
