//! Servers that forget, stop, fill up, and lose what they say.

use std::time::{Duration, Instant};

use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use tollgate::quota;
use tollgate::redis::{RedisBucket, Refused, StoreError};

use super::proxy::{Fate, Proxy, stalled};
use super::server::{Server, client};
use super::{PATIENCE, bucket, denied};

#[tokio::test]
async fn c90_a_lost_answer_is_told_and_counts_once() {
    for server in Server::each() {
        let direct = bucket(&server, quota!("1/h burst 10")).await;
        // The script is known, so that one call is one request.
        direct.peek().await.unwrap();
        let lossy = client(stalled(server.address())).get_multiplexed_async_connection().await.unwrap();
        let limit = RedisBucket::new(lossy, direct.key(), quota!("1/h burst 10")).unwrap();
        let refused = limit.with_deadline(Duration::from_millis(300)).try_acquire_n(4).await.unwrap_err();
        assert!(matches!(refused, Refused::Store(StoreError::Deadline { .. })), "{refused:?}");
        assert_eq!(refused.to_string(), "no answer within 300ms");
        assert_eq!(direct.peek().await.unwrap().available, 6);
    }
}

/// The connection breaks after the server has decided: it is made anew, and what was asked is not asked
/// again.
#[tokio::test]
async fn c90_a_connection_that_breaks_after_the_decision_is_told_and_counts_once() {
    let server = Server::start();
    let direct = bucket(&server, quota!("1/h burst 10")).await;
    direct.peek().await.unwrap();
    let proxy = Proxy::to(server.address());
    let manager = ConnectionManager::new(client(proxy.address)).await.unwrap();
    let limit = RedisBucket::new(manager, direct.key(), quota!("1/h burst 10")).unwrap();
    let limit = limit.with_deadline(PATIENCE);
    limit.try_acquire_n(1).await.unwrap();
    proxy.set(Fate::Cut);
    let before = proxy.scripts();
    let refused = limit.try_acquire_n(4).await.unwrap_err();
    assert!(matches!(refused, Refused::Store(StoreError::Failed(_))), "{refused:?}");
    proxy.set(Fate::Told);
    limit.try_acquire_n(2).await.unwrap();
    assert_eq!(proxy.scripts(), before + 2, "each was sent once");
    assert_eq!(direct.peek().await.unwrap().available, 3);
}

#[tokio::test]
async fn c91_a_script_that_was_flushed_is_sent_again() {
    for server in Server::each() {
        let limit = bucket(&server, quota!("1/h burst 10")).await;
        limit.try_acquire().await.unwrap();
        let _: () = server.command("SCRIPT FLUSH");
        limit.try_acquire().await.unwrap();
        assert_eq!(limit.peek().await.unwrap().available, 8, "each counted once");
    }
}

/// The answer comes within the deadline, not within the server's good time.
#[tokio::test]
async fn c92_a_server_that_is_silent_is_given_up_at_the_deadline() {
    for server in Server::each() {
        let limit = bucket(&server, quota!("1/h burst 10")).await.with_deadline(DEADLINE);
        let patient = limit.clone().with_deadline(PATIENCE);
        let stalled = client(stalled(server.address())).get_multiplexed_async_connection().await.unwrap();
        patient.try_acquire().await.unwrap();
        server.signal("STOP");
        given_up(&limit).await;
        server.signal("CONT");
        patient.peek().await.unwrap();
        let _: () = server.command("CLIENT PAUSE 1000");
        given_up(&limit).await;
        let limit = RedisBucket::new(stalled, "x", quota!("1/h burst 10")).unwrap();
        given_up(&limit.with_deadline(DEADLINE)).await;
    }
}

const DEADLINE: Duration = Duration::from_millis(50);

/// Not a word, not even to greet: what connects and what asks is given up together.
#[tokio::test]
async fn c92_a_server_that_never_says_anything_is_given_up_at_the_deadline() {
    let listener = std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).unwrap();
    let silent = client(listener.local_addr().unwrap());
    let manager = silent.get_connection_manager_lazy(ConnectionManagerConfig::new()).unwrap();
    let limit = RedisBucket::new(manager, "x", quota!("1/h burst 10")).unwrap();
    given_up(&limit.with_deadline(DEADLINE)).await;
}

/// In each of several tries after the deadline, and within 10 ms of it but for what the machine takes: at
/// least once.
async fn given_up<C: redis::aio::ConnectionLike + Clone>(limit: &RedisBucket<C>) {
    let mut shortest = Duration::MAX;
    for _ in 0..50 {
        let begin = Instant::now();
        let refused = limit.try_acquire().await.unwrap_err();
        let passed = begin.elapsed();
        assert!(matches!(refused, Refused::Store(StoreError::Deadline { .. })), "{refused:?}");
        assert!(passed >= DEADLINE, "it was given its time");
        shortest = shortest.min(passed);
        if shortest <= DEADLINE + Duration::from_millis(10) {
            return;
        }
    }
    panic!("{shortest:?}");
}

#[tokio::test]
async fn after_a_restart_the_bucket_is_full_and_the_script_is_known_again() {
    let mut server = Server::start();
    let manager = server.manager().await;
    let limit = RedisBucket::new(manager, "requests", quota!("1/h burst 3")).unwrap();
    let limit = limit.with_deadline(PATIENCE);
    limit.try_acquire_n(3).await.unwrap();
    assert!(denied(limit.try_acquire().await).wait().is_some());
    server.restart();
    admitted_again(&limit, 3).await;
    assert!(denied(limit.try_acquire().await).wait().is_some());
}

/// With every write on disk before it is answered.
#[tokio::test]
async fn after_a_restart_a_server_that_writes_everything_down_has_forgotten_nothing() {
    for mut server in Server::each_with(&["--appendonly", "yes", "--appendfsync", "always"]) {
        let manager = server.manager().await;
        let limit = RedisBucket::new(manager, "requests", quota!("1/h burst 10")).unwrap();
        let limit = limit.with_deadline(PATIENCE);
        limit.try_acquire_n(7).await.unwrap();
        limit.pause_for(Duration::from_secs(3_600)).await.unwrap();
        server.restart();
        // The connection breaks with the first call, or is found broken.
        let begin = Instant::now();
        let level = loop {
            match limit.peek().await {
                Ok(level) => break level,
                Err(error) => assert!(begin.elapsed() < PATIENCE, "{error}"),
            }
        };
        assert_eq!((level.available, level.paused_for > Duration::from_secs(3_000)), (3, true));
        limit.resume().await.unwrap();
        limit.try_acquire_n(3).await.unwrap();
        assert!(denied(limit.try_acquire().await).wait().is_some());
    }
}

/// Until the connection has been made anew.
pub(super) async fn admitted_again<C: redis::aio::ConnectionLike + Clone>(limit: &RedisBucket<C>, cost: u64) {
    let begin = Instant::now();
    while let Err(refused) = limit.try_acquire_n(cost).await {
        assert!(matches!(refused, Refused::Store(_)), "{refused}");
        assert!(begin.elapsed() < PATIENCE, "{refused}");
    }
}

/// A full server refuses what would write; nothing of a bucket is lost, and what reads is answered.
#[tokio::test]
async fn a_server_without_memory_is_told_and_loses_nothing() {
    for server in Server::each_with(&["--maxmemory-policy", "noeviction"]) {
        let limit = bucket(&server, quota!("1/h burst 10")).await;
        limit.try_acquire_n(4).await.unwrap();
        let kept: String = server.command(&format!("GET {}", limit.key()));
        let _: () = server.command("CONFIG SET maxmemory 1");
        let refused = limit.try_acquire().await.unwrap_err();
        assert!(matches!(&refused, Refused::Store(StoreError::Failed(_))), "{refused:?}");
        assert!(refused.to_string().contains("maxmemory"), "{refused}");
        assert_eq!(server.command::<String>(&format!("GET {}", limit.key())), kept);
        assert!(denied(limit.try_acquire_n(7).await).wait().is_some(), "a refusal writes nothing");
        assert_eq!(limit.peek().await.unwrap().available, 6);
        let _: () = server.command("CONFIG SET maxmemory 0");
        limit.try_acquire_n(6).await.unwrap();
        assert!(denied(limit.try_acquire().await).wait().is_some());
    }
}
