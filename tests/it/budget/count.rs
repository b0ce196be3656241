//! Cheap counts of tokens.

use std::sync::Arc;

use proptest::prelude::*;
use tollgate::budget::{BytesPerToken, CharsPerToken, CountTokens, EstimateError, Ratio, WithFallback};

use super::ratio;

#[test]
fn characters_and_bytes_are_divided_and_rounded_up() {
    let (chars, bytes) = (CharsPerToken::default(), BytesPerToken::default());
    for (text, by_chars, by_bytes) in
        [("", 0, 0), ("a", 1, 1), ("1234567", 2, 2), ("12345678", 3, 2), ("日本語", 1, 3), ("ééééé", 2, 3)]
    {
        assert_eq!((chars.count(text), bytes.count(text)), (by_chars, by_bytes), "{text}");
    }
    assert_eq!(BytesPerToken::UPPER_BOUND.count("日本語"), 9);
    assert_eq!((chars.tokens(u64::MAX), bytes.tokens(u64::MAX)), (5_270_498_306_774_157_605, 1 << 62));
    assert_eq!(CharsPerToken::new(ratio(1, 2)).unwrap().tokens(u64::MAX), u64::MAX);
}

#[test]
fn nothing_a_token_is_an_error() {
    assert_eq!(CharsPerToken::new(Ratio::ZERO), Err(EstimateError::ZeroPerToken));
    assert_eq!(BytesPerToken::new(Ratio::ZERO), Err(EstimateError::ZeroPerToken));
    assert_eq!(CharsPerToken::new(ratio(7, 2)), Ok(CharsPerToken::default()));
    assert_eq!(CharsPerToken::new(ratio(u32::MAX, 1)).unwrap().tokens(u64::from(u32::MAX) + 1), 2);
    assert_eq!(BytesPerToken::new(ratio(1, 1_000_000)).unwrap().tokens(3), 3_000_000);
    assert_eq!(BytesPerToken::new(ratio(4, 1)), Ok(BytesPerToken::default()));
}

#[test]
fn a_counter_that_fails_gives_the_stated_figure() {
    let counter = WithFallback::new(|text: &str| text.parse().ok(), 77);
    assert_eq!((counter.count("12"), counter.count("twelve")), (12, 77));
    let shared: Arc<dyn CountTokens> = Arc::new(counter);
    assert_eq!(shared.count(""), 77);
}

proptest! {
    #[test]
    fn more_text_is_never_fewer_tokens(one in ".*", other in ".*") {
        let both = format!("{one}{other}");
        let (chars, bytes) = (CharsPerToken::default(), BytesPerToken::default());
        for counter in [&chars as &dyn CountTokens, &bytes, &BytesPerToken::UPPER_BOUND] {
            let (parts, whole) = (counter.count(&one) + counter.count(&other), counter.count(&both));
            prop_assert!(whole >= counter.count(&one) && whole <= parts && whole + 1 >= parts);
        }
        prop_assert!(chars.count(&both) <= BytesPerToken::UPPER_BOUND.count(&both));
    }
}
