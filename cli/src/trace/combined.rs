//! Access logs in the combined format of Apache and nginx, and in the common one without referer and agent:
//!
//! `127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /a.gif HTTP/1.0" 200 2326 "http://b.example/" "Agent/1.0"`

use super::{CostRule, Latency, Lines, Problem, Record, Records, Wanted, shown, time};
use crate::text;

/// The columns of a line, under the names by which they can be asked for.
const NAMES: [&str; 8] = ["client", "user", "time", "request", "status", "bytes", "referer", "agent"];

pub(super) struct Combined {
    cost: CostRule,
    costs: Vec<usize>,
    key: Option<usize>,
    latency: Option<(usize, Latency)>,
}

impl Combined {
    pub(super) fn new(wanted: &Wanted) -> Result<Self, String> {
        if let Some(name) = wanted.time.as_deref().filter(|name| *name != "time") {
            return Err(format!("an access log has its arrival time in the column time, not in {name:?}"));
        }
        let column = |name: &String| super::columns::find(&NAMES, name);
        Ok(Self {
            costs: wanted.cost.columns().iter().map(column).collect::<Result<_, _>>()?,
            cost: wanted.cost.clone(),
            key: wanted.key.as_ref().map(column).transpose()?,
            latency: wanted.latency.as_ref().map(|latency| latency.among(&NAMES)).transpose()?,
        })
    }

    fn record(&self, line: u64, bytes: &[u8]) -> Result<Record, String> {
        let entry = Entry::read(bytes)?;
        let written = shown(entry.column("time"));
        let stamp = time::log_time(&written).ok_or_else(|| {
            format!("time is {}; expected a time as in [10/Oct/2000:13:55:36 -0700]", text::quoted(&written))
        })?;
        let cost = self.cost.total(|index, _| Ok(shown(entry.0[self.costs[index]])))?;
        let key = self.key.map(|index| shown(entry.0[index]).into_owned());
        let latency = self.latency.as_ref().map(|(index, latency)| latency.read(&shown(entry.0[*index])));
        Ok(Record { line, stamp, cost, key, latency: latency.transpose()? })
    }
}

impl Records for Combined {
    fn next(&mut self, lines: &mut Lines) -> Result<Option<Record>, Problem> {
        if !lines.advance_to_text()? {
            return Ok(None);
        }
        let line = lines.number();
        self.record(line, lines.text()).map(Some).map_err(|what| Problem::at(line, what))
    }
}

/// The columns of one line, in the order of `NAMES`.
#[derive(Debug)]
pub(super) struct Entry<'a>([&'a [u8]; 8]);

impl<'a> Entry<'a> {
    /// Takes a line apart; the message names the part that is not there.
    pub(super) fn read(line: &'a [u8]) -> Result<Self, String> {
        let mut rest = Rest(line.trim_ascii());
        let client = rest.until(b" ", "a client address")?;
        rest.until(b" ", "an identity or -")?;
        let user = rest.until(b" [", "a user or -, and then [time]")?;
        let time = rest.until(b"] ", "a time ending in ]")?;
        let request = rest.quoted("a request in quotes")?;
        let status = rest.word();
        if status.len() != 3 || !status.iter().all(u8::is_ascii_digit) {
            return Err(rest.missing("a status of three digits after the request"));
        }
        let bytes = match rest.word() {
            b"-" => b"0",
            digits if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) => digits,
            _ => return Err(rest.missing("a number of bytes or - after the status")),
        };
        let referer = rest.quoted("").unwrap_or(b"-");
        let agent = rest.quoted("").unwrap_or(b"-");
        Ok(Self([client, user, time, request, status, bytes, referer, agent]))
    }

    /// The text of a column of `NAMES`.
    fn column(&self, name: &str) -> &'a [u8] {
        NAMES.iter().position(|have| *have == name).map_or(b"-", |index| self.0[index])
    }
}

/// What is left of a line.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    /// The text before `mark`, which must not be empty; the mark is passed over.
    fn until(&mut self, mark: &[u8], what: &str) -> Result<&'a [u8], String> {
        match self.0.windows(mark.len()).position(|window| window == mark) {
            Some(at) if at > 0 => {
                let found = &self.0[..at];
                self.0 = &self.0[at + mark.len()..];
                Ok(found)
            }
            _ => Err(self.missing(what)),
        }
    }

    /// The text up to the next space or the end.
    fn word(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|&b| b == b' ').unwrap_or(self.0.len());
        let found = &self.0[..end];
        self.0 = self.0[end..].trim_ascii_start();
        found
    }

    /// The text between two quotes; a backslash keeps the quote after it inside.
    fn quoted(&mut self, what: &str) -> Result<&'a [u8], String> {
        let Some(inside) = self.0.strip_prefix(b"\"") else { return Err(self.missing(what)) };
        let mut escaped = false;
        for (at, &b) in inside.iter().enumerate() {
            match b {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => {
                    self.0 = inside[at + 1..].trim_ascii_start();
                    return Ok(&inside[..at]);
                }
                _ => {}
            }
        }
        Err(self.missing(what))
    }

    fn missing(&self, what: &str) -> String {
        format!(
            "not an access log line at {}; expected {what}",
            text::quoted(&String::from_utf8_lossy(self.0))
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /a\"b\\ HTTP/1.0" 200 2326 "http://b/" "A [x] \"y\"" 0.05"#;

    fn columns(line: &str) -> Vec<String> {
        let entry = Entry::read(line.as_bytes()).unwrap();
        NAMES.iter().map(|name| String::from_utf8_lossy(entry.column(name)).into_owned()).collect()
    }

    #[test]
    fn every_column_is_kept() {
        let want =
            ["127.0.0.1", "frank", "10/Oct/2000:13:55:36 -0700", r#"GET /a\"b\\ HTTP/1.0"#, "200", "2326"];
        assert_eq!(columns(LINE), [&want[..], &["http://b/", r#"A [x] \"y\""#]].concat());
    }

    #[test]
    fn common_lines_odd_users_and_odd_requests_are_read() {
        let common = columns(r#"::1 - jo van x [10/Oct/2000:13:55:36 -0700] "-" 408 -"#);
        assert_eq!(common, ["::1", "jo van x", "10/Oct/2000:13:55:36 -0700", "-", "408", "0", "-", "-"]);
        assert!(Entry::read(b"a - - [t] \"\\x16\\x03\xff\" 400 0").is_ok());
    }

    #[test]
    fn what_is_missing_is_named() {
        for (line, told) in [
            ("", "a client address"),
            ("TIMESTAMP,ContextTokens", "a client address"),
            ("h - - no time", "a user or -"),
            ("h - - [10/Oct/2000:13:55:36 -0700", "a time ending in ]"),
            (r#"h - - [t] GET"#, "a request in quotes"),
            (r#"h - - [t] "GET \" 200 5"#, "a request in quotes"),
            (r#"h - - [t] "GET" abc 5"#, "a status of three digits"),
            (r#"h - - [t] "GET" 200"#, "a number of bytes or -"),
            (r#"h - - [t] "GET" 200 12k"#, "a number of bytes or -"),
        ] {
            let message = Entry::read(line.as_bytes()).unwrap_err();
            assert!(message.contains(told), "{line}: {message}");
        }
    }
}
