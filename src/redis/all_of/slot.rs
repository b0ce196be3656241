//! Where in a cluster a key lies.

use crc16::{State, XMODEM};

/// Slots of a cluster.
const SLOTS: u16 = 16_384;

/// The slot of a key, by the part between its first `{` and the next `}` if there is one and it is not empty,
/// else by all of it: the rule of the cluster's specification.
pub(super) fn slot(key: &str) -> u16 {
    State::<XMODEM>::calculate(tag(key).unwrap_or(key).as_bytes()) % SLOTS
}

fn tag(key: &str) -> Option<&str> {
    let (_, behind) = key.split_once('{')?;
    let (tag, _) = behind.split_once('}')?;
    (!tag.is_empty()).then_some(tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The specification's own examples; tests with a server ask it for more.
    #[test]
    fn keys_with_the_same_tag_have_the_same_slot() {
        assert_eq!(slot("123456789"), 0x31C3);
        assert_eq!(slot("{user1000}.following"), slot("{user1000}.followers"));
        assert_eq!(slot("foo{}{bar}"), State::<XMODEM>::calculate(b"foo{}{bar}") % SLOTS);
        assert_eq!(slot("foo{{bar}}zap"), slot("{bar"));
        assert_eq!(slot("foo{bar}{zap}"), slot("bar"));
        assert_eq!(slot("a}b{c"), State::<XMODEM>::calculate(b"a}b{c") % SLOTS);
    }
}
