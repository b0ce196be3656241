//! What decides while the store does not answer.

use std::net::{Ipv4Addr, TcpListener};
use std::time::{Duration, Instant};

use redis::aio::{ConnectionLike, ConnectionManager};
use redis::{Client, IntoConnectionInfo, RedisConnectionInfo};
use tollgate::redis::{
    Circuit, CircuitState, DecidedBy, Guarded, Outage, RedisBucket, Refusal, Refused, StoreError,
};
use tollgate::{Denied, Quota, quota};

use super::PATIENCE;
use super::path::Path;
use super::proxy::stalled as without_answers;
use super::server::{Server, client};

const SHARE: Outage = Outage::Share { instances: 4 };

/// Opens at the first failure, so that nothing but that call was sent.
fn circuit(backoff: Duration) -> Circuit {
    Circuit::new(1, backoff, Duration::from_secs(60)).unwrap()
}

async fn guarded(path: &Path, quota: Quota, outage: Outage, circuit: Circuit) -> Guarded<ConnectionManager> {
    let bucket = RedisBucket::new(path.connect().await, "requests", quota).unwrap();
    Guarded::with_circuit(bucket.with_deadline(PATIENCE), outage, circuit).unwrap()
}

/// What the store answers when it answers again.
async fn by_the_store<C: ConnectionLike + Clone>(limit: &Guarded<C>, cost: u64) -> Result<(), Denied> {
    let begin = Instant::now();
    loop {
        match limit.try_acquire_n(cost).await {
            Ok(DecidedBy::Store) => return Ok(()),
            Err(refusal) if refusal.decided_by() == DecidedBy::Store => match refusal.reason() {
                Refused::Denied(denied) => return Err(*denied),
                other => panic!("{other:?}"),
            },
            _ => tokio::time::sleep(Duration::from_millis(1)).await,
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", limit.state());
    }
}

fn by_the_rule(answer: Result<DecidedBy, Refusal>) -> Result<(), Refused> {
    match answer {
        Ok(decided_by) => assert_eq!(decided_by, DecidedBy::Fallback),
        Err(refusal) => {
            assert_eq!(refusal.decided_by(), DecidedBy::Fallback);
            return Err(refusal.reason().clone());
        }
    }
    Ok(())
}

#[tokio::test]
async fn each_rule_decides_while_the_store_is_gone_and_the_store_decides_when_it_is_back() {
    let server = Server::start();
    let path = Path::to(&server);
    for outage in [Outage::Deny, Outage::Admit, SHARE] {
        let limit = guarded(&path, quota!("1/h burst 40"), outage, circuit(Duration::from_millis(5))).await;
        limit.bucket().reset().await.unwrap();
        assert_eq!(by_the_store(&limit, 3).await, Ok(()));
        path.cut();
        let mut admitted = 0;
        for call in 0..20 {
            match by_the_rule(limit.try_acquire_n(3).await) {
                Ok(()) => admitted += 1,
                Err(Refused::Denied(denied)) => assert!(denied.wait().is_some() && outage == SHARE),
                Err(Refused::Store(StoreError::NotAsked { .. })) => assert!(call > 0),
                Err(error) => assert!(outage == Outage::Deny, "{error}"),
            }
        }
        let expected = [(Outage::Deny, 0), (Outage::Admit, 20), (SHARE, 3)];
        assert!(expected.contains(&(outage, admitted)), "{outage:?}: {admitted}");
        let state = limit.state();
        assert_ne!(state.circuit, CircuitState::Closed);
        assert!(state.failing_for.is_some_and(|span| span > Duration::ZERO));
        assert_eq!((state.admitted, state.refused), (admitted, 20 - admitted));
        path.open();
        assert_eq!(by_the_store(&limit, 1).await, Ok(()));
        let state = limit.state();
        assert_eq!((state.circuit, state.failing_for), (CircuitState::Closed, None));
    }
}

/// What the share has admitted the store has no more, however often it comes and goes; and the share has it
/// no more either.
#[tokio::test]
async fn the_end_of_an_outage_is_no_fresh_burst() {
    let server = Server::start();
    let path = Path::to(&server);
    let limit = guarded(&path, quota!("1/h burst 40"), SHARE, circuit(Duration::from_millis(5))).await;
    for calls in [4, 4, 40] {
        assert_eq!(by_the_store(&limit, 1).await, Ok(()));
        path.cut();
        for _ in 0..calls {
            by_the_rule(limit.try_acquire().await).ok();
        }
        path.open();
        assert_eq!(by_the_store(&limit, 1).await, Ok(()));
        assert_eq!(limit.state().uncharged, 0);
    }
    assert_eq!(limit.state().admitted, 10, "a share of 40 among 4, once");
    assert_eq!(limit.bucket().peek().await.unwrap().available, 40 - 3 * 2 - 10);
    // It is charged also where the tokens are not there.
    let limit = guarded(&path, quota!("1/h burst 40"), SHARE, circuit(Duration::from_millis(5))).await;
    limit.bucket().reset().await.unwrap();
    assert_eq!(by_the_store(&limit, 35).await, Ok(()));
    path.cut();
    by_the_rule(limit.try_acquire_n(10).await).unwrap();
    path.open();
    assert!(by_the_store(&limit, 1).await.is_err());
    assert_eq!(limit.bucket().peek().await.unwrap().debt, 5);
}

/// The store hears what it is owed, and its answers are lost: it is told again and again, and made to owe a
/// capacity at most.
#[tokio::test]
async fn a_charge_whose_answers_are_lost_makes_no_more_debt_than_a_capacity() {
    let server = Server::start();
    let direct = RedisBucket::new(server.connect().await, "requests", quota!("1/h burst 40")).unwrap();
    let direct = direct.with_deadline(PATIENCE);
    // The script is known, so that one charge is one request.
    direct.peek().await.unwrap();
    let lossy = client(without_answers(server.address())).get_multiplexed_async_connection().await.unwrap();
    let bucket = RedisBucket::new(lossy, "requests", quota!("1/h burst 40")).unwrap();
    let never = Circuit::new(u32::MAX, Duration::from_secs(1), Duration::from_secs(1)).unwrap();
    let bucket = bucket.with_deadline(Duration::from_millis(30));
    let limit = Guarded::with_circuit(bucket, SHARE, never).unwrap();
    for _ in 0..25 {
        by_the_rule(limit.try_acquire().await).ok();
    }
    assert_eq!((limit.state().admitted, limit.state().uncharged), (10, 10), "nobody said that it was told");
    let debt = direct.peek().await.unwrap().debt;
    assert!((1..=40).contains(&debt), "{debt}");
    // What somebody else made it owe stays.
    direct.charge(100).await.unwrap();
    by_the_rule(limit.try_acquire().await).unwrap_err();
    assert_eq!(direct.peek().await.unwrap().debt, debt + 100);
}

#[tokio::test]
async fn a_store_that_is_silent_is_asked_until_the_circuit_opens_and_then_left_alone() {
    let server = Server::start();
    let path = Path::to(&server);
    let backoff = Circuit::new(3, Duration::from_secs(600), Duration::from_secs(600)).unwrap();
    let limit = guarded(&path, quota!("1/h burst 40"), Outage::Admit, backoff).await;
    assert_eq!(by_the_store(&limit, 1).await, Ok(()));
    let bucket = limit.bucket().clone().with_deadline(Duration::from_millis(20));
    let limit = Guarded::with_circuit(bucket, Outage::Admit, backoff).unwrap();
    path.silence();
    let before = path.scripts();
    for _ in 0..500 {
        by_the_rule(limit.try_acquire().await).unwrap();
    }
    assert_eq!(path.scripts() - before, 3, "as many as open the circuit");
    let CircuitState::Open { retry_in } = limit.state().circuit else { panic!("{:?}", limit.state()) };
    assert!(retry_in > Duration::from_secs(200), "{retry_in:?}: at least half of the back-off");
}

/// A listener that takes connections and never answers.
async fn stalled(deadline: Duration, outage: Outage) -> Guarded<impl ConnectionLike + Clone> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = format!("redis://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || listener.incoming().collect::<Vec<_>>());
    // Nothing is said on the connection before the first call.
    let quiet = RedisConnectionInfo::default().set_skip_set_lib_name();
    let info = address.into_connection_info().unwrap().set_redis_settings(quiet);
    let connection = Client::open(info).unwrap().get_multiplexed_async_connection().await.unwrap();
    let bucket = RedisBucket::new(connection, "requests", quota!("1/h burst 4000")).unwrap();
    let never = Circuit::new(u32::MAX, Duration::from_secs(1), Duration::from_secs(1)).unwrap();
    Guarded::with_circuit(bucket.with_deadline(deadline), outage, never).unwrap()
}

#[tokio::test]
async fn c92_a_socket_that_never_answers_is_decided_by_the_rule_after_the_deadline() {
    let deadline = Duration::from_millis(50);
    for outage in [Outage::Deny, Outage::Admit, SHARE] {
        let limit = stalled(deadline, outage).await;
        let begin = Instant::now();
        let answer = by_the_rule(limit.try_acquire().await);
        assert!((deadline..Duration::from_secs(5)).contains(&begin.elapsed()), "{:?}", begin.elapsed());
        match answer {
            Ok(()) => assert_ne!(outage, Outage::Deny),
            Err(refused) => {
                assert!(matches!(refused, Refused::Store(StoreError::Deadline { .. })), "{refused}");
                assert_eq!(outage, Outage::Deny);
            }
        }
    }
}

/// On a machine that has nothing else to do: within 10 ms after the deadline.
#[tokio::test]
#[ignore = "a time, and six seconds"]
async fn the_rule_answers_within_ten_milliseconds_after_the_deadline() {
    let deadline = Duration::from_millis(50);
    let limit = stalled(deadline, SHARE).await;
    let mut latest = Duration::ZERO;
    for _ in 0..50 {
        let begin = Instant::now();
        by_the_rule(limit.try_acquire().await).unwrap();
        latest = latest.max(begin.elapsed());
    }
    let server = Server::start();
    let never = Circuit::new(u32::MAX, Duration::from_secs(1), Duration::from_secs(1)).unwrap();
    let bucket = RedisBucket::new(server.connect().await, "requests", quota!("1/h burst 4000")).unwrap();
    let limit = Guarded::with_circuit(bucket.with_deadline(deadline), SHARE, never).unwrap();
    let _: () = redis::cmd("CLIENT").arg("PAUSE").arg(60_000).query(&mut server.connection()).unwrap();
    let mut latest_paused = Duration::ZERO;
    for _ in 0..50 {
        let begin = Instant::now();
        by_the_rule(limit.try_acquire().await).unwrap();
        latest_paused = latest_paused.max(begin.elapsed());
    }
    println!("deadline {deadline:?}: stalled at most {latest:?}, paused at most {latest_paused:?}");
    assert!(latest.max(latest_paused) < deadline + Duration::from_millis(10));
}

/// A call that its caller gives up is neither a failure nor an answer, and as the probe it leaves its turn.
#[tokio::test]
async fn a_call_that_is_given_up_leaves_the_circuit_as_it_is() {
    let server = Server::start();
    let path = Path::to(&server);
    let limit = guarded(&path, quota!("1/h burst 40"), Outage::Deny, circuit(Duration::from_millis(5))).await;
    assert_eq!(by_the_store(&limit, 1).await, Ok(()));
    path.silence();
    let given_up = tokio::time::timeout(Duration::from_millis(20), limit.try_acquire()).await;
    assert!(given_up.is_err());
    assert_eq!((limit.state().circuit, limit.state().failing_for), (CircuitState::Closed, None));
    path.cut();
    by_the_rule(limit.try_acquire().await).unwrap_err();
    assert!(matches!(limit.state().circuit, CircuitState::Open { .. }));
    path.open();
    assert_eq!(by_the_store(&limit, 1).await, Ok(()));
}

/// Fifty calls at once when the back-off is over: one of them asks, and the others are decided without
/// waiting for it.
#[tokio::test]
async fn one_call_probes_and_the_others_do_not_wait_for_it() {
    let server = Server::start();
    let path = Path::to(&server);
    let limit =
        guarded(&path, quota!("1/h burst 40"), Outage::Admit, circuit(Duration::from_millis(5))).await;
    assert_eq!(by_the_store(&limit, 1).await, Ok(()));
    path.cut();
    by_the_rule(limit.try_acquire().await).unwrap();
    path.silence();
    tokio::time::sleep(Duration::from_millis(6)).await;
    let calls: Vec<_> = (0..50)
        .map(|_| {
            let limit = limit.clone();
            tokio::spawn(async move { limit.try_acquire().await })
        })
        .collect();
    let begin = Instant::now();
    while calls.iter().filter(|call| call.is_finished()).count() < 49 {
        assert!(begin.elapsed() < PATIENCE / 2, "{:?}", limit.state());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(limit.state().circuit, CircuitState::HalfOpen);
    assert_eq!(limit.state().admitted, 50, "49 of them, and the one before");
    calls.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test]
async fn what_is_never_admitted_is_refused_without_store_or_rule() {
    let server = Server::start();
    let path = Path::to(&server);
    let limit = guarded(&path, quota!("1/h burst 40"), Outage::Admit, Circuit::default()).await;
    path.cut();
    for cost in [0, 41] {
        let refusal = limit.try_acquire_n(cost).await.unwrap_err();
        assert_eq!((refusal.decided_by(), refusal.wait()), (DecidedBy::Store, None), "{refusal}");
    }
    assert_eq!((limit.state().admitted, limit.state().refused), (0, 0));
}
