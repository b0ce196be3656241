//! Servers that forget, stop, and lose what they say.

use std::time::{Duration, Instant};

use tollgate::quota;
use tollgate::redis::{RedisBucket, Refused, StoreError};

use super::server::{Server, client, that_loses_answers};
use super::{bucket, denied};

#[tokio::test]
async fn c90_a_lost_answer_is_told_and_counts_once() {
    let server = Server::start();
    let direct = bucket(&server, quota!("1/h burst 10")).await;
    // The script is known, so that one call is one request.
    direct.peek().await.unwrap();
    let lossy =
        client(that_loses_answers(server.address())).get_multiplexed_async_connection().await.unwrap();
    let limit = RedisBucket::new(lossy, direct.key(), quota!("1/h burst 10")).unwrap();
    let refused = limit.with_deadline(Duration::from_millis(300)).try_acquire_n(4).await.unwrap_err();
    assert!(matches!(refused, Refused::Store(StoreError::Deadline { .. })), "{refused:?}");
    assert_eq!(refused.to_string(), "no answer within 300ms");
    assert_eq!(direct.peek().await.unwrap().available, 6);
}

#[tokio::test]
async fn c91_a_script_that_was_flushed_is_sent_again() {
    let server = Server::start();
    let limit = bucket(&server, quota!("1/h burst 10")).await;
    limit.try_acquire().await.unwrap();
    let _: () = redis::cmd("SCRIPT").arg("FLUSH").query(&mut server.connection()).unwrap();
    limit.try_acquire().await.unwrap();
    assert_eq!(limit.peek().await.unwrap().available, 8, "each counted once");
}

/// The answer comes within the deadline, not within the server's good time.
#[tokio::test]
async fn c92_a_server_that_is_silent_is_given_up_at_the_deadline() {
    let server = Server::start();
    let limit = bucket(&server, quota!("1/h burst 10")).await.with_deadline(Duration::from_millis(50));
    let patient = limit.clone().with_deadline(Duration::from_secs(20));
    patient.try_acquire().await.unwrap();
    let silent = || async {
        let begin = Instant::now();
        let refused = limit.try_acquire().await.unwrap_err();
        assert!(matches!(refused, Refused::Store(StoreError::Deadline { .. })), "{refused:?}");
        assert!(begin.elapsed() >= Duration::from_millis(50), "it was given its time");
        assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    };
    server.signal("STOP");
    silent().await;
    server.signal("CONT");
    patient.peek().await.unwrap();
    let _: () = redis::cmd("CLIENT").arg("PAUSE").arg(2_000).query(&mut server.connection()).unwrap();
    silent().await;
}

#[tokio::test]
async fn after_a_restart_the_bucket_is_full_and_the_script_is_known_again() {
    let mut server = Server::start();
    let manager = server.client().get_connection_manager().await.unwrap();
    let limit = RedisBucket::new(manager, "requests", quota!("1/h burst 3")).unwrap();
    let limit = limit.with_deadline(Duration::from_secs(20));
    limit.try_acquire_n(3).await.unwrap();
    assert!(denied(limit.try_acquire().await).wait().is_some());
    server.restart();
    // The connection breaks with the first call, or is found broken, and is made anew.
    let begin = Instant::now();
    while let Err(refused) = limit.try_acquire_n(3).await {
        assert!(matches!(refused, Refused::Store(_)), "{refused}");
        assert!(begin.elapsed() < Duration::from_secs(60));
    }
    assert!(denied(limit.try_acquire().await).wait().is_some());
}
