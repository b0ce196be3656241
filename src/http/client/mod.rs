//! Whom a limit counts: the key of a client.

mod key;
mod node;
mod proxies;

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use ::http::{HeaderMap, HeaderName};
use ipnet::IpNet;

pub use self::key::ClientKey;
use self::proxies::{Field, Trust};

/// Tells by what key a client is limited.
///
/// By default it is the address of the peer, and no header is looked at: whoever writes a header chooses its
/// key. Behind proxies say which of them to trust; then it is the address that the outermost trusted one has
/// seen, and what stands before that, which the client has written, is not even parsed. Where that address is
/// missing or malformed, it is the peer's.
///
/// * Mapped addresses are the IPv4 addresses that they stand for, however they are spelt; ports are left out.
/// * Addresses of IPv6 share a key if they share a prefix, /64 unless told otherwise: one customer has at
///   least so many.
/// * With [`header`](Self::header), whoever sends that field is known by its text, and others by their
///   addresses.
///
/// Cost: at most 16 elements are looked at, of each 256 bytes, however long the fields are; a key by an
/// address allocates nothing.
///
/// ```
/// use http::{HeaderMap, HeaderValue};
/// use tollgate::http::ClientKeys;
///
/// let mut headers = HeaderMap::new();
/// headers.insert("x-forwarded-for", HeaderValue::from_static("6.6.6.6, 198.51.100.9"));
/// let peer = "10.0.0.2".parse().unwrap();
///
/// assert_eq!(ClientKeys::new().key(peer, &headers).to_string(), "10.0.0.2");
/// let behind_one = ClientKeys::new().behind_x_forwarded_for(1)?;
/// assert_eq!(behind_one.key(peer, &headers).to_string(), "198.51.100.9");
/// # Ok::<(), tollgate::http::ClientKeysError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ClientKeys {
    trust: Option<(Field, Trust)>,
    prefix_bits: u8,
    header: Option<HeaderName>,
}

/// Settings that cannot be; it names the value and the range.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ClientKeysError {
    /// From 1 to 16 proxies can stand before a server.
    Hops {
        /// The number asked for.
        hops: u8,
    },
    /// A prefix of IPv6 is from 1 to 128 bits.
    Prefix {
        /// The bits asked for.
        bits: u8,
    },
    /// A network is an address, or one with the length of its prefix: `10.0.0.0/8`.
    Network {
        /// The text given.
        text: String,
    },
}

impl ClientKeys {
    /// The most proxies that may stand before a server.
    pub const MOST_HOPS: u8 = 16;

    /// By the peer's address, of IPv6 by /64.
    pub fn new() -> Self {
        Self { trust: None, prefix_bits: 64, header: None }
    }

    /// Behind so many proxies, each of which appends to `X-Forwarded-For` the address that it was called
    /// from. Nothing else may reach the server: a client that does writes all of the field.
    ///
    /// # Errors
    ///
    /// [`ClientKeysError::Hops`] for none or more than 16.
    pub fn behind_x_forwarded_for(self, hops: u8) -> Result<Self, ClientKeysError> {
        self.behind(Field::XForwardedFor, hops)
    }

    /// As [`behind_x_forwarded_for`](Self::behind_x_forwarded_for), by `Forwarded` (RFC 7239).
    ///
    /// # Errors
    ///
    /// [`ClientKeysError::Hops`] for none or more than 16.
    pub fn behind_forwarded(self, hops: u8) -> Result<Self, ClientKeysError> {
        self.behind(Field::Forwarded, hops)
    }

    /// Behind proxies in these networks, each of which appends to `X-Forwarded-For`. From the peer on it goes
    /// back through addresses of these networks to the first that is not, up to 16; a peer outside of them is
    /// the client. So a server may be reached past the proxies, and through chains of several lengths.
    ///
    /// # Errors
    ///
    /// [`ClientKeysError::Network`] for a text that is no network.
    pub fn through_x_forwarded_for<T: AsRef<str>>(
        self,
        networks: impl IntoIterator<Item = T>,
    ) -> Result<Self, ClientKeysError> {
        self.through(Field::XForwardedFor, networks)
    }

    /// As [`through_x_forwarded_for`](Self::through_x_forwarded_for), by `Forwarded` (RFC 7239).
    ///
    /// # Errors
    ///
    /// [`ClientKeysError::Network`] for a text that is no network.
    pub fn through_forwarded<T: AsRef<str>>(
        self,
        networks: impl IntoIterator<Item = T>,
    ) -> Result<Self, ClientKeysError> {
        self.through(Field::Forwarded, networks)
    }

    /// Addresses of IPv6 share a key if so many bits are the same.
    ///
    /// # Errors
    ///
    /// [`ClientKeysError::Prefix`] for none or more than 128.
    pub fn ipv6_prefix(self, bits: u8) -> Result<Self, ClientKeysError> {
        if (1..=128).contains(&bits) {
            Ok(Self { prefix_bits: bits, ..self })
        } else {
            Err(ClientKeysError::Prefix { bits })
        }
    }

    /// Who sends this field is known by its text: an API key, a tenant. Without it, with two of them, or with
    /// one of more than 256 bytes, the address counts. Check the text before it is limited by, or limit
    /// addresses too: who may send any text gets a new key with each.
    pub fn header(self, name: HeaderName) -> Self {
        Self { header: Some(name), ..self }
    }

    /// The key of a client that has called from `peer` (of a socket's address, its `ip()`) with these
    /// headers.
    pub fn key(&self, peer: IpAddr, headers: &HeaderMap) -> ClientKey {
        self.text(headers)
            .unwrap_or_else(|| ClientKey::of_address(self.address(peer, headers), self.prefix_bits))
    }

    /// The address of the client, whole, for logs.
    pub fn address(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let peer = peer.to_canonical();
        let told = self.trust.as_ref().and_then(|(field, trust)| trust.client(*field, peer, headers));
        told.unwrap_or(peer)
    }

    fn text(&self, headers: &HeaderMap) -> Option<ClientKey> {
        let mut values = headers.get_all(self.header.as_ref()?).iter();
        let value = values.next()?;
        // Who reads the first of two and who reads the last would see two clients.
        values.next().is_none().then(|| ClientKey::of_text(value.as_bytes()))?
    }

    fn behind(self, field: Field, hops: u8) -> Result<Self, ClientKeysError> {
        if (1..=Self::MOST_HOPS).contains(&hops) {
            Ok(Self { trust: Some((field, Trust::Hops(hops))), ..self })
        } else {
            Err(ClientKeysError::Hops { hops })
        }
    }

    fn through<T: AsRef<str>>(
        self,
        field: Field,
        networks: impl IntoIterator<Item = T>,
    ) -> Result<Self, ClientKeysError> {
        let networks = networks.into_iter().map(|text| network(text.as_ref()));
        let networks = networks.collect::<Result<Arc<[_]>, _>>()?;
        Ok(Self { trust: Some((field, Trust::Networks(networks))), ..self })
    }
}

impl Default for ClientKeys {
    fn default() -> Self {
        Self::new()
    }
}

fn network(text: &str) -> Result<IpNet, ClientKeysError> {
    let alone = || text.parse::<IpAddr>().ok().map(|address| IpNet::from(address.to_canonical()));
    let network = text.parse().ok().map(canonical).or_else(alone);
    network.ok_or_else(|| ClientKeysError::Network { text: text.to_string() })
}

/// One of mapped addresses is that of the IPv4 addresses that they stand for.
fn canonical(network: IpNet) -> IpNet {
    let IpAddr::V4(address) = network.addr().to_canonical() else { return network };
    let bits = network.prefix_len().checked_sub(96).filter(|_| matches!(network, IpNet::V6(_)));
    bits.and_then(|bits| IpNet::new(address.into(), bits).ok()).unwrap_or(network)
}

impl fmt::Display for ClientKeysError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hops { hops } => {
                write!(f, "{hops} trusted hops: it must be from 1 to {}", ClientKeys::MOST_HOPS)
            }
            Self::Prefix { bits } => write!(f, "a prefix of {bits} bits: it must be from 1 to 128"),
            Self::Network { text } => {
                write!(f, "the network {text:?}: it must be an address or a prefix, as 10.0.0.0/8")
            }
        }
    }
}

impl std::error::Error for ClientKeysError {}
