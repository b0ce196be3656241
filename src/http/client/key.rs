//! The key of one client.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// The longest text that is a key.
const LONGEST_BYTES: usize = 256;

/// By what a limit counts a client; made by [`ClientKeys::key`](super::ClientKeys::key), for a limiter of
/// `keyed`.
///
/// A key by an address and one by a text are never the same. What is shown of a text is its length, for it
/// may be a secret.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ClientKey(Kind);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Kind {
    Address(IpAddr, u8),
    Text(Box<[u8]>),
}

impl ClientKey {
    /// That of an address, one of IPv6 by so many bits.
    pub(super) fn of_address(address: IpAddr, bits: u8) -> Self {
        Self(match address {
            IpAddr::V4(_) => Kind::Address(address, 32),
            IpAddr::V6(address) => {
                let below = 128_u32.saturating_sub(bits.into());
                let mask = u128::MAX.checked_shl(below).unwrap_or(0);
                Kind::Address(Ipv6Addr::from_bits(address.to_bits() & mask).into(), bits)
            }
        })
    }

    /// That of a text, if it is neither empty nor too long.
    pub(super) fn of_text(text: &[u8]) -> Option<Self> {
        (1..=LONGEST_BYTES).contains(&text.len()).then(|| Self(Kind::Text(text.into())))
    }

    /// The address, of IPv6 the first of its prefix; none if the key is a text.
    pub fn address(&self) -> Option<IpAddr> {
        match self.0 {
            Kind::Address(address, _) => Some(address),
            Kind::Text(_) => None,
        }
    }

    /// The text of the header; none if the key is an address.
    pub fn text(&self) -> Option<&[u8]> {
        match &self.0 {
            Kind::Address(..) => None,
            Kind::Text(text) => Some(text),
        }
    }
}

impl fmt::Display for ClientKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Address(IpAddr::V6(address), bits) if *bits < 128 => write!(f, "{address}/{bits}"),
            Kind::Address(address, _) => write!(f, "{address}"),
            Kind::Text(text) => write!(f, "a text of {} bytes", text.len()),
        }
    }
}

impl fmt::Debug for ClientKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ClientKey").field(&format_args!("{self}")).finish()
    }
}
