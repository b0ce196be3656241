//! Servers whose place another takes.

use std::fs;
use std::time::{Duration, Instant};

use redis::aio::ConnectionLike;
use redis::sentinel::{SentinelClient, SentinelServerType};
use tollgate::quota;
use tollgate::redis::{RedisBucket, Refused};

use super::server::{Server, until};
use super::{PATIENCE, bucket};

/// A replica that has all that its primary has.
fn replica_of(primary: &Server) -> Server {
    let address = primary.address();
    let host = address.ip().to_string();
    let port = address.port().to_string();
    let options = ["--replicaof", &format!("{host} {port}"), "--repl-diskless-sync-delay", "0"];
    let replica = Server::start_with(&options);
    until("the replica does not connect", || {
        replica.command::<String>("INFO replication").contains("master_link_status:up")
    });
    replica
}

/// Waits until the replica has heard of all that was written.
fn until_heard(primary: &Server, replica: &Server) {
    let offset = |server: &Server, field: &str| -> u64 {
        let info: String = server.command("INFO replication");
        let line = info.lines().find_map(|line| line.strip_prefix(field)).unwrap();
        line.parse().unwrap()
    };
    let written = offset(primary, "master_repl_offset:");
    until("the replica is behind", || offset(replica, "slave_repl_offset:") >= written);
}

/// As many as it admits, one at a time.
async fn admitted<C: ConnectionLike + Clone>(limit: &RedisBucket<C>) -> u64 {
    let mut admitted = 0;
    loop {
        match limit.try_acquire().await {
            Ok(()) => admitted += 1,
            Err(Refused::Denied(_)) => return admitted,
            Err(error) => panic!("{error}"),
        }
    }
}

/// What the replica had not heard of is admitted again, and no more than that: never above a capacity.
#[tokio::test]
async fn a_failover_admits_again_what_the_replica_had_not_heard_of() {
    let mut primary = Server::start_with(&["--repl-diskless-sync-delay", "0"]);
    let quota = quota!("1/h burst 100");
    let limit = bucket(&primary, quota).await;
    limit.try_acquire_n(30).await.unwrap();
    let replica = replica_of(&primary);
    limit.try_acquire_n(10).await.unwrap();
    until_heard(&primary, &replica);
    // The network parts them: what is admitted from here on is lost with the primary.
    let _: () = replica.command("REPLICAOF NO ONE");
    assert_eq!(admitted(&limit).await, 60);
    primary.kill();
    let promoted = bucket(&replica, quota).await;
    assert_eq!(promoted.peek().await.unwrap().available, 60, "it knows of 40");
    assert_eq!(admitted(&promoted).await, 60);
}

/// One that has heard of everything admits nothing again; its clock, script and times to live go on.
#[tokio::test]
async fn a_replica_that_has_heard_of_everything_goes_on_where_its_primary_was() {
    let mut primary = Server::start_with(&["--repl-diskless-sync-delay", "0"]);
    let quota = quota!("1/h burst 100");
    let limit = bucket(&primary, quota).await;
    let replica = replica_of(&primary);
    let reservation = limit.reserve(30).await.unwrap();
    limit.charge(90).await.unwrap();
    reservation.settle(10).await.unwrap();
    limit.pause_for(Duration::from_secs(1_800)).await.unwrap();
    until_heard(&primary, &replica);
    primary.kill();
    let _: () = replica.command("REPLICAOF NO ONE");
    let promoted = bucket(&replica, quota).await;
    let level = promoted.peek().await.unwrap();
    assert_eq!((level.available, level.debt), (0, 0));
    assert!(level.paused_for > Duration::from_secs(1_700));
    let left: i64 = replica.command(&format!("PTTL {}", limit.key()));
    let hours = 3_600_000 * 100;
    assert!(left > hours - 60_000 && left <= hours, "{left}");
}

/// A sentinel that watches one primary by itself.
fn sentinel(primary: &Server) -> Server {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("sentinel.conf");
    let port = primary.address().port();
    let watch = format!("sentinel monitor limits 127.0.0.1 {port} 1\n");
    let haste = "sentinel down-after-milliseconds limits 300\nsentinel failover-timeout limits 3000\n";
    fs::write(&config, watch + haste).unwrap();
    Server::sentinel(folder, &config)
}

/// The bucket is asked on where the sentinel says that the primary is.
#[tokio::test]
async fn a_sentinel_that_promotes_the_replica_loses_nothing_that_it_had_heard_of() {
    let mut primary = Server::start_with(&["--repl-diskless-sync-delay", "0"]);
    let replica = replica_of(&primary);
    let sentinel = sentinel(&primary);
    let address = format!("redis://{}/", sentinel.address());
    let mut client =
        SentinelClient::build(vec![address], "limits".into(), None, SentinelServerType::Master).unwrap();
    let mut ask = async || {
        let connection = client.get_async_connection().await?;
        let limit = RedisBucket::new(connection, "requests", quota!("1/h burst 100")).unwrap();
        Ok::<_, redis::RedisError>(limit.with_deadline(PATIENCE))
    };
    let limit = ask().await.unwrap();
    limit.try_acquire_n(40).await.unwrap();
    until_heard(&primary, &replica);
    until("the sentinel does not see the replica", || {
        sentinel.command::<Vec<redis::Value>>("SENTINEL REPLICAS limits").len() == 1
    });
    primary.kill();
    let begin = Instant::now();
    let limit = loop {
        if let Ok(limit) = ask().await {
            match limit.try_acquire_n(50).await {
                Ok(()) => break limit,
                Err(refused) => assert!(matches!(refused, Refused::Store(_)), "{refused}"),
            }
        }
        assert!(begin.elapsed() < PATIENCE, "no failover");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(limit.peek().await.unwrap().available, 10);
    assert!(replica.command::<String>("INFO replication").contains("role:master"));
}
