//! Permits with leases.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use redis::Commands;
use redis::aio::MultiplexedConnection;
use tollgate::redis::{LeaseLost, NoInFlight, NoRedisPermit, NotRenewed, RedisHeld, RedisInFlight};

use super::exact::NOW;
use super::proxy::{Fate, Proxy};
use super::server::{Server, client};
use super::{PATIENCE, time_to_live, told_the_time};

const KEY: &str = "{limits}:in-flight";
const HOUR: Duration = Duration::from_secs(3_600);
const SHORT: Duration = Duration::from_millis(150);

async fn permits(server: &Server, limit: u32, lease: Duration) -> RedisInFlight<MultiplexedConnection> {
    RedisInFlight::new(server.connect().await, KEY, limit, lease).unwrap().with_deadline(PATIENCE)
}

/// What is given back by a task of its own is back soon.
async fn until_free(limit: &RedisInFlight<MultiplexedConnection>) {
    for _ in 0..2_000 {
        if limit.peek().await.unwrap() == (RedisHeld { in_use: 0, permits: 0 }) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{:?}", limit.peek().await);
}

#[tokio::test]
async fn all_machines_together_hold_no_more_than_the_limit() {
    for server in Server::each() {
        let (first, second) = (permits(&server, 10, HOUR).await, permits(&server, 10, HOUR).await);
        let seven = first.try_acquire_n(7).await.unwrap();
        let one = second.try_acquire().await.unwrap();
        assert_eq!((seven.weight(), one.weight()), (7, 1));
        let busy = second.try_acquire_n(3).await.unwrap_err();
        assert!(matches!(busy, NoRedisPermit::Busy { in_use: 8, limit: 10 }), "{busy:?}");
        assert_eq!(busy.to_string(), "8 of 10 permits are held");
        assert_eq!(second.peek().await.unwrap(), RedisHeld { in_use: 8, permits: 2 });
        assert!(seven.release().await.unwrap());
        let nine = second.try_acquire_n(9).await.unwrap();
        assert!(one.release().await.unwrap() && nine.release().await.unwrap());
        assert!(!server.connection().exists::<_, bool>(KEY).unwrap(), "nothing is held, nothing is kept");
        // A refusal leaves no key.
        let _: () = server.command("SCRIPT FLUSH");
        drop(first.try_acquire_n(10).await.unwrap());
        until_free(&first).await;
    }
}

#[tokio::test]
async fn a_weight_that_is_never_admitted_does_not_ask_the_server() {
    let mut server = Server::start();
    let limit = permits(&server, 10, HOUR).await;
    server.kill();
    assert!(matches!(limit.try_acquire_n(0).await, Err(NoRedisPermit::ZeroWeight)));
    let over = limit.try_acquire_n(11).await;
    assert!(matches!(over, Err(NoRedisPermit::OverLimit { weight: 11, limit: 10 })));
    assert!(matches!(limit.try_acquire().await, Err(NoRedisPermit::Store(_))));
}

#[tokio::test]
async fn limits_and_leases_that_cannot_be_are_refused() {
    let server = Server::start();
    let connection = server.connect().await;
    let error = |limit, lease| RedisInFlight::new(connection.clone(), KEY, limit, lease).unwrap_err();
    assert_eq!(error(0, HOUR), NoInFlight::Limit { limit: 0 });
    assert_eq!(error(1 << 31, HOUR).to_string(), "limit: 2147483648 is not in 1..=2147483647");
    assert_eq!(error(1, Duration::ZERO).to_string(), "lease: 0ns is not from 10 ms to 30 days");
    assert_eq!(error(1, 721 * HOUR), NoInFlight::Lease { lease: 721 * HOUR });
}

/// A holder that was killed renews nothing and gives nothing back.
#[tokio::test]
async fn what_a_dead_holder_held_comes_back_when_its_lease_ends() {
    for server in Server::each() {
        let (limit, long) = (permits(&server, 2, SHORT).await, permits(&server, 2, HOUR).await);
        let begin = Instant::now();
        let permit = limit.try_acquire_n(2).await.unwrap();
        assert!(permit.remaining() <= SHORT);
        std::mem::forget(permit);
        let left = time_to_live(&server, KEY);
        assert!(left == -2 || (1..=150).contains(&left), "{left}: the key ends with its last lease");
        let others = loop {
            assert!(begin.elapsed() < PATIENCE, "its lease does not end");
            match long.try_acquire_n(2).await {
                Ok(permit) => break permit,
                Err(refused) => {
                    assert!(matches!(refused, NoRedisPermit::Busy { in_use: 2, .. }), "{refused}")
                }
            }
        };
        assert!(begin.elapsed() >= SHORT, "not before its lease was over");
        assert_eq!(long.peek().await.unwrap(), RedisHeld { in_use: 2, permits: 1 });
        assert!(others.release().await.unwrap());
    }
}

#[tokio::test]
async fn c87_after_every_answer_the_key_of_permits_has_a_time_to_live_or_is_gone() {
    let server = Server::start();
    let (limit, brief) = (permits(&server, 3, HOUR).await, permits(&server, 3, HOUR / 2).await);
    let hours = |halves: i64| halves * 1_800_000 - 60_000..=halves * 1_800_000;
    let left = || time_to_live(&server, KEY);
    let first = brief.try_acquire().await.unwrap();
    assert!(hours(1).contains(&left()), "{}", left());
    let mut second = limit.try_acquire().await.unwrap();
    assert!(hours(2).contains(&left()), "the longer one counts: {}", left());
    assert!(brief.try_acquire_n(2).await.is_err());
    second.renew().await.unwrap();
    assert!(hours(2).contains(&left()), "{}", left());
    assert!(second.release().await.unwrap());
    assert!(hours(1).contains(&left()), "the shorter one is left: {}", left());
    // A key that was made to live for ever heals itself.
    let _: () = server.connection().persist(KEY).unwrap();
    let third = brief.try_acquire().await.unwrap();
    assert!(hours(1).contains(&left()), "{}", left());
    assert!(first.release().await.unwrap() && third.release().await.unwrap());
    assert_eq!(left(), -2);
}

#[tokio::test]
async fn a_late_release_gives_back_nothing_that_is_anothers() {
    let server = Server::start();
    let (brief, long) = (permits(&server, 2, SHORT).await, permits(&server, 2, HOUR).await);
    let mut late = brief.try_acquire_n(2).await.unwrap();
    tokio::time::sleep(SHORT).await;
    let others = long.try_acquire_n(2).await.unwrap();
    assert!(late.remaining().is_zero());
    assert!(matches!(late.renew().await, Err(NotRenewed::Lost(LeaseLost))));
    assert!(!late.release().await.unwrap(), "it was over");
    assert_eq!(long.peek().await.unwrap().in_use, 2);
    assert!(matches!(brief.try_acquire().await, Err(NoRedisPermit::Busy { .. })));
    assert!(others.release().await.unwrap());
}

#[tokio::test]
async fn a_permit_that_is_renewed_outlives_its_lease() {
    let server = Server::start();
    let limit = permits(&server, 1, Duration::from_millis(1_200)).await;
    let mut permit = limit.try_acquire().await.unwrap();
    let work = async {
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        limit.try_acquire().await.map(drop)
    };
    let seen = permit.renew_during(work).await.unwrap();
    assert!(matches!(seen, Err(NoRedisPermit::Busy { in_use: 1, .. })), "{seen:?}");
    assert!(permit.release().await.unwrap());
}

#[tokio::test]
async fn work_is_told_when_its_lease_is_lost() {
    let server = Server::start();
    let limit = permits(&server, 1, SHORT).await;
    let mut permit = limit.try_acquire().await.unwrap();
    let _: () = server.command("FLUSHALL");
    assert_eq!(permit.renew_during(std::future::pending::<()>()).await, Err(LeaseLost));
    assert!(permit.remaining().is_zero());
    // Or when no answer came until it ended, for however long answers are waited for.
    for deadline in [SHORT / 5, PATIENCE] {
        let limit = limit.clone().with_deadline(deadline);
        let acquired = async {
            loop {
                if let Ok(permit) = limit.try_acquire().await {
                    break permit;
                }
            }
        };
        let mut permit = tokio::time::timeout(PATIENCE, acquired).await.unwrap();
        server.signal("STOP");
        let begin = Instant::now();
        let lost = permit.renew_during(std::future::pending::<()>()).await;
        let after = begin.elapsed();
        server.signal("CONT");
        assert_eq!(lost, Err(LeaseLost));
        assert!(after < PATIENCE / 4, "{after:?}: at the end of its lease");
    }
}

/// It is over, by whatever the holder's clock says.
#[tokio::test]
async fn a_lease_that_was_lost_does_not_remain() {
    let server = Server::start();
    let mut permit = permits(&server, 1, HOUR).await.try_acquire().await.unwrap();
    assert!(permit.remaining() > HOUR / 2);
    let _: () = server.command("FLUSHALL");
    assert!(matches!(permit.renew().await, Err(NotRenewed::Lost(LeaseLost))));
    assert!(permit.remaining().is_zero());
}

#[tokio::test]
async fn a_permit_that_is_dropped_is_given_back() {
    let server = Server::start();
    let limit = permits(&server, 5, HOUR).await;
    drop(limit.try_acquire_n(5).await.unwrap());
    until_free(&limit).await;
    // Without a runtime it is left to its lease.
    let permit = limit.try_acquire_n(5).await.unwrap();
    std::thread::spawn(move || drop(permit)).join().unwrap();
    assert_eq!(limit.peek().await.unwrap().in_use, 5);
}

/// The server gave the permit, and the caller never heard of it.
#[tokio::test]
async fn c90_a_permit_whose_answer_was_lost_is_given_back() {
    let server = Server::start();
    let direct = permits(&server, 5, HOUR).await;
    drop(direct.try_acquire().await.unwrap());
    until_free(&direct).await;
    let proxy = Proxy::to(server.address());
    let lossy = client(proxy.address).get_multiplexed_async_connection().await.unwrap();
    let limit = RedisInFlight::new(lossy, KEY, 5, HOUR).unwrap().with_deadline(Duration::from_millis(100));
    proxy.set(Fate::Lost);
    assert!(matches!(limit.try_acquire_n(3).await, Err(NoRedisPermit::Store(_))));
    until_free(&direct).await;
    // The caller went away before the answer came.
    proxy.set(Fate::Told);
    server.signal("STOP");
    let patient = limit.clone().with_deadline(PATIENCE);
    let gone = tokio::time::timeout(Duration::from_millis(50), patient.try_acquire_n(3)).await;
    assert!(gone.is_err());
    server.signal("CONT");
    let given_back = async {
        while proxy.scripts() < 4 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(PATIENCE, given_back).await.unwrap();
    until_free(&direct).await;
    assert_eq!(proxy.scripts(), 4, "each was asked once, and given back once");
}

#[tokio::test]
async fn a_key_of_something_else_is_left_as_it_is() {
    let server = Server::start();
    let limit = permits(&server, 1, HOUR).await;
    let _: () = server.connection().set(KEY, "somebody's").unwrap();
    assert!(matches!(limit.try_acquire().await, Err(NoRedisPermit::Store(_))));
    assert_eq!(server.connection().get::<_, String>(KEY).unwrap(), "somebody's");
    let _: () = server.command("FLUSHALL");
    let _: () = server.connection().zadd(KEY, "somebody's", 7).unwrap();
    let refused = limit.try_acquire().await.unwrap_err();
    assert!(refused.to_string().contains("holds something else"), "{refused}");
    let _: () = server.command("FLUSHALL");
    // Somebody's member among permits weighs nothing, and is not in the way.
    let permit = limit.try_acquire().await.unwrap();
    let _: () = server.connection().zadd(KEY, "somebody's", 5_000_000_000_u64).unwrap();
    assert_eq!(limit.peek().await.unwrap().in_use, 1);
    assert!(matches!(limit.try_acquire().await, Err(NoRedisPermit::Busy { in_use: 1, limit: 1 })));
    assert!(permit.release().await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_tasks_never_hold_more_than_the_limit() {
    use std::sync::atomic::{AtomicU32, Ordering};
    static HELD: AtomicU32 = AtomicU32::new(0);
    let server = Server::start();
    let mut tasks = Vec::new();
    for _ in 0..6 {
        let limit = permits(&server, 7, HOUR).await;
        tasks.push(tokio::spawn(async move {
            let mut given = 0;
            for round in 0..60 {
                let weight = 1 + round % 3;
                let Ok(permit) = limit.try_acquire_n(weight).await else { continue };
                assert!(HELD.fetch_add(weight, Ordering::SeqCst) + weight <= 7);
                tokio::task::yield_now().await;
                HELD.fetch_sub(weight, Ordering::SeqCst);
                assert!(permit.release().await.unwrap());
                given += 1;
            }
            given
        }));
    }
    let mut given = 0;
    for task in tasks {
        given += task.await.unwrap();
    }
    assert!(given > 0);
    until_free(&permits(&server, 7, HOUR).await).await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// The script, told the time, beside a list of who holds what until when.
    #[test]
    fn the_script_is_a_list_of_leases(
        limit in 1..40_u64,
        steps in prop::collection::vec((0..6_u8, 1..12_u64, 1..3_000_000_u64, 0..1_000_000_u64), 1..80),
    ) {
        let server = Server::start();
        let mut connection = server.connection();
        let script = told_the_time(include_str!("../../../src/redis/in_flight/in_flight.lua"));
        // Name, weight, end: all that were ever given.
        let mut given: Vec<(String, u64, u64)> = Vec::new();
        let mut now = NOW;
        for (number, (verb, weight, lease, passed)) in steps.into_iter().enumerate() {
            now += passed;
            let held = |given: &[(String, u64, u64)]| -> u64 {
                given.iter().filter(|permit| permit.2 > now).map(|permit| permit.1).sum()
            };
            let mut ask = |verb: &str, permit: &str, numbers: &[u64]| -> (u64, u64) {
                let mut call = script.key("x");
                call.arg(verb).arg(permit);
                numbers.iter().for_each(|number| {
                    call.arg(*number);
                });
                call.arg(now / 1_000_000).arg(now % 1_000_000).invoke(&mut connection).unwrap()
            };
            let any = (weight as usize * 7 + number) % given.len().max(1);
            match verb {
                0..=1 => {
                    let name = format!("{number}:{weight}");
                    let fits = held(&given) + weight <= limit;
                    if fits {
                        given.push((name.clone(), weight, now + lease));
                    }
                    prop_assert_eq!(ask("acquire", &name, &[limit, lease]), (u64::from(fits), held(&given)));
                }
                // Asked for twice, by a connection that sends again.
                2 if !given.is_empty() => {
                    let (name, weight, ends) = given[any].clone();
                    let fits = ends > now || held(&given) + weight <= limit;
                    if fits {
                        given[any].2 = ends.max(now + lease);
                    }
                    prop_assert_eq!(ask("acquire", &name, &[limit, lease]), (u64::from(fits), held(&given)));
                }
                3 if !given.is_empty() => {
                    let permit = &mut given[any];
                    let is_held = permit.2 > now;
                    if is_held {
                        permit.2 = permit.2.max(now + lease);
                    }
                    let name = permit.0.clone();
                    prop_assert_eq!(ask("renew", &name, &[lease]), (u64::from(is_held), held(&given)));
                }
                4 if !given.is_empty() => {
                    let permit = &mut given[any];
                    let is_held = permit.2 > now;
                    permit.2 = 0;
                    let name = permit.0.clone();
                    prop_assert_eq!(ask("release", &name, &[]), (u64::from(is_held), held(&given)));
                }
                _ => {
                    let permits = given.iter().filter(|permit| permit.2 > now).count() as u64;
                    prop_assert_eq!(ask("peek", "", &[]), (held(&given), permits));
                }
            }
        }
    }
}
