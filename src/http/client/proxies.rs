//! What trusted proxies have written, read from the right.
//!
//! Each proxy appends, so what a client sends stands on the left. A list is cut from the right, no further
//! than trust goes: nothing that stands before can change what is found, be it an open quote.

use std::iter;
use std::net::IpAddr;
use std::sync::Arc;

use ::http::{HeaderMap, HeaderName, HeaderValue};
use ipnet::IpNet;

use super::ClientKeys;
use super::node::{LONGEST_BYTES, forwarded_for, is_escaped, node};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// What proxies write to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Field {
    XForwardedFor,
    Forwarded,
}

/// Which proxies are trusted.
#[derive(Clone, Debug)]
pub(super) enum Trust {
    Hops(u8),
    Networks(Arc<[IpNet]>),
}

impl Trust {
    /// The address that the outermost trusted proxy has seen, if it has written one.
    pub(super) fn client(&self, field: Field, peer: IpAddr, headers: &HeaderMap) -> Option<IpAddr> {
        let elements = || field.elements(headers).take(ClientKeys::MOST_HOPS.into());
        match self {
            Self::Hops(hops) => {
                let (mut elements, mut outermost) = (elements(), None);
                for _ in 0..*hops {
                    // What stands before one that is too long may be a part of it, written by a client.
                    outermost = Some(elements.next()??);
                }
                field.address(outermost?)
            }
            Self::Networks(networks) => {
                let is_trusted = |address: IpAddr| networks.iter().any(|network| network.contains(&address));
                let mut client = peer;
                let mut elements = elements();
                while is_trusted(client) {
                    // Without more, a trusted address is where the call began.
                    let Some(element) = elements.next() else { break };
                    client = element.and_then(|element| field.address(element))?;
                }
                Some(client)
            }
        }
    }
}

impl Field {
    fn elements(self, headers: &HeaderMap) -> impl Iterator<Item = Option<&[u8]>> {
        let name = match self {
            Self::XForwardedFor => X_FORWARDED_FOR,
            Self::Forwarded => ::http::header::FORWARDED,
        };
        let lines = headers.get_all(name).into_iter().rev().map(HeaderValue::as_bytes);
        cut(lines, self == Self::Forwarded)
    }

    fn address(self, element: &[u8]) -> Option<IpAddr> {
        match self {
            Self::XForwardedFor => node(str::from_utf8(element.trim_ascii()).ok()?),
            Self::Forwarded => forwarded_for(element),
        }
    }
}

/// The elements of a list over all its lines, the last first; none for one that is too long. What follows
/// that is not to be counted.
fn cut<'h>(lines: impl Iterator<Item = &'h [u8]>, quotes: bool) -> impl Iterator<Item = Option<&'h [u8]>> {
    lines.flat_map(move |line| {
        let mut rest = Some(line);
        iter::from_fn(move || {
            let (before, element) = last(rest?, quotes);
            rest = before;
            Some(element)
        })
    })
}

/// The last element, and what stands before its comma; neither if it is too long.
fn last(line: &[u8], quotes: bool) -> (Option<&[u8]>, Option<&[u8]>) {
    let mut is_quoted = false;
    for (at, byte) in line.iter().enumerate().rev().take(LONGEST_BYTES) {
        match byte {
            b'"' if quotes && !is_escaped(line, at) => is_quoted = !is_quoted,
            b',' if !is_quoted => {
                let element = line.get(at..).and_then(|element| element.strip_prefix(b","));
                return (line.get(..at), element);
            }
            _ => {}
        }
    }
    (None, (line.len() <= LONGEST_BYTES).then_some(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut_up<'h>(lines: &[&'h str], quotes: bool) -> Vec<Option<&'h str>> {
        let elements = cut(lines.iter().rev().map(|line| line.as_bytes()), quotes);
        elements.map(|element| element.and_then(|element| str::from_utf8(element).ok())).collect()
    }

    #[test]
    fn a_list_is_cut_from_the_right() {
        assert_eq!(cut_up(&["a, b", "c"], false), [Some("c"), Some(" b"), Some("a")]);
        assert_eq!(cut_up(&[",a,"], false), [Some(""), Some("a"), Some("")]);
        assert_eq!(cut_up(&["a;x=\"b,c\",d"], true), [Some("d"), Some("a;x=\"b,c\"")]);
        assert_eq!(
            cut_up(&["a=\"b,c"], true),
            [Some("c"), Some("a=\"b")],
            "an open quote on the left hides nothing"
        );
        assert_eq!(cut_up(&["a\",b\"", "c"], true), [Some("c"), Some("a\",b\"")]);
        for quoted in [r#"b="\",c""#, r#"b="\",c\\""#, r#"b=",\\\"""#] {
            let line = format!("a,{quoted},d");
            assert_eq!(cut_up(&[&line], true), [Some("d"), Some(quoted), Some("a")]);
        }
    }

    #[test]
    fn what_is_too_long_is_no_element() {
        let long = format!("1.1.1.1,{}", "x".repeat(LONGEST_BYTES - 1));
        assert_eq!(cut_up(&[&long], false), [Some(&long[8..]), Some("1.1.1.1")]);
        let longer = format!("1.1.1.1,{}", "x".repeat(LONGEST_BYTES));
        assert_eq!(cut_up(&[&longer], false), [None], "nor is there anything before it");
    }
}
