//! JSON lines: one object a line. Only the wanted members are looked at, and numbers are read as they are written.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::time::Stamps;
use super::{Lines, Problem, Record, Records, Wanted, columns, stamp};
use crate::text;

pub(super) struct Jsonl {
    wanted: Wanted,
    time: Option<(String, Stamps)>,
}

impl Jsonl {
    pub(super) fn new(wanted: Wanted) -> Self {
        let time = wanted.time.clone().map(|name| {
            let stamps = wanted.stamps(&name);
            (name, stamps)
        });
        Self { wanted, time }
    }

    fn record(&mut self, line: u64, bytes: &[u8]) -> Result<Record, Problem> {
        let bad = |what| Problem::at(line, what);
        let json = std::str::from_utf8(bytes).map_err(|_| bad("not UTF-8; expected a JSON object".into()))?;
        let (name, stamps) = match &mut self.time {
            Some(time) => time,
            missing => missing.insert(detect(json, line, &self.wanted)?),
        };
        let stamp = stamp(stamps, name, &member(json, name).map_err(bad)?).map_err(bad)?;
        let cost = self.wanted.cost.total(|_, name| member(json, name)).map_err(bad)?;
        let key = self.wanted.key.as_ref().map(|name| member(json, name)).transpose().map_err(bad)?;
        let latency = self.wanted.latency.as_ref();
        let latency = latency.map(|latency| latency.read(&member(json, latency.column())?));
        let latency = latency.transpose().map_err(bad)?;
        Ok(Record { line, stamp, cost, key: key.map(Cow::into_owned), latency })
    }
}

/// The first object shows which member is the time.
fn detect(json: &str, line: u64, wanted: &Wanted) -> Result<(String, Stamps), Problem> {
    let names = names(json).map_err(|what| Problem::at(line, what))?;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let name = columns::time_column(&names, None).map_err(|what| Problem::end(line, what))?;
    Ok((name.to_owned(), wanted.stamps(name)))
}

impl Records for Jsonl {
    fn next(&mut self, lines: &mut Lines) -> Result<Option<Record>, Problem> {
        match lines.advance_to_text()? {
            true => self.record(lines.number(), lines.text()).map(Some),
            false => Ok(None),
        }
    }
}

/// The text of a member, strings without their quotes. `usage.total` is the member of that name or else `total` in
/// the object `usage`.
fn member<'j>(json: &'j str, name: &str) -> Result<Cow<'j, str>, String> {
    let raw = raw(json, name)?;
    if !raw.starts_with('"') {
        return Ok(Cow::Borrowed(raw));
    }
    serde_json::from_str::<String>(raw)
        .map(|text| Cow::Owned(text.trim().to_owned()))
        .map_err(|error| malformed(&error))
}

fn raw<'j>(json: &'j str, name: &str) -> Result<&'j str, String> {
    let mut reader = serde_json::Deserializer::from_str(json);
    let found = Member(name).deserialize(&mut reader).and_then(|found| reader.end().map(|()| found));
    if let Some(value) = found.map_err(|error| malformed(&error))? {
        return Ok(value.get());
    }
    let nested = name.split_once('.').and_then(|(outer, inner)| raw(raw(json, outer).ok()?, inner).ok());
    nested.map_or_else(|| Err(missing(json, name)), Ok)
}

fn missing(json: &str, name: &str) -> String {
    let names = names(json).unwrap_or_default();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    columns::find(&names, name).err().unwrap_or_default()
}

fn names(json: &str) -> Result<Vec<String>, String> {
    let members: BTreeMap<String, IgnoredAny> =
        serde_json::from_str(json).map_err(|error| malformed(&error))?;
    Ok(members.into_keys().collect())
}

/// serde_json counts lines within its own text, which is always one.
fn malformed(error: &serde_json::Error) -> String {
    let told = error.to_string().replace("at line 1 column", "at column");
    format!("{}; expected a JSON object", text::cut(&told))
}

/// Finds one member of an object and passes over the others.
struct Member<'n>(&'n str);

impl<'de> DeserializeSeed<'de> for Member<'_> {
    type Value = Option<&'de RawValue>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Member<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(wanted) = members.next_key_seed(IsNamed(self.0))? {
            if wanted {
                found = Some(members.next_value()?);
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// Compares a member's name without keeping it.
struct IsNamed<'n>(&'n str);

impl<'de> DeserializeSeed<'de> for IsNamed<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<bool, D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for IsNamed<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E>(self, name: &str) -> Result<bool, E> {
        Ok(name == self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_as_they_are_written() {
        let json =
            r#" {"a": 1700158623.979960001, "b": "1\u0032 ", "c.d": 3, "c": {"d": 4, "e": {"f": 5}}} "#;
        for (name, want) in [("a", "1700158623.979960001"), ("b", "12"), ("c.d", "3"), ("c.e.f", "5")] {
            assert_eq!(member(json, name).as_deref(), Ok(want), "{name}");
        }
        for name in ["x", "a.b", "c.x", "c.e.x"] {
            let message = member(json, name).unwrap_err();
            assert!(message.contains(name) && message.contains("the columns are a, b, c, c.d"), "{message}");
        }
    }

    #[test]
    fn malformed_json_is_told_with_its_column() {
        for (json, told) in [
            (r#"{"a": 1"#, "EOF while parsing an object at column 7"),
            (r#"{"a": 1} x"#, "trailing characters at column 10"),
            ("[1]", "invalid type: sequence"),
            ("", "EOF"),
        ] {
            let message = member(json, "a").unwrap_err();
            assert!(
                message.contains(told) && message.ends_with("expected a JSON object"),
                "{json}: {message}"
            );
        }
    }
}
