//! A tool's name that can be copied, so that a refusal can carry it.

use std::fmt;

/// The name of a tool, up to its first 55 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ToolName {
    bytes: [u8; Self::MOST],
    length: u8,
}

impl ToolName {
    const MOST: usize = 55;

    pub(super) fn new(name: &str) -> Self {
        let mut bytes = [0; Self::MOST];
        let mut length = 0;
        for (index, char) in name.char_indices() {
            let Some(place) = bytes.get_mut(index..index + char.len_utf8()) else { break };
            char.encode_utf8(place);
            length = u8::try_from(index + char.len_utf8()).unwrap_or(length);
        }
        Self { bytes, length }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        let text = self.bytes.get(..self.length.into()).unwrap_or_default();
        std::str::from_utf8(text).unwrap_or_default()
    }
}

impl fmt::Debug for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_cut_between_letters() {
        assert_eq!(ToolName::new("search").as_str(), "search");
        assert_eq!(ToolName::new("").as_str(), "");
        let long = "a".repeat(54) + "é";
        assert_eq!(ToolName::new(&long).as_str(), "a".repeat(54));
        assert_eq!(ToolName::new(&"é".repeat(40)).as_str(), "é".repeat(27));
    }
}
