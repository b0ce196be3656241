//! C94 to C97: keys of clients. C98 to C102: response fields.

use std::collections::HashSet;
use std::net::IpAddr;
use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use proptest::prelude::*;
use tollgate::http::{ClientKey, ClientKeys, Fields, Policy, Refusal, Verdict};
use tollgate::{Bucket, Manual, Quota, quota};

fn of_peer(keys: &ClientKeys, peer: &str) -> ClientKey {
    keys.key(peer.parse().unwrap(), &HeaderMap::new())
}

fn behind(keys: &ClientKeys, peer: &str, field: &str) -> ClientKey {
    let mut headers = HeaderMap::new();
    headers.insert("x-forwarded-for", HeaderValue::from_str(field).unwrap());
    keys.key(peer.parse().unwrap(), &headers)
}

#[test]
fn c94_a_source_port_makes_no_new_key() {
    let keys = ClientKeys::new().behind_x_forwarded_for(1).unwrap();
    let expected = of_peer(&keys, "203.0.113.7");
    for port in [1, 50_001, 50_002, 65_535] {
        assert_eq!(behind(&keys, "10.0.0.2", &format!("203.0.113.7:{port}")), expected);
    }
    let ports: HashSet<_> =
        (0..100).map(|port| behind(&keys, "10.0.0.2", &format!("[2001:db8::1]:{port}"))).collect();
    assert_eq!(ports.into_iter().collect::<Vec<_>>(), [of_peer(&keys, "2001:db8::1")]);
    let wide = keys.ipv6_prefix(56).unwrap();
    assert_eq!(behind(&wide, "10.0.0.2", "[2001:db8::1]:443").to_string(), "2001:db8::/56");
}

#[test]
fn c95_mapped_addresses_are_told_by_value() {
    let keys = ClientKeys::new().ipv6_prefix(56).unwrap().behind_x_forwarded_for(1).unwrap();
    let v4 = of_peer(&keys, "1.2.3.4");
    for spelt in ["::ffff:1.2.3.4", "::ffff:102:304", "0:0:0:0:0:FFFF:0102:0304", "::FFFF:1.2.3.4"] {
        assert_eq!(of_peer(&keys, spelt), v4, "{spelt}");
        assert_eq!(behind(&keys, "10.0.0.2", spelt), v4, "{spelt}");
        assert_eq!(behind(&keys, "10.0.0.2", &format!("[{spelt}]:80")), v4, "{spelt}");
    }
    for spelt in ["2001:db8:1234:5678::1.2.3.4", "2001:db8:1234:5678::102:304"] {
        assert_eq!(of_peer(&keys, spelt).to_string(), "2001:db8:1234:5600::/56", "{spelt}");
    }
}

#[test]
fn c96_the_left_most_address_is_the_client_s_own_text() {
    let default = ClientKeys::new();
    assert_eq!(behind(&default, "203.0.113.7", "6.6.6.6, 198.51.100.9"), of_peer(&default, "203.0.113.7"));

    let client = of_peer(&default, "198.51.100.9");
    let one = ClientKeys::new().behind_x_forwarded_for(1).unwrap();
    for sent in ["", "6.6.6.6, ", "6.6.6.6, 7.7.7.7, ", ", , ", "\"; drop, ", "198.51.100.9,x,"] {
        assert_eq!(behind(&one, "10.0.0.2", &format!("{sent}198.51.100.9")), client, "{sent}");
    }
    let two = ClientKeys::new().behind_x_forwarded_for(2).unwrap();
    assert_eq!(behind(&two, "10.0.0.3", "6.6.6.6, 198.51.100.9, 10.0.0.2"), client);

    let peer = of_peer(&default, "10.0.0.3");
    assert_eq!(of_peer(&two, "10.0.0.3"), peer, "missing");
    for field in ["", "198.51.100.9", "x, 10.0.0.2", "unknown, 10.0.0.2", "6.6.6.6, , 10.0.0.2"] {
        assert_eq!(behind(&two, "10.0.0.3", field), peer, "{field:?}");
    }
}

#[test]
fn c97_a_customer_s_prefix_is_one_key() {
    let [first, second, other] = ["2001:db8:1234:5678::1", "2001:db8:1234:56ff::1", "2001:db8:1234:5700::1"]
        .map(|text| text.parse::<IpAddr>().unwrap());
    let same = |bits: u8, a: IpAddr, b: IpAddr| {
        let keys = ClientKeys::new().ipv6_prefix(bits).unwrap();
        keys.key(a, &HeaderMap::new()) == keys.key(b, &HeaderMap::new())
    };
    assert!(same(56, first, second) && !same(56, first, other));
    assert!(!same(64, first, second));
    let default = ClientKeys::new();
    assert_ne!(default.key(first, &HeaderMap::new()), default.key(second, &HeaderMap::new()));
    assert_eq!(of_peer(&default, "2001:db8:1234:5678:ffff::"), of_peer(&default, "2001:db8:1234:5678::1"));
    for bits in 1..=128 {
        let flipped =
            |bit: u8| IpAddr::from((u128::from_be_bytes([0x55; 16]) ^ (1 << (128 - bit))).to_be_bytes());
        let base = IpAddr::from([0x55; 16]);
        assert!(!same(bits, base, flipped(bits)), "bit {bits} counts");
        assert!(bits == 128 || same(bits, base, flipped(bits + 1)), "bit {} does not", bits + 1);
    }
    assert!(!same(1, "1.2.3.4".parse().unwrap(), "1.2.3.5".parse().unwrap()), "of IPv4 each address counts");
}

fn told(refusal: &Refusal<'_>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    Fields::new().with_x_ratelimit().refused(refusal, &mut headers);
    headers
}

fn number(headers: &HeaderMap, name: &str) -> u64 {
    headers[name].to_str().unwrap().parse().unwrap()
}

#[test]
fn c98_a_refusal_never_says_zero() {
    let cases =
        [(200_000_000, 1), (1, 1), (0, 1), (1_000_000_000, 1), (1_000_000_001, 2), (59_880_239_521, 60)];
    for (nanos, seconds) in cases {
        let refusal = Refusal::new(Verdict::Later { wait: Duration::from_nanos(nanos) });
        assert_eq!(told(&refusal)["retry-after"], seconds.to_string().as_str(), "{nanos} ns");
    }
    let bucket = Bucket::with_clock(quota!("5/s burst 1"), Manual::new());
    bucket.try_acquire().unwrap();
    assert_eq!(told(&bucket.try_acquire().unwrap_err().into())["retry-after"], "1", "200 ms");
}

#[test]
fn c99_the_next_and_the_whole_are_two_times() {
    let quota = quota!("3600/h burst 6");
    let (bucket, policy) = (Bucket::with_clock(quota, Manual::new()), Policy::of("p", &quota).unwrap());
    for _ in 0..6 {
        bucket.try_acquire().unwrap();
    }
    let headers = told(&Refusal::from(bucket.try_acquire().unwrap_err()).by(policy.at(&bucket.peek())));
    assert_eq!(number(&headers, "retry-after"), 1);
    assert_eq!(number(&headers, "x-ratelimit-reset"), 6);
    assert_eq!(number(&headers, "x-ratelimit-remaining"), 0);
    assert_eq!(headers["ratelimit"], "\"p\";r=0;t=1");
}

#[test]
fn c100_what_remains_is_after_this_request_and_never_negative() {
    let quota = quota!("3/10s");
    let (bucket, policy) = (Bucket::with_clock(quota, Manual::new()), Policy::of("p", &quota).unwrap());
    let remaining = [(); 5].map(|()| {
        let answer = bucket.try_acquire();
        let (standing, mut headers) = (policy.at(&bucket.peek()), HeaderMap::new());
        let fields = Fields::new().with_x_ratelimit();
        match answer {
            Ok(()) => fields.admitted(&[standing], &mut headers),
            Err(denied) => fields.refused(&Refusal::from(denied).by(standing), &mut headers),
        }
        assert!(
            headers["ratelimit"]
                .to_str()
                .unwrap()
                .starts_with(&format!("\"p\";r={};", number(&headers, "x-ratelimit-remaining")))
        );
        number(&headers, "x-ratelimit-remaining")
    });
    assert_eq!(remaining, [2, 1, 0, 0, 0]);
    bucket.charge(100);
    assert_eq!(policy.at(&bucket.peek()).left(), 0, "a debt is no negative number");
}

/// `tollgate::budget` names the limit that refused; what is told is of that one, wherever it stands.
#[cfg(feature = "budget")]
#[test]
fn c101_a_refusal_tells_of_the_limit_that_refused() {
    use tollgate::budget::{Demand, acquire_all};
    let (passing, refusing) = (quota!("5/s burst 116"), quota!("1/3000s"));
    let policies = [Policy::of("passing", &passing).unwrap(), Policy::of("refusing", &refusing).unwrap()];
    for refusing_first in [false, true] {
        let buckets = [passing, refusing].map(|quota| Bucket::with_clock(quota, Manual::new()));
        buckets[0].try_acquire_n(60).unwrap();
        buckets[1].try_acquire().unwrap();
        let mut demands = [0, 1].map(|at| Demand { name: policies[at].name(), limit: &buckets[at], cost: 1 });
        if refusing_first {
            demands.reverse();
        }
        let refused = acquire_all(&demands).err().unwrap();
        let at = policies.iter().position(|policy| policy.name() == refused.name()).unwrap();
        let refusal = Refusal::from(refused).by(policies[at].at(&buckets[at].peek()));
        let headers = told(&refusal);
        assert_eq!(number(&headers, "x-ratelimit-remaining"), 0);
        assert_eq!(number(&headers, "x-ratelimit-reset"), 3000);
        assert!(number(&headers, "retry-after") >= 3000);
        assert_eq!(headers["ratelimit"], "\"refusing\";r=0;t=3000");
        assert_eq!(headers["ratelimit-policy"], "\"refusing\";q=1;w=3000");
        assert_eq!(refusal.problem()["violated-policies"], serde_json::json!(["refusing"]));
        assert_eq!(buckets[0].peek().available(), 56, "56 left of the one that passed, and they stay");
    }
}

proptest! {
    /// At least 1, and a client that waits so long and is alone is admitted.
    #[test]
    fn c102_who_waits_as_told_is_admitted(
        tokens in 1_u64..5000, period_ms in 1_u64..10_000_000, burst in 1_u64..5000,
        taken in 0_u64..10_000, cost in 1_u64..5000, elapsed_ns in 0_u64..5_000_000_000,
        pause_ms in prop::option::of(0_u64..100_000),
    ) {
        let quota = Quota::with_burst(tokens, Duration::from_millis(period_ms), burst);
        prop_assume!(quota.is_ok());
        let quota = quota.unwrap();
        let (bucket, policy) = (Bucket::with_clock(quota, Manual::new()), Policy::of("p", &quota).unwrap());
        bucket.charge(taken);
        bucket.clock().advance(Duration::from_nanos(elapsed_ns));
        if let Some(pause) = pause_ms {
            bucket.pause_for(Duration::from_millis(pause));
        }
        let cost = cost.min(burst);
        if let Err(denied) = bucket.try_acquire_n(cost) {
            let headers = told(&Refusal::from(denied).by(policy.at(&bucket.peek())));
            let wait = number(&headers, "retry-after");
            prop_assert!(wait >= 1);
            prop_assert!(number(&headers, "x-ratelimit-reset") >= wait);
            bucket.clock().advance(Duration::from_secs(wait));
            prop_assert_eq!(bucket.try_acquire_n(cost), Ok(()));
        }
    }
}
