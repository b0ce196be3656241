//! Several buckets in one call.

use proptest::prelude::*;
use redis::Connection;
use redis::aio::MultiplexedConnection;
use tollgate::redis::{AllOfRefused, NotTogether, RedisAllOf};
use tollgate::{Denied, Quota, quota};

use super::exact::{MICROS, NOW, SCRIPT};
use super::server::{FREE, Server};
use super::{PATIENCE, told_the_time};
use crate::oracle::{Answer, Oracle, gcd};

const REQUESTS: &str = "{limits}:requests";
const TOKENS: &str = "{limits}:tokens";

async fn two(server: &Server) -> RedisAllOf<MultiplexedConnection, 2> {
    let limits = [(REQUESTS, quota!("1/h burst 10")), (TOKENS, quota!("2/h burst 100"))];
    RedisAllOf::new(server.connect().await, limits).unwrap().with_deadline(PATIENCE)
}

async fn available(limits: &RedisAllOf<MultiplexedConnection, 2>) -> [u64; 2] {
    let [requests, tokens] = limits.buckets() else { panic!() };
    [requests.peek().await.unwrap().available, tokens.peek().await.unwrap().available]
}

fn refused(refused: AllOfRefused) -> (usize, String, Denied) {
    match refused {
        AllOfRefused::Denied { place, key, denied } => (place, key, denied),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn all_are_taken_or_none() {
    for server in Server::each() {
        let limits = two(&server).await;
        limits.try_acquire([3, 90]).await.unwrap();
        assert_eq!(available(&limits).await, [7, 10]);
        let (place, key, denied) = refused(limits.try_acquire([1, 11]).await.unwrap_err());
        assert_eq!((place, key.as_str()), (1, TOKENS));
        assert!(denied.wait().unwrap().as_secs() > 1_790 && denied.wait().unwrap().as_secs() <= 1_800);
        let (place, ..) = refused(limits.try_acquire([8, 10]).await.unwrap_err());
        assert_eq!(place, 0);
        // An hour against half an hour: the one that refuses for the longest is named.
        let error = limits.try_acquire([8, 11]).await.unwrap_err();
        assert!(error.to_string().starts_with("{limits}:requests: not yet"), "{error}");
        assert_eq!(error.wait(), refused(error).2.wait());
        let error = limits.try_acquire([8, 14]).await.unwrap_err();
        assert_eq!(refused(error).1, TOKENS, "two hours against one");
        assert_eq!(available(&limits).await, [7, 10], "refusals took nothing");
        limits.try_acquire([7, 10]).await.unwrap();
        assert_eq!(available(&limits).await, [0, 0]);
    }
}

#[tokio::test]
async fn what_is_never_admitted_is_named_first_and_does_not_ask_the_server() {
    let mut server = Server::start();
    let limits = two(&server).await;
    server.kill();
    let (place, _, denied) = refused(limits.try_acquire([0, 101]).await.unwrap_err());
    assert_eq!((place, denied), (0, Denied::ZeroCost));
    let (place, _, denied) = refused(limits.try_acquire([1, 101]).await.unwrap_err());
    assert_eq!((place, denied), (1, Denied::OverCapacity { cost: 101, capacity: 100 }));
    assert!(matches!(limits.try_acquire([1, 1]).await, Err(AllOfRefused::Store(_))));
}

#[tokio::test]
async fn several_are_settled_in_one_call() {
    let server = Server::start();
    let limits = two(&server).await;
    let call = limits.reserve([2, 60]).await.unwrap();
    assert_eq!((call.estimates(), available(&limits).await), ([2, 60], [8, 40]));
    call.settle([1, 140]).await.unwrap();
    assert_eq!(available(&limits).await, [9, 0]);
    assert_eq!(limits.buckets()[1].peek().await.unwrap().debt, 40);
    limits.buckets()[1].reset().await.unwrap();
    limits.reserve([3, 30]).await.unwrap().release().await.unwrap();
    drop(limits.reserve([4, 40]).await.unwrap());
    assert_eq!(available(&limits).await, [5, 60]);
    limits.buckets()[0].pause_for(PATIENCE).await.unwrap();
    let (_, key, _) = refused(limits.try_acquire([1, 1]).await.unwrap_err());
    assert_eq!(key, REQUESTS, "one that is paused refuses for all");
}

#[tokio::test]
async fn limits_of_different_slots_are_refused() {
    let server = Server::start();
    let connection = server.connect().await;
    let error = |limits: [(&str, Quota); 2]| RedisAllOf::new(connection.clone(), limits).unwrap_err();
    let other = error([("requests", quota!("1/s")), ("tokens", quota!("1/s"))]);
    assert!(
        matches!(&other, NotTogether::OtherSlot { first, other, .. } if first == "requests" && other == "tokens")
    );
    assert!(
        other.to_string().starts_with("key: \"tokens\" has slot 11935 and \"requests\" has slot "),
        "{other}"
    );
    let same = error([("x", quota!("1/s")), ("x", quota!("1/s"))]);
    assert_eq!(same, NotTogether::SameKey { key: "x".into() });
    let unkept = error([("{x}", quota!("1/s")), ("{x}:", quota!("1/s empty"))]);
    assert!(unkept.to_string().starts_with("\"{x}:\": initial fill: "), "{unkept}");
    let none: [(&str, Quota); 0] = [];
    assert_eq!(RedisAllOf::new(connection.clone(), none).unwrap_err(), NotTogether::NoLimits);
}

/// The server's own word on slots, by which keys are found to lie together or apart.
#[tokio::test]
async fn slots_are_the_servers() {
    let server = Server::start_with(&["--cluster-enabled", "yes", "--cluster-port", FREE]);
    let keys = [
        "",
        "x",
        "{x}",
        "a{x}b",
        "{}x",
        "a{}{x}",
        "{{x}}",
        "{x}{y}",
        "}{x",
        "{x",
        "x}",
        "{é}:ü",
        "123456789",
        "{x}}",
    ];
    let slot = |key: &str| -> u16 {
        redis::cmd("CLUSTER").arg("KEYSLOT").arg(key).query(&mut server.connection()).unwrap()
    };
    let connection = server.connect().await;
    for first in keys {
        for other in keys.into_iter().filter(|other| *other != first) {
            let limits = RedisAllOf::new(connection.clone(), [first, other].map(|key| (key, quota!("1/s"))));
            match limits {
                Ok(_) => assert_eq!(slot(first), slot(other), "{first} {other}"),
                Err(NotTogether::OtherSlot { first_slot, other_slot, .. }) => {
                    assert_eq!((first_slot, other_slot), (slot(first), slot(other)), "{first} {other}");
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// The script, told the time, on several keys.
struct Injected {
    script: redis::Script,
    keys: Vec<String>,
    /// `p`, `q` and the capacity in units, of each.
    scales: Vec<[u64; 3]>,
}

impl Injected {
    fn ask<T: redis::FromRedisValue>(
        &self,
        to: &mut Connection,
        verb: &str,
        numbers: &[u64],
        micros: u64,
    ) -> T {
        let mut call = self.script.prepare_invoke();
        self.keys.iter().for_each(|key| {
            call.key(key);
        });
        call.arg(verb);
        self.scales.iter().flatten().chain(numbers).for_each(|number| {
            call.arg(*number);
        });
        call.arg(micros / 1_000_000).arg(micros % 1_000_000).invoke(to).unwrap()
    }

    fn deficit(&self, to: &mut Connection, at: usize, micros: u64) -> u64 {
        let one = Self {
            script: self.script.clone(),
            keys: vec![self.keys[at].clone()],
            scales: vec![self.scales[at]],
        };
        one.ask::<(u64, u64)>(to, "peek", &[], micros).0
    }
}

/// The largest wait of all, and the first that has it, counted from 1; nothing if all admit.
fn model_refuses(models: &[Oracle], costs: &[u64], nanos: u64) -> Option<(u64, u64)> {
    let waits = models.iter().zip(costs).map(|(model, &cost)| match model.ask(cost, nanos) {
        Answer::Admitted => 0,
        Answer::Wait(nanos) => nanos.div_ceil(MICROS.into()) as u64,
        other => panic!("{other:?}"),
    });
    let waits: Vec<u64> = waits.collect();
    let longest = *waits.iter().max()?;
    let first = waits.iter().position(|&wait| wait == longest)? as u64 + 1;
    (longest > 0).then_some((first, longest))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Each joint answer is the models', and after it each bucket is where its model is.
    #[test]
    fn the_script_is_several_rational_models(
        quotas in prop::collection::vec((1..2_000_u64, 1..3_000_000_u64, 1..300_u64), 1..5),
        steps in prop::collection::vec(
            (0..8_u8, prop::collection::vec(1..330_u64, 5), 0..2_000_000_u64, 0..100_u64),
            1..60,
        ),
    ) {
        let server = Server::start();
        let mut connection = server.connection();
        let scale = |&(tokens, period, burst): &(u64, u64, u64)| {
            let shared = gcd(tokens.into(), period.into()) as u64;
            [tokens / shared, period / shared, burst * (period / shared)]
        };
        let limit = Injected {
            script: told_the_time(SCRIPT),
            keys: (0..quotas.len()).map(|at| format!("{{x}}{at}")).collect(),
            scales: quotas.iter().map(scale).collect(),
        };
        let mut models: Vec<Oracle> = quotas
            .iter()
            .map(|&(tokens, period, burst)| Oracle::new(tokens, u128::from(period * MICROS), burst))
            .collect();
        let mut now = 0;
        for (pauses, costs, passed, actual) in steps {
            now += passed;
            let (micros, nanos) = (NOW + now, now * MICROS);
            if pauses == 0 {
                // The verb is about the first of them.
                limit.ask::<u64>(&mut connection, "pause", &[costs[0] * 1_000], micros);
                models[0].pause_until(nanos + costs[0] * 1_000 * MICROS);
            }
            let costs: Vec<u64> = costs.iter().zip(&quotas).map(|(cost, quota)| *cost.min(&quota.2)).collect();
            let units: Vec<u64> = costs.iter().zip(&limit.scales).map(|(cost, scale)| cost * scale[1]).collect();
            let answer: Vec<u64> = limit.ask(&mut connection, "acquire", &units, micros);
            match model_refuses(&models, &costs, nanos) {
                Some((first, longest)) => prop_assert_eq!(answer, [first, longest]),
                None => {
                    prop_assert_eq!((answer[0], answer.len()), (0, 1 + 4 * models.len()));
                    let mut numbers = Vec::new();
                    for (at, (&cost, model)) in costs.iter().zip(&mut models).enumerate() {
                        model.charge(cost, nanos);
                        let actual = cost * actual / 50;
                        // Settled at once: all of a surplus is due, and all that is missing is debt.
                        if actual > cost { model.charge(actual - cost, nanos) } else { model.refund(cost - actual, nanos) }
                        numbers.extend([units[at], actual * limit.scales[at][1]]);
                        numbers.extend(&answer[1 + 4 * at..5 + 4 * at]);
                    }
                    limit.ask::<u64>(&mut connection, "settle", &numbers, micros);
                }
            }
            for (at, model) in models.iter().enumerate() {
                let expected = model.missing(nanos) * i128::from(limit.scales[at][1]) / model.parts_of_a_token();
                prop_assert_eq!(i128::from(limit.deficit(&mut connection, at, micros)), expected);
            }
        }
    }
}
