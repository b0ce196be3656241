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
        for keys in trusting(name) {
            assert_eq!(keys.key(PEER, &headers(name, &sent, &written, appends)), expected, "{name}");
            // Whatever comes of it when the proxies write nothing.
            let _ = keys.address(PEER, &headers(name, &sent, &[], appends));
        }
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

fn headers(name: &'static str, sent: &[&[u8]], written: &[&str], appends: bool) -> HeaderMap {
    let mut lines: Vec<Vec<u8>> = sent.iter().map(|line| line.to_vec()).collect();
    for text in written {
        match lines.last_mut().filter(|_| appends) {
            Some(line) => line.extend(format!(", {text}").bytes()),
            None => lines.push(text.as_bytes().to_vec()),
        }
    }
    let value = |line: Vec<u8>| HeaderValue::from_bytes(&line).unwrap();
    lines.into_iter().map(|line| (HeaderName::from_static(name), value(line))).collect()
}
