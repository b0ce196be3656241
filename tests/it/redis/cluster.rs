//! Clusters: keys on three nodes, and a slot that moves while its bucket is in use.

use redis::cluster::ClusterClientBuilder;
use redis::cluster_async::ClusterConnection;
use tollgate::quota;
use tollgate::redis::{RedisAllOf, RedisBucket, RedisInFlight, Refused, StoreError};

use super::proxy::{Fate, Proxy};
use super::server::{FREE, Server, until};
use super::{PATIENCE, denied};

/// Nodes with equal shares of the slots.
struct Cluster {
    nodes: Vec<Server>,
}

impl Cluster {
    fn of(nodes: u16) -> Self {
        let node = |_| Server::start_with(&["--cluster-enabled", "yes", "--cluster-port", FREE]);
        let cluster = Self { nodes: (0..nodes).map(node).collect() };
        let share = 16_384 / nodes + 1;
        for (number, node) in cluster.nodes.iter().zip(0..) {
            let last = (share * (node + 1) - 1).min(16_383);
            let _: () = number.command(&format!("CLUSTER ADDSLOTSRANGE {} {last}", share * node));
            let _: () = number.command(&format!("CLUSTER SET-CONFIG-EPOCH {}", node + 1));
        }
        cluster.introduce();
        cluster
    }

    /// All to the first, and waits until each knows all slots.
    fn introduce(&self) {
        let first = self.nodes[0].address();
        let bus: Vec<String> = self.nodes[0].command("CONFIG GET cluster-port");
        for node in &self.nodes[1..] {
            let _: () = node.command(&format!("CLUSTER MEET {} {} {}", first.ip(), first.port(), bus[1]));
        }
        for node in &self.nodes {
            until("the cluster does not come up", || {
                let info: String = node.command("CLUSTER INFO");
                let whole = format!("cluster_known_nodes:{}\r", self.nodes.len());
                info.contains("cluster_state:ok") && info.contains(&whole)
            });
        }
    }

    /// `retries`: as the connection has by itself, or another number.
    async fn connect(&self, retries: Option<u32>) -> ClusterConnection {
        let first = format!("redis://{}/", self.nodes[0].address());
        let builder = ClusterClientBuilder::new([first]);
        let builder = retries.into_iter().fold(builder, ClusterClientBuilder::retries);
        builder.build().unwrap().get_async_connection().await.unwrap()
    }

    fn slot(&self, key: &str) -> u16 {
        self.nodes[0].command(&format!("CLUSTER KEYSLOT {key}"))
    }

    /// The place of the node that has the key.
    fn home(&self, key: &str) -> usize {
        usize::from(self.slot(key) / (16_384 / self.nodes.len() as u16 + 1))
    }
}

#[tokio::test]
async fn a_cluster_of_three_nodes_keeps_each_bucket_on_one() {
    let cluster = Cluster::of(3);
    let connection = cluster.connect(None).await;
    let mut homes = std::collections::BTreeSet::new();
    for number in 0..12 {
        let limits = [
            (format!("{{caller{number}}}:requests"), quota!("1/h burst 10")),
            (format!("{{caller{number}}}:tokens"), quota!("1/h burst 1000")),
        ];
        homes.insert(cluster.home(&limits[0].0));
        let limits = RedisAllOf::new(connection.clone(), limits).unwrap().with_deadline(PATIENCE);
        limits.try_acquire([3, 300]).await.unwrap();
        let call = limits.reserve([7, 700]).await.unwrap();
        limits.try_acquire([1, 1]).await.unwrap_err();
        call.settle([7, 500]).await.unwrap();
        let [requests, tokens] = limits.buckets() else { panic!() };
        assert!(denied(requests.try_acquire().await).wait().is_some());
        tokens.try_acquire_n(200).await.unwrap();
        let key = format!("{{caller{number}}}:in-flight");
        let limit = RedisInFlight::new(connection.clone(), key, 2, PATIENCE).unwrap().with_deadline(PATIENCE);
        let permit = limit.try_acquire_n(2).await.unwrap();
        assert!(limit.try_acquire().await.is_err());
        assert!(permit.release().await.unwrap());
    }
    assert_eq!(homes.len(), 3, "the keys lie on all nodes");
}

/// The key's slot goes from its node to another as an operator moves it, with calls at every stage, by one
/// connection that follows by itself and one that sends nothing twice.
#[tokio::test]
async fn a_slot_that_moves_takes_its_bucket_along() {
    let cluster = Cluster::of(3);
    let key = "{limits}:requests";
    let limit = |connection| RedisBucket::new(connection, key, quota!("1/h burst 20")).unwrap();
    let limit = |connection| limit(connection).with_deadline(PATIENCE);
    let (follows, strict) = (limit(cluster.connect(None).await), limit(cluster.connect(Some(0)).await));
    follows.try_acquire_n(4).await.unwrap();
    strict.try_acquire_n(1).await.unwrap();
    let (slot, home) = (cluster.slot(key), cluster.home(key));
    let (from, to) = (&cluster.nodes[home], &cluster.nodes[(home + 1) % 3]);
    let name = |node: &Server| -> String { node.command("CLUSTER MYID") };
    let _: () = to.command(&format!("CLUSTER SETSLOT {slot} IMPORTING {}", name(from)));
    let _: () = from.command(&format!("CLUSTER SETSLOT {slot} MIGRATING {}", name(to)));
    follows.try_acquire_n(2).await.unwrap();
    let there = to.address();
    let _: () = from.command(&format!("MIGRATE {} {} {key} 0 5000", there.ip(), there.port()));
    // The key is gone from here, and the slot is not yet there: the other node has to be asked, which is not
    // counted twice.
    follows.try_acquire_n(3).await.unwrap();
    let refused = strict.try_acquire().await.unwrap_err();
    assert!(matches!(refused, Refused::Store(StoreError::Failed(_))), "{refused}");
    for node in &cluster.nodes {
        let _: () = node.command(&format!("CLUSTER SETSLOT {slot} NODE {}", name(to)));
    }
    follows.try_acquire_n(1).await.unwrap();
    strict.try_acquire_n(5).await.unwrap();
    assert_eq!(follows.peek().await.unwrap().available, 4);
    assert_eq!(strict.peek().await.unwrap().available, 4);
}

/// A connection to one node finds no other; it is told so, and soon.
#[tokio::test]
async fn a_connection_to_one_node_says_where_the_key_is() {
    let cluster = Cluster::of(3);
    let key = "{limits}:requests";
    let other = &cluster.nodes[(cluster.home(key) + 1) % 3];
    let limit = RedisBucket::new(other.connect().await, key, quota!("1/h burst 20")).unwrap();
    let refused = limit.with_deadline(PATIENCE).try_acquire().await.unwrap_err();
    assert!(refused.to_string().contains("Moved"), "{refused}");
}

/// A cluster's connection that is told to send nothing again does not.
#[tokio::test]
async fn c90_an_answer_that_a_cluster_lost_is_told_and_counts_once() {
    let cluster = Cluster::of(1);
    let proxy = Proxy::to(cluster.nodes[0].address());
    let _: () =
        cluster.nodes[0].command(&format!("CONFIG SET cluster-announce-port {}", proxy.address.port()));
    let limit = RedisBucket::new(cluster.connect(Some(0)).await, "x", quota!("1/h burst 10")).unwrap();
    let limit = limit.with_deadline(PATIENCE);
    limit.try_acquire_n(1).await.unwrap();
    let before = proxy.scripts();
    assert!(before > 0, "its way leads by the proxy");
    proxy.set(Fate::Cut);
    let refused = limit.try_acquire_n(4).await.unwrap_err();
    assert!(matches!(refused, Refused::Store(StoreError::Failed(_))), "{refused:?}");
    proxy.set(Fate::Told);
    super::faults::admitted_again(&limit, 2).await;
    assert_eq!(limit.peek().await.unwrap().available, 3);
}
