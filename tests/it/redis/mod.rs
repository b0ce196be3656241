//! Limits in Redis, against a real server.

mod all_of;
mod cluster;
mod exact;
mod failover;
mod faults;
mod in_flight;
#[cfg(feature = "tower")]
mod layer;
mod leased;
#[cfg(unix)]
mod leased_processes;
mod outage;
mod path;
mod proxy;
mod server;

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{Commands, Script};
use tollgate::redis::{NotRepresentable, RedisBucket, Refused};
use tollgate::{Denied, Quota, quota};

use self::server::Server;

/// Long enough for a server on a busy machine, for tests that are not about deadlines.
const PATIENCE: Duration = Duration::from_secs(20);

/// The same script, with the time as its last two arguments: seconds, and microseconds.
fn told_the_time(text: &str) -> Script {
    let told = text.replace("redis.call('TIME')", "{ ARGV[#ARGV - 1], ARGV[#ARGV] }");
    // Keys live by the server's own time, which goes on by itself.
    let lasting = told
        .replace("'PX', string.format('%.0f', ", "'PX', string.format('%.0f', 3600000 + ")
        .replace("'PEXPIRE', key, exact(", "'PEXPIRE', key, exact(3600000 + ");
    assert!(told != text && lasting.matches("3600000 + ").count() == 1);
    Script::new(&lasting)
}

async fn bucket(server: &Server, quota: Quota) -> RedisBucket<MultiplexedConnection> {
    bucket_at(server, "{limits}:requests", quota).await
}

async fn bucket_at(server: &Server, key: &str, quota: Quota) -> RedisBucket<MultiplexedConnection> {
    RedisBucket::new(server.connect().await, key, quota).unwrap().with_deadline(PATIENCE)
}

fn denied(refused: Result<(), Refused>) -> Denied {
    match refused {
        Err(Refused::Denied(denied)) => denied,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn all_clients_of_a_key_share_one_bucket() {
    for server in Server::each() {
        let (first, second) =
            (bucket(&server, quota!("1/h burst 10")).await, bucket(&server, quota!("1/h burst 10")).await);
        first.try_acquire_n(7).await.unwrap();
        assert_eq!(second.acquire_up_to(9).await.unwrap(), 3);
        let wait = denied(first.try_acquire().await).wait().unwrap();
        assert!(wait > Duration::from_secs(3_590) && wait <= Duration::from_secs(3_600), "{wait:?}");
        second.refund(2).await.unwrap();
        assert_eq!(first.peek().await.unwrap().available, 2);
        first.charge(5).await.unwrap();
        assert_eq!(second.peek().await.unwrap().debt, 3);
        second.reset().await.unwrap();
        first.pause_for(Duration::from_secs(60)).await.unwrap();
        first.pause_for(Duration::from_secs(5)).await.unwrap();
        let wait = denied(second.try_acquire().await).wait().unwrap();
        assert!(wait > Duration::from_secs(50) && wait <= Duration::from_secs(60), "{wait:?}");
        assert_eq!(second.acquire_up_to(9).await.unwrap(), 0);
        second.resume().await.unwrap();
        first.try_acquire_n(10).await.unwrap();
        let other = bucket_at(&server, "{limits}:other", quota!("1/h burst 10")).await;
        assert_eq!(other.peek().await.unwrap().available, 10, "another key is another bucket");
    }
}

#[tokio::test]
async fn a_cost_that_is_never_admitted_does_not_ask_the_server() {
    let mut server = Server::start();
    let limit = bucket(&server, quota!("1/h burst 10")).await;
    server.restart();
    assert_eq!(denied(limit.try_acquire_n(0).await), Denied::ZeroCost);
    assert!(matches!(denied(limit.try_acquire_n(11).await), Denied::OverCapacity { .. }));
    assert_eq!(limit.acquire_up_to(0).await.unwrap(), 0);
    assert!(matches!(limit.try_acquire_n(10).await, Err(Refused::Store(_))), "its connection is broken");
}

#[tokio::test]
async fn a_surplus_comes_back_once_and_an_overrun_is_debt() {
    for server in Server::each() {
        let limit = bucket(&server, quota!("1/h burst 60")).await;
        let first = limit.reserve(40).await.unwrap();
        assert!(denied(limit.try_acquire_n(30).await).wait().is_some());
        first.settle(1).await.unwrap();
        assert_eq!(limit.peek().await.unwrap().available, 59);
        let second = limit.reserve(30).await.unwrap();
        assert_eq!(second.estimate(), 30);
        second.settle(80).await.unwrap();
        assert_eq!(limit.peek().await.unwrap().debt, 21);
        limit.reset().await.unwrap();
        drop(limit.reserve(20).await.unwrap());
        limit.reserve(10).await.unwrap().release().await.unwrap();
        assert_eq!(
            limit.peek().await.unwrap().available,
            40,
            "dropped it keeps its charge, released it gives all back"
        );
    }
}

#[tokio::test]
async fn quotas_that_cannot_be_kept_are_refused() {
    let server = Server::start();
    let connection = server.connect().await;
    let error = |quota: Quota| RedisBucket::new(connection.clone(), "x", quota).unwrap_err();
    assert!(matches!(error(quota!("1/s empty")), NotRepresentable::InitialFill { .. }));
    let error = error(quota!("1/day burst 1M"));
    assert!(error.to_string().starts_with("capacity: that of `1/day burst 1M` has 2^52 units"), "{error}");
}

#[tokio::test]
async fn a_key_of_something_else_is_left_as_it_is() {
    let server = Server::start();
    let limit = bucket(&server, quota!("1/s")).await;
    let mut connection = server.connection();
    let _: () = connection.set(limit.key(), "somebody's").unwrap();
    let refused = limit.try_acquire().await.unwrap_err();
    assert!(refused.to_string().contains("holds something else"), "{refused}");
    let kept: String = connection.get(limit.key()).unwrap();
    assert_eq!(kept, "somebody's");
}

#[tokio::test]
async fn with_another_quota_what_is_missing_stays_missing() {
    let server = Server::start();
    let before = bucket(&server, quota!("1/h burst 10")).await;
    before.try_acquire_n(7).await.unwrap();
    let after = bucket(&server, quota!("2/h burst 20")).await;
    let left = after.peek().await.unwrap().available;
    assert!((12..=13).contains(&left), "{left}: rounded against the caller");
    assert!(denied(after.try_acquire_n(14).await).wait().is_some());
}

/// The store's time to live of the key, in milliseconds; -2 if it is not there, -1 if it would live for ever.
fn time_to_live(server: &Server, key: &str) -> i64 {
    server.connection().pttl(key).unwrap()
}

#[tokio::test]
async fn c87_after_every_answer_the_key_has_a_time_to_live_or_is_gone() {
    for server in Server::each() {
        let limit = bucket(&server, quota!("10/s burst 10")).await;
        let is_finite = |after: &str| {
            let left = time_to_live(&server, limit.key());
            assert!(left == -2 || left > 0, "{left} after {after}");
        };
        limit.try_acquire_n(10).await.unwrap();
        is_finite("an admission");
        assert!(denied(limit.try_acquire_n(10).await).wait().is_some());
        is_finite("a refusal");
        limit.charge(100).await.unwrap();
        is_finite("a charge");
        limit.refund(50).await.unwrap();
        is_finite("a refund");
        limit.pause_for(Duration::from_secs(1)).await.unwrap();
        is_finite("a pause");
        limit.resume().await.unwrap();
        is_finite("its end");
        limit.reset().await.unwrap();
        is_finite("a reset");
        assert_eq!(limit.acquire_up_to(3).await.unwrap(), 3);
        is_finite("a part");
        limit.reserve(5).await.unwrap().settle(1).await.unwrap();
        is_finite("a settlement");
        // A key that was made to live for ever heals itself.
        let _: () = server.connection().persist(limit.key()).unwrap();
        limit.try_acquire().await.unwrap();
        assert!(time_to_live(&server, limit.key()) > 0);
    }
}

#[tokio::test]
async fn c88_a_time_to_live_is_never_rounded_to_nothing() {
    for server in Server::each() {
        for round in 0..100 {
            let limit = bucket_at(&server, &format!("requests:{round}"), quota!("1M/s burst 10")).await;
            limit.try_acquire().await.unwrap();
            // Full after a microsecond, so it may be gone by now; the server refuses a time to live of 0.
            assert!([-2, 0, 1].contains(&time_to_live(&server, limit.key())));
        }
    }
}

#[tokio::test]
async fn c89_a_time_to_live_is_in_milliseconds() {
    for server in Server::each() {
        let limit = bucket(&server, quota!("10/s burst 10")).await;
        limit.try_acquire().await.unwrap();
        let left = time_to_live(&server, limit.key());
        assert!(left == -2 || (1..=100).contains(&left), "{left}");
    }
}

#[tokio::test]
async fn c93_three_nodes_on_one_store_have_the_limit_of_one() {
    for server in Server::each() {
        let mut admitted = 0;
        for _ in 0..3 {
            let node = bucket(&server, quota!("60/h burst 60")).await;
            for _ in 0..100 {
                admitted += u32::from(node.try_acquire().await.is_ok());
            }
        }
        assert_eq!(admitted, 60);
    }
}

/// Eight tasks on connections of their own; what was admitted is within the bound by the server's own clock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_together_are_within_the_bound() {
    let server = Server::start();
    let micros = || -> u64 {
        let (seconds, micros): (u64, u64) = redis::cmd("TIME").query(&mut server.connection()).unwrap();
        seconds * 1_000_000 + micros
    };
    let begin = micros();
    let mut tasks = Vec::new();
    for _ in 0..8 {
        let limit = bucket(&server, quota!("1000/s burst 50")).await;
        tasks.push(tokio::spawn(async move {
            let mut admitted = 0;
            for _ in 0..300 {
                admitted += u64::from(limit.try_acquire().await.is_ok());
            }
            admitted
        }));
    }
    let mut admitted = 0;
    for task in tasks {
        admitted += task.await.unwrap();
    }
    let passed = micros() - begin;
    assert!(admitted <= 50 + passed / 1_000, "{admitted} in {passed} us");
    assert!(admitted >= 50, "{admitted}");
}
