//! Leases, in one process.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use redis::aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig};
use tollgate::redis::{
    Circuit, CircuitState, DecidedBy, LeasePlan, Leased, LeasedError, NotRepresentable, Outage, RedisBucket,
    Refused, StoreError, Supply,
};
use tollgate::{Denied, Limiter, Quota, quota};

use super::PATIENCE;
use super::path::Path;
use super::proxy::{Fate, Proxy, stalled};
use super::server::{Server, client};

const KEY: &str = "{limits}:leased";

fn plan(quota: Quota, instances: u32, ceiling: u64) -> LeasePlan {
    LeasePlan::with_ceiling(&quota, instances, ceiling).unwrap()
}

/// An instance that runs.
async fn leased(path: &Path, plan: LeasePlan, outage: Outage) -> Leased<ConnectionManager> {
    let (limit, supply) = built(path, plan, outage).await;
    tokio::spawn(supply.run());
    limit
}

async fn built(
    path: &Path,
    plan: LeasePlan,
    outage: Outage,
) -> (Leased<ConnectionManager>, Supply<ConnectionManager>) {
    let circuit = Circuit::new(1, Duration::from_millis(5), Duration::from_millis(40)).unwrap();
    let limit = Leased::builder(path.connect().await, KEY, plan).outage(outage).circuit(circuit);
    limit.deadline(PATIENCE).build().unwrap()
}

/// Lets it run, and tells how often it has been woken.
fn watched(supply: Supply<impl ConnectionLike + Clone + Send + Sync + 'static>) -> Arc<AtomicU64> {
    let woken = Arc::new(AtomicU64::new(0));
    let counts = Arc::clone(&woken);
    tokio::spawn(async move {
        let mut runs = pin!(supply.run());
        poll_fn(|context| {
            counts.fetch_add(1, Ordering::SeqCst);
            runs.as_mut().poll(context)
        })
        .await;
    });
    woken
}

/// What the key in the store has.
async fn available(server: &Server, plan: LeasePlan) -> u64 {
    root(server, plan).await.peek().await.unwrap().available
}

async fn root(server: &Server, plan: LeasePlan) -> RedisBucket<impl ConnectionLike + Clone + use<>> {
    let quota = plan.quota().burst(plan.root_capacity()).unwrap();
    RedisBucket::new(server.connect().await, KEY, quota).unwrap().with_deadline(PATIENCE)
}

async fn until(mut holds: impl AsyncFnMut() -> bool) {
    let begin = Instant::now();
    while !holds().await {
        assert!(begin.elapsed() < Duration::from_secs(20), "it does not come");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn what_a_lease_holds_is_spent_without_the_store() {
    let server = Server::start();
    let path = Path::to(&server);
    let plan = plan(quota!("1/h burst 100"), 4, 16).with_threads(0);
    let limit = leased(&path, plan, Outage::Deny).await;
    until(async || limit.held() > 0).await;
    path.silence();
    let begin = path.scripts();
    for left in (0..limit.held()).rev() {
        assert_eq!(limit.try_acquire(), Ok(DecidedBy::Store));
        assert_eq!(limit.held(), left);
    }
    let denied = limit.try_acquire().unwrap_err();
    assert!(denied.wait().is_some_and(|wait| wait > Duration::ZERO), "{denied}");
    tokio::task::yield_now().await;
    assert!(path.scripts() - begin <= 1, "asked in the background, once");
}

#[tokio::test]
async fn a_lease_grows_with_what_is_spent_and_shrinks_when_nothing_is() {
    let server = Server::start();
    let path = Path::to(&server);
    let plan = plan(quota!("1/h burst 50k"), 4, 2_000).with_threads(0);
    let limit = leased(&path, plan, Outage::Deny).await;
    let begin = path.scripts();
    for _ in 0..12_000 {
        limit.acquire().await.unwrap();
    }
    let draws = path.scripts() - begin;
    assert!(draws < 1_000, "{draws} draws");
    until(async || limit.held() == 1).await;
    assert_eq!(available(&server, plan).await, plan.root_capacity() - 12_000 - 1);
}

/// One of many instances has all the load: what the others leave is its own.
#[tokio::test]
#[ignore = "two seconds, and a figure"]
async fn one_of_fifty_instances_has_nearly_all_if_the_others_ask_for_nothing() {
    let server = Server::start();
    let path = Path::to(&server);
    let plan = plan(quota!("20k/s burst 4k"), 50, 40);
    let mut others = Vec::new();
    for _ in 1..50 {
        others.push(leased(&path, plan, Outage::Deny).await);
    }
    // They ask for nothing, and know it.
    until(async || others.iter().all(|other| other.held() <= 1)).await;
    let limit = leased(&path, plan, Outage::Deny).await;
    let (begin, mut admitted) = (Instant::now(), 0);
    while begin.elapsed() < Duration::from_secs(2) {
        match limit.try_acquire() {
            Ok(_) => admitted += 1,
            Err(_) => tokio::task::yield_now().await,
        }
    }
    let all = plan.root_capacity() + begin.elapsed().as_micros() as u64 * 20 / 1_000;
    println!("{admitted} of {all}, {} draws", path.scripts());
    assert!(admitted * 100 >= all * 95 && admitted <= all);
}

/// One token after the other out of one instance, while another holds a lease and does not ask for anything.
#[tokio::test]
async fn the_last_tokens_are_found_by_whoever_asks() {
    let server = Server::start();
    let path = Path::to(&server);
    let plan = plan(quota!("1/h burst 30"), 2, 8).with_threads(0);
    let idle = leased(&path, plan, Outage::Deny).await;
    until(async || idle.held() > 0).await;
    let busy = leased(&path, plan, Outage::Deny).await;
    for _ in 0..plan.root_capacity() {
        assert_eq!(busy.acquire().await.unwrap(), DecidedBy::Store);
    }
    assert_eq!((idle.held(), busy.held(), available(&server, plan).await), (0, 0, 0));
    // There is none left, and the wait is what the store says.
    let an_hour = Duration::from_secs(3_000)..Duration::from_secs(3_700);
    until(async || busy.try_acquire().unwrap_err().wait().is_some_and(|wait| an_hour.contains(&wait))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_gives_back_exactly_what_was_not_spent() {
    let server = Server::start();
    let path = Path::to(&server);
    let plan = plan(quota!("1/h burst 9000"), 2, 1000).with_threads(4);
    let limit = leased(&path, plan, Outage::Deny).await;
    assert!(limit.max_cost() < 1000, "a part is for shards");
    let mut threads = Vec::new();
    for thread in 0..4 {
        let limit = limit.clone();
        threads.push(std::thread::spawn(move || {
            let shard = (thread % 2 == 0).then(|| limit.shard());
            let mut admitted = 0;
            while admitted < 200 {
                let answer = match &shard {
                    Some(shard) => shard.try_acquire_n(3),
                    None => limit.try_acquire_n(3),
                };
                match answer {
                    Ok(decided_by) => assert_eq!(decided_by, DecidedBy::Store),
                    Err(_) => std::thread::sleep(Duration::from_millis(1)),
                }
                admitted += u64::from(answer.is_ok());
            }
        }));
    }
    tokio::task::spawn_blocking(|| threads.into_iter().for_each(|thread| thread.join().unwrap()))
        .await
        .unwrap();
    let lent = plan.root_capacity() - available(&server, plan).await;
    let returned = limit.close().await.unwrap();
    assert!(returned <= lent);
    assert_eq!(available(&server, plan).await, plan.root_capacity() - 4 * 200 * 3);
}

#[tokio::test]
async fn a_closed_lease_refuses_in_all_clones_and_the_last_handle_closes_too() {
    let server = Server::start();
    let path = Path::to(&server);
    let plan = plan(quota!("1/h burst 100"), 4, 16).with_threads(0);
    let limit = leased(&path, plan, Outage::Admit).await;
    until(async || limit.held() > 0).await;
    let (clone, another) = (limit.clone(), limit.clone());
    let returned = limit.close().await.unwrap();
    assert!((1..=4).contains(&returned), "{returned}");
    assert_eq!(available(&server, plan).await, 36);
    assert!(Limiter::try_acquire(&clone).is_err());
    for cost in [1, 20] {
        let refused = clone.acquire_n(cost).await.unwrap_err();
        assert!(matches!(refused, Refused::Store(StoreError::Closed)), "{refused}");
    }
    assert_eq!(another.close().await.unwrap(), returned, "it tells what the first did");
    let limit = leased(&path, plan, Outage::Deny).await;
    until(async || limit.held() > 0).await;
    let shard = limit.shard();
    drop(limit);
    assert_eq!(shard.try_acquire(), Ok(DecidedBy::Store), "a shard is a handle");
    drop(shard);
    until(async || available(&server, plan).await == 35).await;
}

/// The future that draws is dropped, as when a process dies: its lease is lost, and nothing comes back twice.
#[tokio::test]
async fn what_dies_loses_its_lease() {
    let server = Server::start();
    let path = Path::to(&server);
    let plan = plan(quota!("1/h burst 100"), 4, 16).with_threads(0);
    let (limit, supply) = Leased::builder(path.connect().await, KEY, plan).build().unwrap();
    let runs = tokio::spawn(supply.run());
    until(async || limit.held() > 0).await;
    let held = limit.held();
    runs.abort();
    assert!(runs.await.unwrap_err().is_cancelled());
    assert!(limit.try_acquire().is_err_and(|denied| denied != Denied::ZeroCost), "{}", limit.held());
    assert!(matches!(limit.acquire_n(10).await, Err(Refused::Store(StoreError::Closed))));
    assert!(matches!(limit.close().await, Err(StoreError::Closed)));
    // What was on its way back when it died may have come.
    assert!((32..=36 - held).contains(&available(&server, plan).await));
}

#[tokio::test]
async fn a_limit_for_which_nothing_was_ever_drawn_is_closed_at_once() {
    let server = Server::start();
    let plan = plan(quota!("1/h burst 100"), 4, 16);
    let (limit, _supply) = Leased::builder(server.connect().await, KEY, plan).build().unwrap();
    let returned = tokio::time::timeout(PATIENCE, limit.close()).await.expect("nobody is waited for");
    assert_eq!(returned.unwrap(), 0);
}

/// A key of one token is never half full, nor less than that.
#[tokio::test]
async fn a_store_of_one_token_is_not_asked_without_a_pause() {
    let server = Server::start();
    let path = Path::to(&server);
    let plan = LeasePlan::new(&quota!("1/h burst 2"), 1).unwrap();
    assert_eq!(plan.root_capacity(), 1);
    let limit = leased(&path, plan, Outage::Deny).await;
    limit.acquire().await.unwrap();
    assert!(limit.try_acquire().is_err());
    let (begin, before) = (Instant::now(), path.scripts());
    tokio::time::sleep(Duration::from_millis(200)).await;
    let scripts = path.scripts() - before;
    let most = 10 + begin.elapsed().as_millis() as u64 / 5;
    assert!(scripts <= most, "{scripts} draws of an empty key, not {most}");
}

#[tokio::test]
async fn a_draw_whose_answer_is_lost_is_not_believed() {
    let server = Server::start();
    let plan = plan(quota!("1/h burst 100"), 4, 16).with_threads(0);
    // The script is known, so that one draw is one request.
    assert_eq!(available(&server, plan).await, 36);
    let lossy = client(stalled(server.address())).get_multiplexed_async_connection().await.unwrap();
    let limit = Leased::builder(lossy, KEY, plan).deadline(Duration::from_millis(200));
    let circuit = Circuit::new(1, Duration::from_secs(600), Duration::from_secs(600)).unwrap();
    let (limit, supply) = limit.circuit(circuit).build().unwrap();
    tokio::spawn(supply.run());
    until(async || limit.state().circuit != CircuitState::Closed).await;
    assert!(limit.try_acquire().is_err());
    assert_eq!(limit.held(), 0);
    assert_eq!(available(&server, plan).await, 32, "charged once");
}

#[tokio::test]
async fn those_who_wait_are_served_in_order_and_who_gives_up_takes_nothing() {
    let server = Server::start();
    let path = Path::to(&server);
    let plan = plan(quota!("50/s burst 40"), 2, 10).with_threads(0);
    let limit = leased(&path, plan, Outage::Deny).await;
    // Down to nothing, so that all of them wait.
    let root = root(&server, plan).await;
    until(async || limit.held() > 0).await;
    root.charge(30).await.unwrap();
    while limit.try_acquire().is_ok() {}
    let order = Arc::new(std::sync::Mutex::new(Vec::new()));
    let mut waiting = Vec::new();
    for (name, cost) in [(0, 10), (1, 3), (2, 1)] {
        let (limit, order) = (limit.clone(), order.clone());
        waiting.push(tokio::spawn(async move {
            limit.acquire_n(cost).await.unwrap();
            order.lock().unwrap().push(name);
        }));
        tokio::task::yield_now().await;
    }
    let given_up = limit.acquire_n(7);
    assert!(tokio::time::timeout(Duration::from_millis(1), given_up).await.is_err());
    // Others come all the time who want little.
    let hasty = limit.clone();
    let hasty = tokio::spawn(async move {
        while !matches!(hasty.try_acquire(), Err(Denied::OverCapacity { .. })) {
            tokio::task::yield_now().await;
        }
    });
    for waiting in waiting {
        tokio::time::timeout(PATIENCE, waiting).await.expect("a large cost is not starved").unwrap();
    }
    hasty.abort();
    assert_eq!(*order.lock().unwrap(), [0, 1, 2], "a large cost is not overtaken");
}

/// What is on its way to those who waited is in the lease until they take it: if they do not, it does not
/// hold more than it may.
#[tokio::test]
async fn what_is_not_taken_comes_back_into_no_more_than_a_lease() {
    let server = Server::start();
    let path = Path::to(&server);
    let plan = plan(quota!("1/h burst 200"), 2, 16).with_threads(0);
    let (limit, supply) = built(&path, plan, Outage::Deny).await;
    let woken = watched(supply);
    until(async || limit.held() > 0).await;
    let (mut waiting, mut admitted) = (Vec::new(), 0);
    while waiting.len() < 5 {
        let mut call = Box::pin(limit.acquire_n(3));
        // Those that find enough do not wait.
        match tokio::time::timeout(Duration::ZERO, &mut call).await {
            Ok(done) => admitted += 3 * u64::from(done.is_ok()),
            Err(_) => waiting.push(call),
        }
    }
    let lent = async || plan.root_capacity() - available(&server, plan).await;
    until(async || lent().await - admitted >= 5 * 3).await;
    // They are all served. Whatever is drawn besides is drawn in the rounds after that.
    let rounds = woken.load(Ordering::SeqCst) + 4;
    until(async || woken.load(Ordering::SeqCst) >= rounds).await;
    let lent = lent().await;
    assert!(lent - admitted <= plan.ceiling(), "{lent} lent and {admitted} spent");
    drop(waiting);
    limit.close().await.unwrap();
    assert_eq!(available(&server, plan).await, plan.root_capacity() - admitted, "nothing is lost");
}

#[tokio::test]
async fn a_cost_above_the_lease_is_asked_of_the_store() {
    let server = Server::start();
    let path = Path::to(&server);
    let plan = plan(quota!("1/h burst 100"), 4, 16).with_threads(0);
    let limit = leased(&path, plan, Outage::Deny).await;
    assert_eq!(limit.try_acquire_n(17), Err(Denied::OverCapacity { cost: 17, capacity: 16 }));
    assert_eq!(limit.try_acquire_n(0), Err(Denied::ZeroCost));
    assert!(matches!(limit.acquire_n(0).await, Err(Refused::Denied(Denied::ZeroCost))));
    limit.acquire_n(17).await.unwrap();
    let never = limit.acquire_n(37).await.unwrap_err();
    assert!(matches!(never, Refused::Denied(Denied::OverCapacity { capacity: 36, .. })), "{never}");
    limit.close().await.unwrap();
    assert_eq!(available(&server, plan).await, 36 - 17);
}

/// It would be an hour and more until so much is there.
#[tokio::test]
async fn who_waits_for_the_store_itself_is_told_that_the_limit_is_closed() {
    let server = Server::start();
    let path = Path::to(&server);
    let plan = plan(quota!("1/h burst 100"), 4, 16);
    // Nothing is drawn, so only those who ask for themselves are heard.
    let (limit, _supply) = Leased::builder(path.connect().await, KEY, plan).build().unwrap();
    limit.acquire_n(36).await.unwrap();
    let waits = tokio::spawn({
        let limit = limit.clone();
        async move { limit.acquire_n(17).await }
    });
    let asked = path.scripts();
    until(async || path.scripts() > asked).await;
    assert!(!waits.is_finished());
    limit.close().await.unwrap();
    let told = tokio::time::timeout(PATIENCE, waits).await.expect("it does not sleep out its wait").unwrap();
    assert!(matches!(told, Err(Refused::Store(StoreError::Closed))), "{told:?}");
}

/// Also by a cost that is asked of it directly, and also if nothing is drawn.
#[tokio::test]
async fn what_the_share_has_admitted_is_charged_before_the_store_is_asked_again() {
    let server = Server::start();
    let path = Path::to(&server);
    let plan = plan(quota!("1/h burst 100"), 4, 16);
    let circuit = Circuit::new(1, Duration::from_millis(5), Duration::from_millis(40)).unwrap();
    let limit = Leased::builder(path.connect().await, KEY, plan).circuit(circuit).deadline(PATIENCE);
    let (limit, _supply) = limit.outage(Outage::Share { instances: 4 }).build().unwrap();
    path.cut();
    assert_eq!(limit.acquire_n(17).await.unwrap(), DecidedBy::Fallback);
    path.open();
    until(async || limit.acquire_n(18).await.is_ok_and(|by| by == DecidedBy::Store)).await;
    assert_eq!(limit.state().uncharged, 0);
    assert_eq!(available(&server, plan).await, 36 - 17 - 18);
}

#[tokio::test]
async fn a_charge_whose_answers_are_lost_makes_no_more_debt_than_the_whole() {
    let server = Server::start();
    let plan = plan(quota!("1/h burst 100"), 4, 16).with_threads(0);
    // The script is known, so that one draw is one request.
    assert_eq!(available(&server, plan).await, 36);
    let proxy = Proxy::to(server.address());
    proxy.set(Fate::Lost);
    let lossy = client(proxy.address).get_multiplexed_async_connection().await.unwrap();
    let limit = Leased::builder(lossy, KEY, plan).deadline(Duration::from_millis(20));
    let never = Circuit::new(u32::MAX, Duration::from_secs(1), Duration::from_secs(1)).unwrap();
    let (limit, supply) = limit.circuit(never).outage(Outage::Share { instances: 4 }).build().unwrap();
    tokio::spawn(supply.run());
    until(async || limit.try_acquire() == Ok(DecidedBy::Fallback) && limit.state().admitted == 25).await;
    let told = proxy.scripts();
    until(async || proxy.scripts() > told + 10).await;
    let debt = root(&server, plan).await.peek().await.unwrap().debt;
    // Of the whole, and not of what the leases leave to the key.
    assert_eq!(debt, 100);
    // Nobody said that it was told; while it is told again it is on its way.
    until(async || limit.state().uncharged == 25).await;
}

#[tokio::test]
async fn a_pause_of_the_key_holds_for_what_was_drawn() {
    let server = Server::start();
    let path = Path::to(&server);
    let plan = plan(quota!("1/h burst 900"), 4, 128).with_threads(2);
    let limit = leased(&path, plan, Outage::Deny).await;
    let root = root(&server, plan).await;
    until(async || limit.try_acquire().is_ok()).await;
    root.pause_for(Duration::from_secs(600)).await.unwrap();
    until(async || limit.try_acquire().is_err_and(|denied| denied.wait() > Some(Duration::from_secs(500))))
        .await;
    assert!(limit.held() > 0, "they are there, and are not spent");
    root.resume().await.unwrap();
    until(async || limit.try_acquire().is_ok()).await;
}

#[tokio::test]
async fn who_is_refused_during_a_pause_does_not_wake_what_draws() {
    let server = Server::start();
    let plan = plan(quota!("1/h burst 100"), 4, 16).with_threads(0);
    root(&server, plan).await.pause_for(Duration::from_secs(600)).await.unwrap();
    let limit = Leased::builder(server.connect().await, KEY, plan).deadline(PATIENCE);
    let (limit, supply) = limit.build().unwrap();
    let woken = watched(supply);
    until(async || limit.try_acquire().is_err_and(|denied| denied.wait() > Some(Duration::from_secs(500))))
        .await;
    let (begin, before) = (Instant::now(), woken.load(Ordering::SeqCst));
    for _ in 0..300 {
        assert!(limit.try_acquire().is_err());
        tokio::task::yield_now().await;
    }
    let often = woken.load(Ordering::SeqCst) - before;
    // It looks at the store every second.
    assert!(often <= 5 + 10 * begin.elapsed().as_secs(), "{often} times");
}

/// At the end the store cannot be told what the share has admitted. What is left it can.
#[tokio::test]
async fn what_is_left_goes_back_although_a_charge_failed() {
    let server = Server::start();
    let plan = plan(quota!("1/h burst 100"), 4, 16).with_threads(0);
    assert_eq!(available(&server, plan).await, 36);
    let proxy = Proxy::to(server.address());
    let config = ConnectionManagerConfig::new().set_number_of_retries(0).set_response_timeout(None);
    let connection = client(proxy.address).get_connection_manager_with_config(config).await.unwrap();
    let once = Circuit::new(1, Duration::from_secs(600), Duration::from_secs(600)).unwrap();
    let limit = Leased::builder(connection, KEY, plan).deadline(PATIENCE).circuit(once);
    let (limit, supply) = limit.outage(Outage::Share { instances: 4 }).build().unwrap();
    tokio::spawn(supply.run());
    until(async || limit.held() > 1).await;
    proxy.set(Fate::Cut);
    while limit.held() > 1 {
        limit.try_acquire().unwrap();
    }
    until(async || limit.state().failing_for.is_some()).await;
    assert_eq!(limit.try_acquire_n(3), Ok(DecidedBy::Fallback));
    let before = available(&server, plan).await;
    proxy.set(Fate::CutOnce);
    assert_eq!(limit.close().await.unwrap(), 1);
    // The server had heard of the 3, although nobody was told that it had.
    assert_eq!(available(&server, plan).await, before - 3 + 1);
}

/// Spends what the lease holds, and then sees who decides.
async fn after_the_lease(limit: &Leased<ConnectionManager>) -> Result<DecidedBy, Denied> {
    let begin = Instant::now();
    loop {
        let answer = limit.try_acquire();
        if limit.state().failing_for.is_some() && answer != Ok(DecidedBy::Store) {
            return limit.try_acquire();
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", limit.state());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn without_the_store_the_lease_is_spent_and_then_the_rule_decides() {
    let server = Server::start();
    let path = Path::to(&server);
    let plan = plan(quota!("1/h burst 400"), 4, 16).with_threads(0);
    for outage in [Outage::Deny, Outage::Admit, Outage::Share { instances: 4 }] {
        let limit = leased(&path, plan, outage).await;
        until(async || limit.held() > 0).await;
        path.cut();
        let answer = after_the_lease(&limit).await;
        let waited = tokio::time::timeout(PATIENCE, limit.acquire()).await.unwrap();
        if outage == Outage::Deny {
            assert!(answer.is_err_and(|denied| denied.wait().is_some()));
            assert!(matches!(waited, Err(Refused::Store(_))), "{waited:?}");
            assert_eq!(limit.state().admitted, 0);
        } else {
            assert_eq!(answer, Ok(DecidedBy::Fallback));
            assert_eq!(waited.unwrap(), DecidedBy::Fallback);
        }
        path.open();
        until(async || limit.state().failing_for.is_none() && limit.held() > 0).await;
        assert_eq!(limit.try_acquire(), Ok(DecidedBy::Store));
        limit.close().await.unwrap();
    }
}

const DEADLINE: Duration = Duration::from_millis(50);

/// How long it takes until the rule decides, from the first call that the lease does not do for, in a process
/// whose store is sent a signal.
async fn until_the_rule_decides(signal: &str) -> Duration {
    let server = Server::start();
    let plan = plan(quota!("1/h burst 400"), 4, 16).with_threads(0);
    let limit = Leased::builder(server.connect().await, KEY, plan).outage(Outage::Share { instances: 4 });
    let (limit, supply) = limit.deadline(DEADLINE).build().unwrap();
    tokio::spawn(supply.run());
    until(async || limit.held() > 0).await;
    server.signal(signal);
    let mut lacking: Option<Instant> = None;
    loop {
        match limit.try_acquire() {
            Ok(DecidedBy::Fallback) => return lacking.map_or(Duration::ZERO, |since| since.elapsed()),
            Ok(DecidedBy::Store) => lacking = None,
            Err(_) => _ = lacking.get_or_insert_with(Instant::now),
        }
        tokio::time::sleep(Duration::from_micros(100)).await;
    }
}

#[tokio::test]
async fn the_rule_decides_when_the_store_has_stopped_or_is_gone() {
    for signal in ["STOP", "KILL"] {
        let decides = until_the_rule_decides(signal);
        assert!(tokio::time::timeout(PATIENCE, decides).await.is_ok(), "{signal}");
    }
}

/// On a machine that has nothing else to do.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
#[ignore = "a time"]
async fn the_rule_decides_ten_milliseconds_after_the_deadline_at_the_latest() {
    let deadline = DEADLINE;
    for signal in ["STOP", "KILL"] {
        let mut latest = Duration::ZERO;
        for _ in 0..10 {
            latest = latest.max(until_the_rule_decides(signal).await);
        }
        println!("{signal}: at most {latest:?} after the lease was empty, with a deadline of {deadline:?}");
        assert!(latest < deadline + Duration::from_millis(10));
    }
}

/// The share is one bucket over all outages, and what it has admitted the store has no more.
#[tokio::test]
async fn the_end_of_an_outage_is_no_fresh_burst_for_leases() {
    let server = Server::start();
    let path = Path::to(&server);
    let plan = plan(quota!("1/h burst 400"), 4, 16).with_threads(0);
    let limit = leased(&path, plan, Outage::Share { instances: 4 }).await;
    let mut by_the_store = 0;
    for calls in [40, 40, 200] {
        until(async || limit.held() > 0).await;
        path.cut();
        until(async || {
            let answer = limit.try_acquire();
            by_the_store += u64::from(answer == Ok(DecidedBy::Store));
            answer == Ok(DecidedBy::Fallback) || limit.state().admitted >= 100
        })
        .await;
        for _ in 0..calls {
            by_the_store += u64::from(limit.try_acquire() == Ok(DecidedBy::Store));
        }
        path.open();
        until(async || limit.state().failing_for.is_none() && limit.state().uncharged == 0).await;
    }
    assert_eq!(limit.state().admitted, 100, "a share of 400 among 4, once");
    limit.close().await.unwrap();
    let left = available(&server, plan).await;
    // A draw that was under way when the path was cut may be lost.
    let all = plan.root_capacity() - 100 - by_the_store;
    assert!((all - 3 * 16..=all).contains(&left), "{left} of {all}");
}

/// Three instances that come and go, calls of all kinds, some of them given up, and a store that comes and
/// goes too.
async fn any_course(seed: u64, faults: bool) {
    let server = Server::start();
    let path = Path::to(&server);
    let plan = plan(quota!("1/day burst 3000"), 3, 300).with_threads(2);
    let mut random = seed;
    let mut below = |range: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % range
    };
    let mut instances = Vec::new();
    for _ in 0..3 {
        instances.push(leased(&path, plan, Outage::Deny).await);
    }
    let mut admitted = 0;
    for step in 0..400 {
        let instance = below(3) as usize;
        let (limit, cost) = (&instances[instance], 1 + below(20));
        match below(40) {
            0 if faults => path.cut(),
            1 if faults => path.silence(),
            2 if faults => path.open(),
            3 => {
                // A path that is silent would be waited for.
                if faults {
                    path.open();
                }
                let limit = instances.swap_remove(instance);
                let ended = limit.close().await;
                assert!(faults || ended.is_ok(), "{ended:?}");
                instances.push(leased(&path, plan, Outage::Deny).await);
            }
            4..10 => {
                let call = tokio::time::timeout(Duration::from_millis(below(3)), limit.acquire_n(cost));
                admitted += if let Ok(Ok(_)) = call.await { cost } else { 0 };
            }
            10..25 => admitted += if limit.try_acquire_n(cost).is_ok() { cost } else { 0 },
            25..30 => {
                let shard = limit.shard();
                admitted += if shard.try_acquire_n(cost).is_ok() { cost } else { 0 };
            }
            _ => tokio::task::yield_now().await,
        }
        if step % 20 == 0 && !faults {
            let lent = plan.root_capacity() - available(&server, plan).await;
            assert!(lent - admitted <= 3 * plan.ceiling(), "seed {seed}: {lent} lent, {admitted} spent");
        }
    }
    path.open();
    for limit in instances {
        limit.close().await.ok();
    }
    let found = admitted + available(&server, plan).await;
    let all = plan.root_capacity();
    assert!(if faults { found <= all } else { found == all }, "seed {seed}: {found} of {all}");
    assert!(admitted > 100, "seed {seed}: {admitted}");
}

#[tokio::test]
async fn whatever_comes_every_token_is_in_one_place() {
    for seed in 0..4 {
        any_course(seed, false).await;
    }
}

#[tokio::test]
async fn whatever_fails_no_token_is_in_two_places() {
    for seed in 0..4 {
        any_course(seed, true).await;
    }
}

#[tokio::test]
async fn without_a_number_of_instances_the_store_has_the_whole() {
    let server = Server::start();
    let path = Path::to(&server);
    let plan = LeasePlan::uncounted(&quota!("1/h burst 100"), 16).unwrap().with_threads(0);
    assert_eq!(plan.root_capacity(), 100);
    let limit = leased(&path, plan, Outage::Deny).await;
    until(async || limit.held() > 0).await;
    let held = limit.close().await.unwrap();
    assert!(held > 0 && held <= 16);
    assert_eq!(available(&server, plan).await, 100);
}

#[tokio::test]
async fn what_cannot_be_leased_is_refused() {
    let server = Server::start();
    let connection = server.connect().await;
    let error = |quota: Quota, outage| {
        let plan = LeasePlan::with_ceiling(&quota, 2, 1).unwrap();
        Leased::builder(connection.clone(), KEY, plan).outage(outage).build().unwrap_err()
    };
    let empty = error(quota!("5/s empty"), Outage::Deny);
    assert!(matches!(empty, LeasedError::NotRepresentable(NotRepresentable::InitialFill { .. })), "{empty}");
    let fewer = error(quota!("5/s"), Outage::Share { instances: 1 });
    assert_eq!(fewer.to_string(), "1 shares for 2 instances: must be as many at least");
    let share = error(quota!("5/s"), Outage::Share { instances: 6 });
    assert_eq!(share.to_string(), "6 shares of a capacity of 5 tokens: must be from 1 to 5");
}
