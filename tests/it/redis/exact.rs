//! The script beside the rational model: the same text, on a real server, with the time as an argument.

use proptest::prelude::*;
use redis::{Connection, Script};

use super::server::Server;
use super::told_the_time;
use crate::oracle::{Answer, Oracle, gcd};

pub(super) const SCRIPT: &str = include_str!("../../../src/redis/bucket.lua");
pub(super) const MICROS: u64 = 1_000;

/// A bucket whose script is told the time.
struct Injected {
    script: Script,
    key: String,
    scale: [u64; 3],
}

impl Injected {
    fn new(key: &str, tokens: u64, period_micros: u64, burst: u64) -> Self {
        let shared = gcd(tokens.into(), period_micros.into()) as u64;
        let (p, q) = (tokens / shared, period_micros / shared);
        Self { script: told_the_time(SCRIPT), key: key.to_owned(), scale: [p, q, burst * q] }
    }

    fn units(&self, tokens: u64) -> u64 {
        tokens * self.scale[1]
    }

    fn ask<T: redis::FromRedisValue>(
        &self,
        connection: &mut Connection,
        verb: &str,
        numbers: &[u64],
        micros: u64,
    ) -> T {
        let mut call = self.script.key(&self.key);
        call.arg(verb);
        self.scale.iter().chain(numbers).for_each(|number| {
            call.arg(*number);
        });
        call.arg(micros / 1_000_000).arg(micros % 1_000_000).invoke(connection).unwrap()
    }

    /// 0 if admitted, else the wait in microseconds.
    fn acquire(&self, connection: &mut Connection, cost: u64, micros: u64) -> u64 {
        let answer: Vec<u64> = self.ask(connection, "acquire", &[self.units(cost)], micros);
        if answer[0] == 0 { 0 } else { answer[1] }
    }

    /// What is asked for, and what is owed besides, follows from two numbers.
    fn draw(&self, connection: &mut Connection, cost: u64, other: u64, micros: u64) -> [u64; 4] {
        let [least, parts, owed, whole] = draw_of(cost, other);
        let numbers = [least, cost, parts, self.units(owed), self.units(whole)];
        self.ask(connection, "draw", &numbers, micros)
    }

    fn deficit(&self, connection: &mut Connection, micros: u64) -> u64 {
        self.ask::<(u64, u64)>(connection, "peek", &[], micros).0
    }
}

/// At least how much, one part in how many of what is there, what is owed, and how much of that may be debt.
fn draw_of(cost: u64, other: u64) -> [u64; 4] {
    [other % (cost + 1), 1 + other % 10, if other.is_multiple_of(3) { other } else { 0 }, 2 * cost]
}

/// The model of it: what is lent and what is left, the wait for one token, and the pause.
fn drawn(model: &mut Oracle, cost: u64, other: u64, nanos: u64) -> [u64; 4] {
    let [least, parts, owed, whole] = draw_of(cost, other);
    if owed > 0 {
        model.owe(owed, whole, nanos);
    }
    let paused = model.paused_for(nanos);
    let there = if paused > 0 { 0 } else { model.available(nanos) };
    let lent = model.take_up_to(cost.min(least.max(there / parts)), nanos);
    let wait = match model.ask(1, nanos) {
        Answer::Admitted => 0,
        Answer::Wait(nanos) => nanos.div_ceil(MICROS.into()) as u64,
        other => panic!("{other:?}"),
    };
    [lent, there - lent, wait, paused.div_ceil(MICROS)]
}

/// 2026, in microseconds: as large as the server's own times.
pub(super) const NOW: u64 = 1_790_000_000_000_000;

#[test]
fn c86_a_clock_that_is_behind_refills_nothing_twice() {
    for server in Server::each() {
        let (mut connection, limit) = (server.connection(), Injected::new("x", 150, 1_000_000, 150));
        assert_eq!(limit.acquire(&mut connection, 2, NOW + 1_000_000), 0);
        assert_eq!(limit.acquire(&mut connection, 10, NOW), 0);
        let missing = limit.deficit(&mut connection, NOW + 1_000_000);
        assert_eq!((limit.scale[2] - missing) / limit.scale[1], 138);
    }
}

#[test]
fn a_settlement_gives_back_what_refill_has_not() {
    for server in Server::each() {
        let (mut connection, limit) = (server.connection(), Injected::new("x", 60_000, 60_000_000, 60_000));
        let charged: Vec<u64> = limit.ask(&mut connection, "acquire", &[limit.units(40_000)], NOW);
        let settle = |connection: &mut Connection, actual: u64, micros: u64| {
            let numbers =
                [limit.units(40_000), limit.units(actual), charged[1], charged[2], charged[3], charged[4]];
            limit.ask::<u64>(connection, "settle", &numbers, micros)
        };
        // After 30 s refill has made good 30 000 of the 40 000; of a surplus of 39 000 the other 10 000 are
        // due.
        assert_eq!(settle(&mut connection, 1_000, NOW + 30_000_000), 0);
        assert_eq!(limit.deficit(&mut connection, NOW + 30_000_000), 0);
        assert_eq!(settle(&mut connection, 1_000, NOW + 30_000_000), 0, "a second one finds nothing due");
        // A bucket that was full since owes nothing, whatever was charged to it later.
        assert_eq!(limit.acquire(&mut connection, 50_000, NOW + 31_000_000), 0);
        assert_eq!(settle(&mut connection, 0, NOW + 31_000_000), 0);
        assert_eq!(limit.deficit(&mut connection, NOW + 31_000_000), limit.units(50_000));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Many buckets on one server: each step's answer and each deficit is the model's.
    #[test]
    fn the_script_is_the_rational_model(
        buckets in prop::collection::vec(
            (
                (1..2_000_u64, 1..3_000_000_u64, 1..300_u64),
                prop::collection::vec((0..10_u8, 1..330_u64, 0..330_u64, 0..2_000_000_u64), 1..30),
            ),
            1..12,
        ),
    ) {
        let server = Server::start();
        let mut connection = server.connection();
        for (number, ((tokens, period, burst), steps)) in buckets.into_iter().enumerate() {
            let limit = Injected::new(&format!("x{number}"), tokens, period, burst);
            let mut model = Oracle::new(tokens, u128::from(period * MICROS), burst);
            let (mut now, base) = (0, NOW);
            for (verb, cost, other, passed) in steps {
                now += passed;
                let (micros, nanos) = (base + now, now * MICROS);
                match verb {
                    0..=2 => {
                        let cost = cost.min(burst);
                        let expected = match model.try_take(cost, nanos) {
                            Answer::Admitted => 0,
                            Answer::Wait(nanos) => nanos.div_ceil(MICROS.into()) as u64,
                            other => panic!("{other:?}"),
                        };
                        prop_assert_eq!(limit.acquire(&mut connection, cost, micros), expected);
                    }
                    3 => prop_assert_eq!(
                        limit.ask::<u64>(&mut connection, "lend", &[cost], micros),
                        model.take_up_to(cost, nanos)
                    ),
                    4 => {
                        limit.ask::<u64>(&mut connection, "charge", &[limit.units(cost)], micros);
                        model.charge(cost, nanos);
                    }
                    5 => {
                        limit.ask::<u64>(&mut connection, "refund", &[limit.units(cost)], micros);
                        model.refund(cost, nanos);
                    }
                    6 => {
                        let numbers = [limit.units(cost), limit.units(other)];
                        limit.ask::<u64>(&mut connection, "owe", &numbers, micros);
                        model.owe(cost, other, nanos);
                    }
                    7 | 8 => prop_assert_eq!(
                        limit.draw(&mut connection, cost, other, micros),
                        drawn(&mut model, cost, other, nanos)
                    ),
                    _ => {
                        limit.ask::<u64>(&mut connection, "pause", &[cost * 1_000], micros);
                        model.pause_until(nanos + cost * 1_000 * MICROS);
                    }
                }
                let expected = model.missing(nanos) * i128::from(limit.scale[1]) / model.parts_of_a_token();
                prop_assert_eq!(i128::from(limit.deficit(&mut connection, micros)), expected);
            }
        }
    }
}
