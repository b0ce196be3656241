//! One address, as proxies write it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The longest element of a list: an address with all that a proxy may write beside it.
pub(super) const LONGEST_BYTES: usize = 256;

/// The address of a node (RFC 7239 section 6), with a port or without: `1.2.3.4`, `1.2.3.4:80`,
/// `2001:db8::1`, `[2001:db8::1]:443`. What is hidden, `unknown` or `_name`, is none.
pub(super) fn node(text: &str) -> Option<IpAddr> {
    let (address, port): (IpAddr, _) = match text.strip_prefix('[') {
        Some(inside) => {
            let (address, rest) = inside.split_once(']')?;
            let port = if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) };
            (address.parse::<Ipv6Addr>().ok()?.into(), port)
        }
        None => match text.parse() {
            Ok(address) => (address, None),
            Err(_) => {
                let (address, port) = text.split_once(':')?;
                (address.parse::<Ipv4Addr>().ok()?.into(), Some(port))
            }
        },
    };
    port.is_none_or(is_port).then(|| address.to_canonical())
}

/// The node of an element of `Forwarded`: that of its one `for`.
pub(super) fn forwarded_for(element: &[u8]) -> Option<IpAddr> {
    let mut found = None;
    for pair in pairs(element).map(<[u8]>::trim_ascii).filter(|pair| !pair.is_empty()) {
        let end = pair.iter().position(|byte| *byte == b'=')?;
        let (name, value) = pair.split_at_checked(end)?;
        if name.trim_ascii().eq_ignore_ascii_case(b"for") && found.replace(value).is_some() {
            return None;
        }
    }
    let value = str::from_utf8(found?.strip_prefix(b"=")?.trim_ascii()).ok()?;
    // Nothing that is quoted in an address needs to be escaped.
    let quoted = value.strip_prefix('"').map(|rest| rest.strip_suffix('"'));
    node(quoted.unwrap_or(Some(value))?)
}

/// Between semicolons that are not quoted.
fn pairs(element: &[u8]) -> impl Iterator<Item = &[u8]> {
    let (mut at, mut is_quoted) = (0_usize, false);
    element.split(move |byte| {
        is_quoted ^= *byte == b'"' && !is_escaped(element, at);
        at = at.saturating_add(1);
        *byte == b';' && !is_quoted
    })
}

/// Whether the byte there has an odd number of backslashes before it, each of which escapes what follows it.
/// They are counted from the right, for on the left may stand what a client has sent.
pub(super) fn is_escaped(line: &[u8], at: usize) -> bool {
    let before = line.get(..at).unwrap_or_default().iter().rev().take(LONGEST_BYTES);
    before.take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// Digits, or a name that hides them.
fn is_port(port: &str) -> bool {
    let is_number = (1..=5).contains(&port.len()) && port.bytes().all(|byte| byte.is_ascii_digit());
    is_number || (port.len() > 1 && port.starts_with('_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_addresses_with_and_without_ports() {
        let v4 = Some("1.2.3.4".parse().unwrap());
        for text in ["1.2.3.4", "1.2.3.4:80", "1.2.3.4:_gate", "::ffff:1.2.3.4", "[::ffff:102:304]:9"] {
            assert_eq!(node(text), v4, "{text}");
        }
        let v6 = Some("2001:db8::1".parse().unwrap());
        for text in ["2001:db8::1", "[2001:db8::1]", "[2001:DB8:0::1]:443"] {
            assert_eq!(node(text), v6, "{text}");
        }
        let none = [
            "",
            "unknown",
            "_hidden",
            "1.2.3",
            "1.2.3.4:",
            "1.2.3.4:x",
            "1.2.3.4:_",
            "1.2.3.4:123456",
            "1.2.3.4 ",
            "01.2.3.4",
            "[1.2.3.4]:80",
            "[2001:db8::1",
            "[2001:db8::1]443",
            "[2001:db8::1]:",
            "2001:db8::1]",
            "fe80::1%eth0",
        ];
        for text in none {
            assert_eq!(node(text), None, "{text}");
        }
    }

    #[test]
    fn an_element_has_one_node() {
        let found = |element: &str| forwarded_for(element.as_bytes()).map(|address| address.to_string());
        let v4 = Some("192.0.2.60".to_string());
        assert_eq!(found("for=192.0.2.60;proto=http;by=203.0.113.43"), v4);
        assert_eq!(found("proto=https ; FOR = \"192.0.2.60:4711\""), v4);
        assert_eq!(found(";for=192.0.2.60; ;host=\"a;for=1.2.3.4\\\";\\\\\";"), v4);
        assert_eq!(found("For=\"[2001:db8:cafe::17]:4711\"").as_deref(), Some("2001:db8:cafe::17"));
        let none = [
            "",
            "for",
            "for=",
            "for=unknown",
            "for=_x",
            "by=1.2.3.4",
            "for=1.2.3.4;for=1.2.3.5",
            "for=\"1.2.3.4",
            "for=\"1.2.3.4;host=a",
            "for=1.2.3.4;host",
        ];
        for element in none {
            assert_eq!(found(element), None, "{element}");
        }
    }
}
