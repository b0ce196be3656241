//! The name of a currency.

use core::fmt;
use core::str::FromStr;

use super::PriceError;

/// A currency by its three capital letters (ISO 4217), such as `USD`. It names, and does not convert.
///
/// ```
/// use tollgate::budget::Currency;
///
/// let currency: Currency = "EUR".parse()?;
/// assert_eq!(currency.as_str(), "EUR");
/// assert!("euro".parse::<Currency>().is_err());
/// # Ok::<(), tollgate::budget::PriceError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(into = "String", try_from = "String"))]
pub struct Currency([u8; 3]);

impl Currency {
    /// The dollar of the United States.
    pub const USD: Self = Self(*b"USD");
    /// The euro.
    pub const EUR: Self = Self(*b"EUR");

    /// Its three letters.
    pub const fn as_str(&self) -> &str {
        match core::str::from_utf8(&self.0) {
            Ok(letters) => letters,
            Err(_) => "",
        }
    }
}

impl FromStr for Currency {
    type Err = PriceError;

    fn from_str(text: &str) -> Result<Self, PriceError> {
        match <[u8; 3]>::try_from(text.as_bytes()) {
            Ok(letters) if letters.iter().all(u8::is_ascii_uppercase) => Ok(Self(letters)),
            _ => Err(PriceError::Currency { text: text.to_string() }),
        }
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(feature = "serde")]
impl From<Currency> for String {
    fn from(currency: Currency) -> Self {
        currency.to_string()
    }
}

#[cfg(feature = "serde")]
impl TryFrom<String> for Currency {
    type Error = PriceError;

    fn try_from(text: String) -> Result<Self, PriceError> {
        text.parse()
    }
}
