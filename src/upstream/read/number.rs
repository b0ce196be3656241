//! Numbers and spans as they stand in header fields: the whole text must match, and spans are rounded up.

use core::time::Duration;

use super::LONGEST;

const NANOS_PER_SEC: u64 = 1_000_000_000;
const NANOS_PER_MILLI: u64 = 1_000_000;

/// More digits than this are a mistake and not a number.
const MOST_DIGITS: usize = 18;
/// A longer text is not a span.
const LONGEST_TEXT: usize = 64;

/// `1*DIGIT` that fits.
pub(super) fn count(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// A plain decimal of seconds.
pub(super) fn seconds(text: &str) -> Option<Duration> {
    decimal(text)?.of(NANOS_PER_SEC)
}

/// A plain decimal of milliseconds.
pub(super) fn millis(text: &str) -> Option<Duration> {
    decimal(text)?.of(NANOS_PER_MILLI)
}

/// So many nanoseconds, no longer than [`LONGEST`].
pub(super) fn capped(nanos: u128) -> Duration {
    u64::try_from(nanos).map_or(LONGEST, Duration::from_nanos).min(LONGEST)
}

/// What Go's `time.Duration` prints and its `ParseDuration` accepts, without a sign: `6m0s`, `17.399999999s`, `.5h`, `0`.
pub(super) fn go_duration(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let (mut rest, mut nanos) = (text, 0_u128);
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at_checked(end)?;
        let (unit, tail) = unit_of(tail)?;
        nanos = nanos.saturating_add(Decimal::new(number)?.nanos(unit));
        rest = tail;
    }
    (!text.is_empty() && text.len() <= LONGEST_TEXT).then(|| capped(nanos))
}

/// A duration in proto3's JSON: seconds with up to nine places, and an `s`.
pub(super) fn proto_duration(text: &str) -> Option<Duration> {
    let number = text.strip_suffix('s')?;
    let places = number.split_once('.').map_or(0, |(_, places)| places.len());
    (places <= 9).then(|| seconds(number)).flatten()
}

/// A plain decimal: `1*18DIGIT ["." 1*DIGIT]`.
pub(super) fn decimal(text: &str) -> Option<Decimal> {
    let complete = !text.starts_with('.') && !text.ends_with('.');
    (complete && text.len() <= LONGEST_TEXT).then(|| Decimal::new(text)).flatten()
}

/// Whether it is a plain decimal whose only fault is to have too many digits: a span longer than any that is meant.
pub(super) fn is_beyond_reading(text: &str) -> bool {
    let (whole, places) = text.split_once('.').unwrap_or((text, "0"));
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    are_digits(whole) && are_digits(places) && whole.len() > MOST_DIGITS
}

/// The nanoseconds of a unit of Go's, and what follows it. Of units that begin alike the longer stands first.
fn unit_of(text: &str) -> Option<(u64, &str)> {
    const UNITS: [(&str, u64); 8] = [
        ("ns", 1),
        ("us", 1_000),
        ("\u{b5}s", 1_000),
        ("\u{3bc}s", 1_000),
        ("ms", NANOS_PER_MILLI),
        ("s", NANOS_PER_SEC),
        ("m", 60 * NANOS_PER_SEC),
        ("h", 3_600 * NANOS_PER_SEC),
    ];
    UNITS.iter().find_map(|(name, nanos)| Some((*nanos, text.strip_prefix(name)?)))
}

/// A number that is not negative, with all its places up to the 18th.
#[derive(Clone, Copy)]
pub(super) struct Decimal {
    pub(super) whole: u64,
    /// In units of 10^-18.
    atoms: u64,
    /// Whether a later place is not zero.
    more: bool,
}

impl Decimal {
    const ATOMS_PER_ONE: u64 = 1_000_000_000_000_000_000;

    fn new(text: &str) -> Option<Self> {
        let (whole, places) = text.split_once('.').unwrap_or((text, ""));
        if whole.len() > MOST_DIGITS || (whole.is_empty() && places.is_empty()) {
            return None;
        }
        let (atoms, more) = atoms(places)?;
        Some(Self { whole: if whole.is_empty() { 0 } else { count(whole)? }, atoms, more })
    }

    /// As a multiple of a unit of so many nanoseconds, rounded up.
    pub(super) fn nanos(self, unit: u64) -> u128 {
        let whole = u128::from(self.whole) * u128::from(unit);
        let part = (u128::from(self.atoms) * u128::from(unit)).div_ceil(u128::from(Self::ATOMS_PER_ONE));
        // What the places beyond the 18th add is less than a nanosecond.
        whole + part + u128::from(self.more)
    }

    fn of(self, unit: u64) -> Option<Duration> {
        Some(capped(self.nanos(unit)))
    }
}

/// The first 18 places, and whether a later one is not zero.
fn atoms(places: &str) -> Option<(u64, bool)> {
    let (mut atoms, mut worth, mut more) = (0_u64, Decimal::ATOMS_PER_ONE / 10, false);
    for byte in places.bytes() {
        let digit = u64::from(byte.is_ascii_digit().then(|| byte - b'0')?);
        atoms += digit * worth;
        more |= worth == 0 && digit > 0;
        worth /= 10;
    }
    Some((atoms, more))
}
