//! Whom a limit counts: C94 to C97, and C103.

use axum::Router;
use axum::extract::Request;
use axum::routing::get;
use metrics_exporter_prometheus::PrometheusBuilder;
use tollgate::Denied;
use tollgate::http::{ClientKey, ClientKeys};
use tollgate::keyed::Keyed;
use tollgate::metrics::Meters;
use tollgate::quota;
use tollgate::tower::LimitLayer;

use crate::support::{Server, client_key, refused};

/// A server that admits one request an hour for each key.
async fn once_by(keys: ClientKeys) -> Server {
    let seen = Keyed::<ClientKey>::new(quota!("1/h")).unwrap();
    let admit = move |request: &mut Request| seen.try_acquire(&client_key(&keys, request));
    let layer = LimitLayer::new(admit, |_: &Request, denied: Denied| refused(denied));
    Server::axum(Router::new().route("/", get(async || "hello")).layer(layer)).await
}

#[tokio::test]
async fn c94_c95_and_c97_keys_go_by_value_and_prefix() {
    let cases: [(u8, &[&str], &[u16]); 4] = [
        (64, &["203.0.113.7:50001", "203.0.113.7:50002", "203.0.113.7"], &[200, 429, 429]),
        (
            56,
            &["[2001:db8::1]:443", "2001:db8::1", "::ffff:1.2.3.4", "::ffff:102:304", "1.2.3.4"],
            &[200, 429, 200, 429, 429],
        ),
        (56, &["2001:db8:1234:5678::1", "2001:db8:1234:56ff::1", "2001:db8:1234:5700::1"], &[200, 429, 200]),
        (
            64,
            &["2001:db8:1234:5678::1.2.3.4", "2001:db8:1234:5678::102:304", "2001:db8:1234:56ff::1"],
            &[200, 429, 200],
        ),
    ];
    for (bits, addresses, expected) in cases {
        let keys = ClientKeys::new().behind_x_forwarded_for(1).unwrap().ipv6_prefix(bits).unwrap();
        let server = once_by(keys).await;
        let mut statuses = Vec::new();
        for address in addresses {
            statuses.push(server.status(&[("x-forwarded-for", address)]).await);
        }
        assert_eq!(statuses, expected, "{addresses:?}");
    }
}

/// Who writes another address each time is refused all the same.
#[tokio::test]
async fn c96_forged_addresses_pass_nothing() {
    let peer = once_by(ClientKeys::new()).await;
    let one = once_by(ClientKeys::new().behind_x_forwarded_for(1).unwrap()).await;
    let two = once_by(ClientKeys::new().behind_x_forwarded_for(2).unwrap()).await;
    let forwarded = once_by(ClientKeys::new().behind_forwarded(1).unwrap()).await;
    let mut admitted = [0; 4];
    for at in 0..8 {
        let forged = format!("6.6.6.{at}");
        let requests = [
            (&peer, "x-forwarded-for", forged.clone()),
            (&one, "x-forwarded-for", format!("{forged}, 198.51.100.9")),
            (&two, "x-forwarded-for", format!("{forged}, 198.51.100.9, 10.0.0.2")),
            (&forwarded, "forwarded", format!("for={forged};x=\", for=198.51.100.9")),
        ];
        for (admitted, (server, name, value)) in admitted.iter_mut().zip(requests) {
            *admitted += usize::from(server.status(&[(name, &value)]).await == 200);
        }
    }
    assert_eq!(admitted, [1; 4]);
}

/// Five hundred strangers; the library's own test has a hundred thousand.
#[tokio::test]
async fn c103_refused_keys_make_no_series() {
    const KEYS: u32 = 500;
    let recorder = PrometheusBuilder::new().build_recorder();
    let take = |meters: Meters| (meters.meter("clients"), meters);
    let (meter, meters) = metrics::with_local_recorder(&recorder, || take(Meters::new()));
    let (clients, told) = (Keyed::<ClientKey>::new(quota!("1/h")).unwrap(), recorder.handle());
    let keys = ClientKeys::new().behind_x_forwarded_for(1).unwrap();
    let admit = move |request: &mut Request| meter.count(1, clients.try_acquire(&client_key(&keys, request)));
    let figures = async move || {
        meters.publish();
        told.render()
    };
    let limit = LimitLayer::new(admit, |_: &Request, denied: Denied| refused(denied));
    let router = Router::new().route("/", get(async || "hello")).layer(limit);
    let server = Server::axum(router.route("/metrics", get(figures))).await;
    let client = reqwest::Client::new();
    let scraped = async || client.get(server.url("/metrics")).send().await.unwrap().text().await.unwrap();
    let series = |text: &str| text.lines().filter(|line| line.contains('{')).count();
    let before = scraped().await;
    for key in 0..KEYS {
        for status in [200, 429] {
            let address = format!("10.1.{}.{}", key / 250, key % 250);
            let request = client.get(server.url("/")).header("x-forwarded-for", address);
            assert_eq!(request.send().await.unwrap().status().as_u16(), status, "{key}");
        }
    }
    let after = scraped().await;
    assert!(series(&before) > 0 && series(&after) == series(&before), "{after}");
    let refused = format!("tollgate_refused_total{{limit=\"clients\",reason=\"not_yet\"}} {KEYS}");
    assert!(after.lines().any(|line| line == refused), "{after}");
}
