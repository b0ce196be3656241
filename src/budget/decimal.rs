//! Numbers as people write them into configuration files, without a float in between.

const DECIMALS: usize = 6;
const MILLION: u64 = 1_000_000;

/// The millionths in a decimal number such as `12`, `0.075` or `1.5`; nothing if it is not written so, has more than six
/// decimals, or does not fit.
pub(super) fn millionths(text: &str) -> Option<u64> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    if decimals.len() > DECIMALS {
        return None;
    }
    let missing = 10_u64.checked_pow(u32::try_from(DECIMALS - decimals.len()).ok()?)?;
    digits(whole)?.checked_mul(MILLION)?.checked_add(digits(decimals)? * missing)
}

/// So many millionths, without the zeros at their end.
pub(super) fn text(millionths: u64) -> String {
    let (whole, part) = (millionths / MILLION, millionths % MILLION);
    if part == 0 {
        return whole.to_string();
    }
    format!("{whole}.{part:06}").trim_end_matches('0').to_string()
}

/// `str::parse` would take a sign, and no digits at all are no number.
fn digits(text: &str) -> Option<u64> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

/// A number or its text, from any format.
///
/// A format's own float is taken for the shortest decimal that stands for it, which is what was written: `0.1` is a tenth.
#[cfg(feature = "serde")]
#[derive(Clone, Debug, serde::Serialize)]
#[serde(transparent)]
pub(super) struct Written(pub(super) String);

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Written {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberOrText)
    }
}

#[cfg(feature = "serde")]
struct NumberOrText;

#[cfg(feature = "serde")]
impl serde::de::Visitor<'_> for NumberOrText {
    type Value = Written;

    fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("a number such as 1.25 or its text")
    }

    fn visit_u64<E>(self, number: u64) -> Result<Written, E> {
        Ok(Written(number.to_string()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Written, E> {
        Ok(Written(number.to_string()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Written, E> {
        Ok(Written(number.to_string()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Written, E> {
        Ok(Written(text.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        for (text, expected) in [
            ("0", 0),
            ("10", 10_000_000),
            ("0.075", 75_000),
            ("1.5", 1_500_000),
            ("0.000001", 1),
            ("1.000000", 1_000_000),
            ("18446744073709.551615", u64::MAX),
        ] {
            assert_eq!(millionths(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in [
            "",
            ".",
            "1.",
            ".5",
            "-1",
            "+1",
            "1.+5",
            "1e3",
            "0.0000001",
            "1.2.3",
            " 1",
            "1_000",
            "NaN",
            "inf",
            "٣",
        ] {
            assert_eq!(millionths(text), None, "{text:?}");
        }
        assert_eq!(millionths("18446744073709.551616"), None);
        assert_eq!(millionths("99999999999999999999999"), None);
    }

    #[test]
    fn the_text_of_a_number_is_that_number() {
        for number in [0, 1, 10, 75_000, 1_500_000, 10_000_000, u64::MAX] {
            assert_eq!(millionths(&text(number)), Some(number), "{}", text(number));
        }
        assert_eq!((text(1_250_000), text(100_000)), ("1.25".to_string(), "0.1".to_string()));
    }
}
