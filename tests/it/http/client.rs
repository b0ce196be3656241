//! Client keys: what clients write changes nothing that proxies have written.

use std::net::IpAddr;

use http::{HeaderMap, HeaderName, HeaderValue};
use proptest::prelude::*;
use tollgate::http::{ClientKey, ClientKeys, ClientKeysError};

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn lines(name: &'static str, lines: &[&str]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in lines {
        headers.append(HeaderName::from_static(name), HeaderValue::from_bytes(line.as_bytes()).unwrap());
    }
    headers
}

fn key(keys: &ClientKeys, peer: &str, headers: &HeaderMap) -> String {
    keys.key(address(peer), headers).to_string()
}

#[test]
fn forwarded_is_read_from_the_right() {
    let keys = ClientKeys::new().behind_forwarded(1).unwrap();
    let told = |list: &[&str]| key(&keys, "10.0.0.2", &lines("forwarded", list));
    assert_eq!(told(&["for=6.6.6.6, for=198.51.100.9;proto=https"]), "198.51.100.9");
    assert_eq!(told(&["for=6.6.6.6", "for=\"198.51.100.9:4711\""]), "198.51.100.9");
    assert_eq!(told(&["for=\"6.6.6.6, for=198.51.100.9"]), "198.51.100.9", "an open quote");
    assert_eq!(told(&["for=6.6.6.6;x=\"", "for=198.51.100.9"]), "198.51.100.9");
    assert_eq!(told(&["for=6.6.6.6;x=\"\\, for=198.51.100.9;by=\"a,b\""]), "198.51.100.9");
    assert_eq!(told(&["for=6.6.6.6, For=\"[2001:db8:1:2:3::4]:443\""]), "2001:db8:1:2::/64");
    for missing in ["for=unknown", "for=_hidden", "proto=http", "", "for=6.6.6.6,"] {
        assert_eq!(told(&[missing]), "10.0.0.2", "{missing}");
    }
    assert_eq!(key(&keys, "10.0.0.2", &lines("x-forwarded-for", &["6.6.6.6"])), "10.0.0.2", "another field");
}

/// A proxy that tells the host writes what the client has sent, with its quotes escaped.
#[test]
fn what_a_proxy_quotes_of_a_client_changes_nothing() {
    let (one, two) = (ClientKeys::new().behind_forwarded(1), ClientKeys::new().behind_forwarded(2));
    let told = |keys: &ClientKeys, line: &str| key(keys, "10.0.0.2", &lines("forwarded", &[line]));
    for host in
        [r#"x\",for=6.6.6.6;x=\""#, "a;b", ";for=6.6.6.6;", r"a\\", r#"\\\";for=6.6.6.6"#, "=", "\u{fc}"]
    {
        let seen = format!("for=198.51.100.9;host=\"{host}\"");
        assert_eq!(told(one.as_ref().unwrap(), &seen), "198.51.100.9", "{host}");
        let by_two = format!("for=6.6.6.6, {seen}, for=10.0.0.3;host=\"{host}\"");
        assert_eq!(told(two.as_ref().unwrap(), &by_two), "198.51.100.9", "{host}");
    }
    for seen in ["for=198.51.100.9;", ";for=198.51.100.9", "for=198.51.100.9 ; ;proto=http"] {
        assert_eq!(told(one.as_ref().unwrap(), seen), "198.51.100.9", "{seen}");
    }
    let long = "x".repeat(260);
    let inside = format!("for=198.51.100.9, for=10.0.0.3;host=\"a,for=6.6.6.6;p={long}\"");
    assert_eq!(told(two.as_ref().unwrap(), &inside), "10.0.0.2", "nothing that stands before is counted");
}

#[test]
fn trusted_networks_are_walked_to_the_first_that_is_not() {
    let keys =
        ClientKeys::new().through_x_forwarded_for(["10.0.0.0/8", "::ffff:192.0.2.1", "fd00::/8"]).unwrap();
    let told = |peer: &str, list: &[&str]| key(&keys, peer, &lines("x-forwarded-for", list));
    assert_eq!(told("10.0.0.2", &["6.6.6.6, 198.51.100.9, 10.1.2.3"]), "198.51.100.9");
    assert_eq!(told("::ffff:10.0.0.2", &["6.6.6.6, 198.51.100.9, [fd00::1]:80, 192.0.2.1"]), "198.51.100.9");
    assert_eq!(told("203.0.113.7", &["6.6.6.6"]), "203.0.113.7", "who reaches the server past the proxies");
    assert_eq!(told("10.0.0.2", &["6.6.6.6, garbage, 10.1.2.3"]), "10.0.0.2", "a proxy that tells nothing");
    assert_eq!(told("10.0.0.2", &["10.7.7.7, 10.1.2.3"]), "10.7.7.7", "a call from inside");
    assert_eq!(told("10.0.0.2", &[]), "10.0.0.2");
    let chain = |length| [vec!["6.6.6.6", "203.0.113.1"], vec!["10.0.0.1"; length]].concat();
    assert_eq!(told("10.0.0.2", &chain(15)), "203.0.113.1");
    assert_eq!(told("10.0.0.2", &chain(16)), "10.0.0.1", "it looks at sixteen");
}

/// However a network is spelt, and wider than all of IPv4 too.
#[test]
fn a_mapped_network_is_that_of_ipv4() {
    for network in ["::ffff:a00:0/104", "::ffff:10.0.0.0/104", "::ffff:0:0/96", "::/0", "::ffff:10.0.0.2"] {
        let keys = ClientKeys::new().through_x_forwarded_for([network]).unwrap();
        let told = |peer: &str| key(&keys, peer, &lines("x-forwarded-for", &["198.51.100.9"]));
        for peer in ["10.0.0.2", "::ffff:10.0.0.2"] {
            let expected = if network == "::/0" { "10.0.0.2" } else { "198.51.100.9" };
            assert_eq!(told(peer), expected, "{network} {peer}");
        }
    }
}

#[test]
fn long_fields_and_many_lines_prove_nothing() {
    let keys = ClientKeys::new().behind_x_forwarded_for(2).unwrap();
    let flood = "6.6.6.6,".repeat(100_000);
    let told = |list: &[&str]| key(&keys, "10.0.0.2", &lines("x-forwarded-for", list));
    assert_eq!(told(&[&format!("{flood}198.51.100.9, 10.0.0.3")]), "198.51.100.9");
    let many = vec!["6.6.6.6"; 1000];
    assert_eq!(told(&[&many[..], &["198.51.100.9", "10.0.0.3"]].concat()), "198.51.100.9");
    let long = "x".repeat(10_000);
    assert_eq!(told(&["6.6.6.6", &long]), "10.0.0.2", "not what stands before the proxy's line");
    assert_eq!(told(&[&format!("6.6.6.6,{long}")]), "10.0.0.2");
}

#[test]
fn a_header_is_the_key_of_who_sends_it() {
    let keys = ClientKeys::new().header(HeaderName::from_static("x-api-key"));
    let headers = lines("x-api-key", &["sk-1"]);
    let found = keys.key(address("1.2.3.4"), &headers);
    assert_eq!((found.text(), found.address()), (Some(&b"sk-1"[..]), None));
    assert_eq!(found, keys.key(address("9.9.9.9"), &headers), "wherever it calls from");
    assert_eq!(
        format!("{found} {found:?}"),
        "a text of 4 bytes ClientKey(a text of 4 bytes)",
        "not the secret"
    );

    let as_text = keys.key(address("9.9.9.9"), &lines("x-api-key", &["1.2.3.4"]));
    assert_ne!(as_text, keys.key(address("1.2.3.4"), &HeaderMap::new()), "a text is no address");
    let longest = "k".repeat(256);
    assert!(keys.key(address("1.2.3.4"), &lines("x-api-key", &[&longest])).text().is_some());
    for list in [&[""][..], &["a", "b"], &[&"k".repeat(257)], &[]] {
        assert_eq!(key(&keys, "1.2.3.4", &lines("x-api-key", list)), "1.2.3.4", "{list:?}");
    }
}

#[test]
fn what_cannot_be_is_an_error() {
    for hops in [0, 17, 255] {
        let error = ClientKeys::new().behind_forwarded(hops).unwrap_err();
        assert_eq!(error, ClientKeysError::Hops { hops });
        assert_eq!(error.to_string(), format!("{hops} trusted hops: it must be from 1 to 16"));
    }
    for bits in [0, 129] {
        assert_eq!(ClientKeys::new().ipv6_prefix(bits).unwrap_err(), ClientKeysError::Prefix { bits });
    }
    for text in ["10.0.0.0/33", "proxy", "", "10/8"] {
        let error = ClientKeys::new().through_forwarded([text]).unwrap_err();
        assert_eq!(error, ClientKeysError::Network { text: text.to_string() });
    }
    assert!(ClientKeys::new().behind_x_forwarded_for(16).is_ok());
    assert!(ClientKeys::new().ipv6_prefix(1).unwrap().ipv6_prefix(128).is_ok());
}

/// As a proxy writes what a client has sent between quotes.
fn quoted(sent: &[u8]) -> Vec<u8> {
    let escaped = sent.iter().flat_map(|byte| {
        let is_special = matches!(byte, b'"' | b'\\');
        is_special.then_some(b'\\').into_iter().chain([*byte])
    });
    [b'"'].into_iter().chain(escaped).chain([b'"']).collect()
}

/// What a client may send: addresses, separators, quotes, anything.
fn sent() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let piece = prop_oneof![
        Just("6.6.6.6".to_string()),
        Just("for=6.6.6.6".to_string()),
        Just("for=\"".to_string()),
        "[,;\"\\\\ =:\\[\\]]{1,3}",
        "[ -~]{0,12}",
        Just("x".repeat(300)),
    ];
    let line = prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat().into_bytes());
    let line = (line, any::<bool>()).prop_map(|(mut line, is_opaque)| {
        line.extend(is_opaque.then_some(0xff));
        line
    });
    prop::collection::vec(line, 0..4)
}

/// Two proxies, by their number and by their network.
fn trusting(name: &str) -> [ClientKeys; 2] {
    let (new, networks) = (ClientKeys::new, ["10.0.0.0/8"]);
    if name == "forwarded" {
        [new().behind_forwarded(2).unwrap(), new().through_forwarded(networks).unwrap()]
    } else {
        [new().behind_x_forwarded_for(2).unwrap(), new().through_x_forwarded_for(networks).unwrap()]
    }
}

fn found(
    keys: &ClientKeys,
    name: &'static str,
    sent: &[Vec<u8>],
    proxies: &[Vec<u8>],
    in_lines: bool,
) -> ClientKey {
    let mut lines = sent.to_vec();
    for written in proxies {
        match lines.last_mut().filter(|_| !in_lines) {
            Some(line) => line.extend([&b", "[..], written].concat()),
            None => lines.push(written.clone()),
        }
    }
    let mut headers = HeaderMap::new();
    for line in lines {
        headers.append(HeaderName::from_static(name), HeaderValue::from_bytes(&line).unwrap());
    }
    keys.key(address("10.0.0.2"), &headers)
}

proptest! {
    /// Whatever a client sends, and whether proxies append to its line or write their own.
    #[test]
    fn the_key_is_what_the_trusted_proxy_has_seen(sent in sent(), in_lines: bool) {
        let expected = ClientKeys::new().key(address("198.51.100.9"), &HeaderMap::new());
        let xff = ["198.51.100.9", "10.0.0.3:81"];
        let forwarded = ["for=198.51.100.9;proto=http", "for=\"10.0.0.3:81\";by=\"[fd00::1]\""];
        for (name, written) in [("x-forwarded-for", xff), ("forwarded", forwarded)] {
            for keys in trusting(name) {
                let written = written.map(|text| text.as_bytes().to_vec());
                prop_assert_eq!(&found(&keys, name, &sent, &written, in_lines), &expected, "{}", name);
            }
        }
    }

    /// Also where they write into their own elements what it has sent. Too much of that, and the peer is
    /// known.
    #[test]
    fn a_text_that_proxies_quote_is_no_element(
        sent in sent(),
        hosts in [0..4_usize, 0..4_usize],
        in_lines: bool,
    ) {
        let host = |at: usize| quoted(sent.get(at).map_or(&b""[..], Vec::as_slice));
        let [further, nearer] = [(hosts[0], "198.51.100.9"), (hosts[1], "10.0.0.3")]
            .map(|(at, seen)| [format!("for={seen};host=").as_bytes(), &host(at)].concat());
        // With the comma and the blank before it.
        let is_long = |element: &[u8], is_first: bool| {
            element.len() + if in_lines || is_first { 0 } else { 2 } > 256
        };
        let is_known = !is_long(&further, sent.is_empty()) && !is_long(&nearer, false);
        let seen = if is_known { "198.51.100.9" } else { "10.0.0.2" };
        for keys in trusting("forwarded") {
            let key = found(&keys, "forwarded", &sent, &[further.clone(), nearer.clone()], in_lines);
            prop_assert_eq!(key.address(), Some(address(seen)));
        }
    }

    #[test]
    fn without_trust_nothing_is_read(sent in sent()) {
        let expected = ClientKeys::new().key(address("10.0.0.2"), &HeaderMap::new());
        prop_assert_eq!(found(&ClientKeys::new(), "x-forwarded-for", &sent, &[], true), expected);
    }
}
