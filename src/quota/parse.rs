//! Reading a quota from text, in a `const fn` so that [`quota!`](crate::quota!) reads it at compile time.

use core::time::Duration;

use super::{Fill, Quota, QuotaError};

/// Names of the units of time and their length in nanoseconds.
const UNITS: [(&str, u128); 21] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", SECOND),
    ("sec", SECOND),
    ("secs", SECOND),
    ("second", SECOND),
    ("seconds", SECOND),
    ("m", 60 * SECOND),
    ("min", 60 * SECOND),
    ("mins", 60 * SECOND),
    ("minute", 60 * SECOND),
    ("minutes", 60 * SECOND),
    ("h", 3_600 * SECOND),
    ("hr", 3_600 * SECOND),
    ("hour", 3_600 * SECOND),
    ("hours", 3_600 * SECOND),
    ("d", 86_400 * SECOND),
    ("day", 86_400 * SECOND),
    ("days", 86_400 * SECOND),
];

const SECOND: u128 = 1_000_000_000;

/// Decimals are cut off by an error, not silently: more digits than this are refused.
const MAX_DECIMALS: u32 = 18;

/// `?` for constants.
macro_rules! attempt {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(error) => return Err(error),
        }
    };
}

impl Quota {
    /// Reads a quota from its text; [`FromStr`](core::str::FromStr) for constants. The grammar stands at [`Quota`].
    ///
    /// # Errors
    ///
    /// A text outside the grammar ([`QuotaError::Syntax`] tells where and what was expected), a number above
    /// `u64::MAX`, or a quota that [`Quota::with_burst`] or [`Quota::fill`] refuses.
    pub const fn parse(text: &str) -> Result<Self, QuotaError> {
        let mut cursor = Cursor { text: text.as_bytes(), at: 0 };
        let quota = attempt!(cursor.quota());
        cursor.skip_spaces();
        if cursor.at_end() {
            Ok(quota)
        } else {
            Err(cursor.expected("`burst`, `full`, `empty`, `holding` or the end"))
        }
    }
}

/// A place in the text. Each method reads one part of the grammar and stands behind it when it succeeds.
struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

/// `mantissa / 10^decimals`
struct Decimal {
    mantissa: u128,
    decimals: u32,
}

impl Cursor<'_> {
    const fn quota(&mut self) -> Result<Quota, QuotaError> {
        let tokens = attempt!(self.count());
        let period = attempt!(self.per_period());
        let burst = if self.word("burst") { attempt!(self.burst(tokens)) } else { tokens };
        let quota = attempt!(Quota::with_burst(tokens, period, burst));
        let fill = attempt!(self.fill());
        quota.fill(fill)
    }

    const fn burst(&mut self, tokens: u64) -> Result<u64, QuotaError> {
        self.skip_spaces();
        let start = self.at;
        if !self.byte(b'x') {
            return self.count();
        }
        let factor = attempt!(self.decimal());
        match factor.mantissa.checked_mul(tokens as u128) {
            Some(product) => narrow(product / pow10(factor.decimals), start),
            None => Err(QuotaError::NumberTooLarge { at: start }),
        }
    }

    const fn fill(&mut self) -> Result<Fill, QuotaError> {
        if self.word("holding") {
            return Ok(Fill::Tokens(attempt!(self.count())));
        }
        if self.word("empty") {
            return Ok(Fill::Empty);
        }
        self.word("full");
        Ok(Fill::Full)
    }

    /// A whole number: digits, and decimals that its suffix makes whole.
    const fn count(&mut self) -> Result<u64, QuotaError> {
        self.skip_spaces();
        let start = self.at;
        let decimal = attempt!(self.decimal());
        let scale = self.suffix();
        let Some(scaled) = decimal.mantissa.checked_mul(scale) else {
            return Err(QuotaError::NumberTooLarge { at: start });
        };
        let divisor = pow10(decimal.decimals);
        if !scaled.is_multiple_of(divisor) {
            return Err(QuotaError::Syntax { at: start, expected: "a whole number of tokens" });
        }
        narrow(scaled / divisor, start)
    }

    const fn suffix(&mut self) -> u128 {
        if self.byte(b'k') || self.byte(b'K') {
            1_000
        } else if self.byte(b'M') {
            1_000_000
        } else if self.byte(b'G') {
            1_000_000_000
        } else if self.byte(b'T') {
            1_000_000_000_000
        } else {
            1
        }
    }

    const fn per_period(&mut self) -> Result<Duration, QuotaError> {
        self.skip_spaces();
        if !self.byte(b'/') && !self.word("per") {
            return Err(self.expected("`/` or `per` and a period"));
        }
        self.skip_spaces();
        let start = self.at;
        let span =
            if self.at_digit() { attempt!(self.decimal()) } else { Decimal { mantissa: 1, decimals: 0 } };
        self.skip_spaces();
        let unit = attempt!(self.unit());
        let Some(scaled) = span.mantissa.checked_mul(unit) else {
            return Err(QuotaError::NumberTooLarge { at: start });
        };
        let divisor = pow10(span.decimals);
        if !scaled.is_multiple_of(divisor) {
            return Err(QuotaError::Syntax { at: start, expected: "a whole number of nanoseconds" });
        }
        let nanos = scaled / divisor;
        let seconds = attempt!(narrow(nanos / SECOND, start));
        Ok(Duration::new(seconds, (nanos % SECOND) as u32))
    }

    /// The longest name of a unit that stands here as a word.
    const fn unit(&mut self) -> Result<u128, QuotaError> {
        let mut index = 0;
        while index < UNITS.len() {
            let (name, nanos) = UNITS[index];
            if self.word(name) {
                return Ok(nanos);
            }
            index += 1;
        }
        Err(self.expected("a unit of time: ns, us, ms, s, min, h or day"))
    }

    const fn decimal(&mut self) -> Result<Decimal, QuotaError> {
        let start = self.at;
        let mantissa = attempt!(self.digits(0, start));
        if !self.byte(b'.') {
            return Ok(Decimal { mantissa, decimals: 0 });
        }
        let point = self.at;
        let mantissa = attempt!(self.digits(mantissa, start));
        let decimals = (self.at - point) as u32;
        if decimals > MAX_DECIMALS {
            return Err(QuotaError::Syntax { at: point, expected: "at most 18 decimals" });
        }
        Ok(Decimal { mantissa, decimals })
    }

    /// One or more digits appended to `value`. Before a decimal point, `_` may stand between them.
    const fn digits(&mut self, value: u128, start: usize) -> Result<u128, QuotaError> {
        if !self.at_digit() {
            return Err(self.expected("a digit"));
        }
        let whole_part = self.at == start;
        let mut value = value;
        loop {
            if let Some(digit) = self.digit() {
                value = match append(value, digit) {
                    Some(value) => value,
                    None => return Err(QuotaError::NumberTooLarge { at: start }),
                };
            } else if whole_part && self.byte(b'_') {
                if !self.at_digit() {
                    return Err(self.expected("a digit"));
                }
            } else {
                return Ok(value);
            }
        }
    }

    const fn digit(&mut self) -> Option<u8> {
        if !self.at_digit() {
            return None;
        }
        self.at += 1;
        Some(self.text[self.at - 1] - b'0')
    }

    /// Steps over `word` if it stands here, behind any spaces, and no letter follows it.
    const fn word(&mut self, word: &str) -> bool {
        let start = self.at;
        self.skip_spaces();
        let mut index = 0;
        while index < word.len() {
            if !self.byte(word.as_bytes()[index]) {
                self.at = start;
                return false;
            }
            index += 1;
        }
        if !self.at_end() && self.text[self.at].is_ascii_alphanumeric() {
            self.at = start;
            return false;
        }
        true
    }

    const fn byte(&mut self, byte: u8) -> bool {
        let found = !self.at_end() && self.text[self.at] == byte;
        self.at += found as usize;
        found
    }

    const fn skip_spaces(&mut self) {
        while self.byte(b' ') {}
    }

    const fn at_digit(&self) -> bool {
        !self.at_end() && self.text[self.at].is_ascii_digit()
    }

    const fn at_end(&self) -> bool {
        self.at == self.text.len()
    }

    const fn expected(&self, expected: &'static str) -> QuotaError {
        QuotaError::Syntax { at: self.at, expected }
    }
}

const fn append(value: u128, digit: u8) -> Option<u128> {
    match value.checked_mul(10) {
        Some(tens) => tens.checked_add(digit as u128),
        None => None,
    }
}

const fn narrow(value: u128, at: usize) -> Result<u64, QuotaError> {
    if value > u64::MAX as u128 { Err(QuotaError::NumberTooLarge { at }) } else { Ok(value as u64) }
}

const fn pow10(exponent: u32) -> u128 {
    10_u128.pow(exponent)
}
