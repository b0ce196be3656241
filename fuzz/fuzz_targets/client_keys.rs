//! Whatever a client sends, its key is what the trusted proxies have seen; and nothing panics.
//!
//! The input is lines: the first has a byte that says whether proxies append to the last line or write lines
//! of their own, and the others are lines of the field as the client sends them.

#![no_main]

use std::net::IpAddr;

use http::{HeaderMap, HeaderName, HeaderValue};
use libfuzzer_sys::fuzz_target;
use tollgate::http::ClientKeys;

const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));

/// A field, and what two proxies write to it.
const WRITTEN: [(&str, [&str; 2]); 2] = [
    ("x-forwarded-for", ["198.51.100.9", "10.0.0.3:81"]),
    ("forwarded", ["for=198.51.100.9;proto=http", "for=\"10.0.0.3:81\";by=\"[fd00::1]\""]),
];

fuzz_target!(|input: &[u8]| {
    let mut lines = input.split(|byte| *byte == b'\n');
    let appends = lines.next().is_some_and(|line| line.first().is_some_and(|byte| byte % 2 == 0));
    let sent: Vec<&[u8]> = lines.filter(|line| HeaderValue::from_bytes(line).is_ok()).take(100).collect();
    let expected = ClientKeys::new().key([198, 51, 100, 9].into(), &HeaderMap::new());
    for (name, written) in WRITTEN {
        let written = written.map(|text| text.as_bytes().to_vec());
        for keys in trusting(name) {
            assert_eq!(keys.key(PEER, &headers(name, &sent, &written, appends)), expected, "{name}");
            // Whatever comes of it when the proxies write nothing.
            let _ = keys.address(PEER, &headers(name, &sent, &[], appends));
        }
    }
    // Into what proxies write the client's own text may get, between quotes; too much of it is the peer's key.
    let quoted = sent.first().map_or(vec![], |line| quoted(line));
    let written = ["for=198.51.100.9;host=", "for=10.0.0.3;host="]
        .map(|start| [start.as_bytes(), b"\"", &quoted, b"\""].concat());
    for keys in trusting("forwarded") {
        let key = keys.key(PEER, &headers("forwarded", &sent, &written, appends));
        let is_long = quoted.len() > 220;
        assert!(key == expected || is_long && key.address() == Some(PEER), "{key}");
    }
    let unread = ClientKeys::new().key(PEER, &headers("x-forwarded-for", &sent, &[], appends));
    assert_eq!(unread.address(), Some(PEER));
});

fn trusting(name: &str) -> [ClientKeys; 2] {
    let new = ClientKeys::new;
    let networks = ["10.0.0.0/8"];
    if name == "forwarded" {
        [new().behind_forwarded(2).unwrap(), new().through_forwarded(networks).unwrap()]
    } else {
        [new().behind_x_forwarded_for(2).unwrap(), new().through_x_forwarded_for(networks).unwrap()]
    }
}

/// What stands between quotes.
fn quoted(line: &[u8]) -> Vec<u8> {
    let escape = |byte: &u8| matches!(byte, b'"' | b'\\').then_some(b'\\');
    line.iter().flat_map(|byte| escape(byte).into_iter().chain([*byte])).collect()
}

fn headers(name: &'static str, sent: &[&[u8]], written: &[Vec<u8>], appends: bool) -> HeaderMap {
    let mut lines: Vec<Vec<u8>> = sent.iter().map(|line| line.to_vec()).collect();
    for text in written {
        match lines.last_mut().filter(|_| appends) {
            Some(line) => line.extend([&b", "[..], text].concat()),
            None => lines.push(text.clone()),
        }
    }
    let value = |line: Vec<u8>| HeaderValue::from_bytes(&line).unwrap();
    lines.into_iter().map(|line| (HeaderName::from_static(name), value(line))).collect()
}
