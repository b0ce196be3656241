//! The example in real nginx workers.

mod client;

use std::net::TcpListener;

use tempfile::TempDir;

use self::client::{Answer, Client};
use super::example::Server;

/// nginx on a free port, and the folder that it is in.
struct Nginx {
    server: Server,
    folder: TempDir,
}

impl Nginx {
    fn start(keys: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let server = Server::start(folder.path(), &folder.path().join(LIMITS), port, keys).unwrap();
        Self { server, folder }
    }

    fn client(&self) -> Client {
        Client::connect(self.server.address()).unwrap()
    }
}

/// The file of limits in it.
const LIMITS: &str = "limits";

const KEYS: &str = r#"return {
    ["key"] = { name = "acme", quota = "100/h burst 1k" },
    ["second"] = { name = "acme", quota = "100/h burst 1k" },
    ["other"] = { name = "globex", quota = "60/h burst 10" },
}"#;

fn asked(client: &mut Client, key: &str, bytes: usize) -> (u16, Option<u64>) {
    let Answer { status, retry_after, .. } = client.post(key, bytes).unwrap();
    (status, retry_after)
}

#[test]
fn a_request_costs_a_token_for_four_bytes_and_what_is_too_much_is_told_when_to_come_back() {
    let nginx = Nginx::start(KEYS);
    let mut client = nginx.client();
    assert_eq!(asked(&mut client, "other", 33), (200, None), "nine tokens");
    assert_eq!(asked(&mut client, "other", 0), (200, None), "one token, for there is none for nothing");
    let (status, retry_after) = asked(&mut client, "other", 1);
    // A minute for each token.
    assert!(status == 429 && (1..=60).contains(&retry_after.unwrap()), "{status} {retry_after:?}");
    let (status, retry_after) = asked(&mut client, "other", 40);
    assert!(status == 429 && (61..=600).contains(&retry_after.unwrap()), "{status} {retry_after:?}");
    assert_eq!(asked(&mut client, "other", 41), (413, None), "more than it ever admits");
    assert_eq!(asked(&mut client, "unknown", 1), (401, None));
    assert_eq!(asked(&mut client, "key", 2_000), (200, None), "another bucket");
    assert_eq!(asked(&mut client, "second", 2_000), (200, None), "the same bucket by another key");
    let mut second = nginx.client();
    assert_eq!(asked(&mut second, "key", 100).0, 429);
}

#[test]
fn a_body_that_comes_in_chunks_costs_as_much() {
    let nginx = Nginx::start(KEYS);
    let mut client = nginx.client();
    assert_eq!(client.post_in_chunks("key", &[2_000, 1_960]).unwrap().status, 200);
    assert_eq!(asked(&mut client, "key", 44).0, 429, "10 tokens are left");
    // So large that nginx keeps it in a file.
    let answer = client.post_in_chunks("key", &[200_000, 200_000]).unwrap();
    assert_eq!((answer.status, answer.body.contains("100000 tokens")), (413, true), "{answer:?}");
    assert_eq!(asked(&mut client, "key", 36).0, 200);
}

mod stress {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    use nix::sys::signal::{Signal, kill};
    use tollgate::quota;
    use tollgate::shared_memory::Region;

    use super::*;

    const CLIENTS: usize = 4;
    const RATE: u64 = 2_000;
    const CAPACITY: u64 = 2_000;
    const KEYS: &str = r#"return { ["key"] = { name = "acme", quota = "2k/s burst 2k" } }"#;
    /// Twenty bytes.
    const COST: u64 = 5;

    #[derive(Default)]
    struct Counts {
        admitted: AtomicU64,
        refused: AtomicU64,
        /// Requests whose answer did not come, for the worker was killed.
        broken: AtomicU64,
        /// When the first answer came. Until then the bucket may have been full, which loses refill.
        first: OnceLock<Instant>,
    }

    #[test]
    fn two_workers_have_one_limit_while_they_are_killed() {
        hammered(Duration::from_secs(2), 3);
    }

    #[test]
    #[ignore = "ten seconds"]
    fn two_workers_have_one_limit_for_ten_seconds_while_they_are_killed() {
        hammered(Duration::from_secs(10), 20);
    }

    fn hammered(span: Duration, kills: u32) {
        let nginx = Nginx::start(KEYS);
        let (counts, begin) = (Counts::default(), Instant::now());
        let until = begin + span;
        thread::scope(|scope| {
            for _ in 0..CLIENTS {
                scope.spawn(|| hammer(&nginx, &counts, until));
            }
            for kill in 0..kills {
                thread::sleep(
                    (begin + span * (kill + 1) / (kills + 1)).saturating_duration_since(Instant::now()),
                );
                kill_one(&nginx, kill as usize);
            }
        });
        let since_first = counts.first.get().unwrap().elapsed();
        let left = left(&nginx);
        let issued = |span: Duration| (RATE as f64 * span.as_secs_f64()).ceil() as u64;
        let (least, most) = (CAPACITY + issued(since_first), CAPACITY + issued(begin.elapsed()));
        let [admitted, refused, broken] =
            [counts.admitted, counts.refused, counts.broken].map(AtomicU64::into_inner);
        let admitted = admitted * COST;
        println!("{admitted} of {most} tokens admitted, {left} left; {refused} refused, {broken} broken");
        assert!(admitted <= most, "{admitted} of {most}");
        let most_broken = u64::from(kills) * CLIENTS as u64;
        assert!(
            broken <= most_broken,
            "{broken} answers did not come, and {most_broken} at most were of a killed worker"
        );
        // What was admitted by a worker that was killed before it answered is spent too.
        assert!(
            (admitted + broken * COST + left) * 100 >= least * 99,
            "{admitted} {broken} {left} of {least}"
        );
        assert!(refused > 0, "more was asked for than there was");
    }

    /// What is in the bucket, as another process sees it.
    fn left(nginx: &Nginx) -> u64 {
        let region = Region::open(nginx.folder.path().join(LIMITS)).unwrap();
        region.bucket("acme", quota!("2k/s burst 2k")).unwrap().peek().available()
    }

    fn hammer(nginx: &Nginx, counts: &Counts, until: Instant) {
        let mut client = None;
        while Instant::now() < until {
            let Ok(one) = client.take().map_or_else(|| Client::connect(nginx.server.address()), Ok) else {
                continue;
            };
            let one: &mut Client = client.insert(one);
            let count = match one.post("key", 4 * COST as usize) {
                Ok(Answer { status: 200, .. }) => {
                    counts.first.get_or_init(Instant::now);
                    &counts.admitted
                }
                Ok(Answer { status: 429, retry_after: Some(1..), .. }) => &counts.refused,
                Ok(answer) => panic!("{answer:?}"),
                Err(_) => {
                    client = None;
                    &counts.broken
                }
            };
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// And waits until another is there.
    fn kill_one(nginx: &Nginx, which: usize) {
        let workers = nginx.server.workers().unwrap();
        assert_eq!(workers.len(), 2);
        let victim = workers[which % workers.len()];
        kill(victim, Signal::SIGKILL).unwrap();
        let is_replaced = || {
            let now = nginx.server.workers().unwrap();
            now.len() == 2 && !now.contains(&victim)
        };
        let begin = Instant::now();
        while !is_replaced() {
            assert!(begin.elapsed() < Duration::from_secs(30), "no other worker comes");
            thread::sleep(Duration::from_millis(1));
        }
    }
}
