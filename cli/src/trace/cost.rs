//! What a request costs: a constant, a column, or a sum of them.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use crate::text;

/// A sum of columns and of a constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CostRule {
    fixed: u64,
    columns: Vec<String>,
}

impl CostRule {
    /// Every request costs `fixed`.
    pub(crate) fn constant(fixed: u64) -> Self {
        Self { fixed, columns: Vec::new() }
    }

    /// A request costs what its column `name` says.
    pub(crate) fn column(name: &str) -> Self {
        Self { fixed: 0, columns: vec![name.to_owned()] }
    }

    /// What every request costs, if it is the same for each.
    pub(crate) fn fixed(&self) -> Option<u64> {
        self.columns.is_empty().then_some(self.fixed)
    }

    /// The names of the columns, in the order in which `total` asks for them.
    pub(crate) fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The cost of one request; `value` gives the text of the column with that index and name.
    pub(crate) fn total<'v, V>(&self, mut value: V) -> Result<u64, String>
    where
        V: FnMut(usize, &str) -> Result<Cow<'v, str>, String>,
    {
        let mut sum = self.fixed;
        for (index, name) in self.columns.iter().enumerate() {
            let tokens = whole(name, &value(index, name)?)?;
            sum = sum.checked_add(tokens).ok_or_else(|| format!("the cost {self} is above {}", u64::MAX))?;
        }
        Ok(sum)
    }
}

impl FromStr for CostRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut rule = Self::constant(0);
        for term in text.split('+').map(str::trim) {
            if term.is_empty() {
                return Err("expected a number, a column or a sum of them (A+B)".into());
            }
            if !term.bytes().all(|b| b.is_ascii_digit()) {
                rule.columns.push(term.to_owned());
                continue;
            }
            let sum = term.parse().ok().and_then(|tokens| rule.fixed.checked_add(tokens));
            rule.fixed = sum.ok_or_else(|| format!("a cost is at most {}", u64::MAX))?;
        }
        Ok(rule)
    }
}

impl fmt::Display for CostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.columns.join("+"))?;
        match (self.columns.is_empty(), self.fixed) {
            (true, fixed) => write!(f, "{fixed}"),
            (false, 0) => Ok(()),
            (false, fixed) => write!(f, "+{fixed}"),
        }
    }
}

/// A whole number of tokens. `374.0` is one too: programs that keep numbers as floats write them so.
fn whole(name: &str, value: &str) -> Result<u64, String> {
    let digits = match value.split_once('.') {
        Some((digits, zeros)) if !zeros.is_empty() && zeros.bytes().all(|b| b == b'0') => digits,
        _ => value,
    };
    let number = if digits.starts_with('+') { None } else { digits.parse().ok() };
    number.ok_or_else(|| {
        format!("{name} is {}; expected a whole number of tokens, 0 to {}", text::quoted(value), u64::MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(rule: &str, values: &[&'static str]) -> Result<u64, String> {
        rule.parse::<CostRule>()?.total(|index, _| Ok(values[index].into()))
    }

    #[test]
    fn constants_columns_and_sums() {
        assert_eq!(total("7", &[]), Ok(7));
        assert_eq!(total("a", &["12"]), Ok(12));
        assert_eq!(total("a + b+3", &["12", "30.0"]), Ok(45));
        assert_eq!(total("a", &["18446744073709551615"]), Ok(u64::MAX));
    }

    #[test]
    fn what_is_no_whole_number_is_refused() {
        for wrong in ["", "-1", "1.5", "1.", "+1", "1e3", "abc", "null", "18446744073709551616"] {
            let message = total("tokens", &[wrong]).unwrap_err();
            assert!(message.contains("tokens is") && message.contains(&format!("{wrong:?}")), "{message}");
        }
        assert!(total("a+1", &["18446744073709551615"]).unwrap_err().contains("the cost a+1 is above"));
    }

    #[test]
    fn rules_are_read_and_shown() {
        for (text, shown) in [("1", "1"), ("a+b", "a+b"), ("2+a+3", "a+5"), ("0", "0")] {
            assert_eq!(text.parse::<CostRule>().unwrap().to_string(), shown);
        }
        for wrong in ["", "+", "a+", "+a", "a++b", "99999999999999999999"] {
            assert!(wrong.parse::<CostRule>().is_err(), "{wrong}");
        }
    }
}
