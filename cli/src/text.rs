//! Numbers and values as a person reads them.

use std::time::Duration;

/// `17728305` as `17,728,305`.
pub(crate) fn grouped(number: impl Into<u128>) -> String {
    let digits = number.into().to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `16,106 (83.2 %)`: a share of a whole, rounded to a tenth of a per cent.
pub(crate) fn share(part: impl Into<u128>, whole: impl Into<u128>) -> String {
    let (part, whole) = (part.into(), whole.into());
    if whole == 0 {
        return grouped(part);
    }
    format!("{} ({:.1} %)", grouped(part), part as f64 * 100.0 / whole as f64)
}

/// `99.98 %`: a share rounded down to a hundredth of a per cent, so that only the whole is 100.00 %.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    let hundredths = u128::from(part) * 10_000 / u128::from(whole).max(1);
    format!("{}.{:02} %", hundredths / 100, hundredths % 100)
}

/// A span in the two units that matter for its size.
pub(crate) fn span(length: Duration) -> String {
    let seconds = length.as_secs();
    match (seconds, length.subsec_nanos()) {
        (0, nanos @ 0..1_000) => format!("{nanos} ns"),
        (0, nanos @ ..1_000_000) => format!("{:.1} µs", f64::from(nanos) / 1e3),
        (0, nanos) => format!("{:.1} ms", f64::from(nanos) / 1e6),
        (..120, _) => format!("{:.2} s", length.as_secs_f64()),
        (..7_200, _) => format!("{} min {} s", seconds / 60, seconds % 60),
        (..172_800, _) => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

/// `1 thread`, `8 threads`.
pub(crate) fn threads(count: usize) -> String {
    format!("{count} thread{}", if count == 1 { "" } else { "s" })
}

/// A value from the input in an error message: quoted, and cut where it is long.
pub(crate) fn quoted(value: &str) -> String {
    match longer_than(value, 60) {
        Some(cut) => format!("{:?}...", &value[..cut]),
        None => format!("{value:?}"),
    }
}

/// A value from the input on a line of its own: harmless on a terminal, and cut where it is long.
pub(crate) fn plain(value: &str) -> String {
    let escaped = if value.is_empty() { "\"\"".to_owned() } else { value.escape_debug().to_string() };
    match longer_than(&escaped, 60) {
        Some(cut) => format!("{}...", &escaped[..cut]),
        None => escaped,
    }
}

/// The name without its folders.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit(['/', std::path::MAIN_SEPARATOR]).next().unwrap_or(path)
}

/// `8.0 MB`: bytes in the unit that suits them.
pub(crate) fn bytes(count: u64) -> String {
    match count as f64 {
        bytes if bytes < 1e3 => format!("{bytes} B"),
        bytes if bytes < 1e6 => format!("{:.1} kB", bytes / 1e3),
        bytes if bytes < 1e9 => format!("{:.1} MB", bytes / 1e6),
        bytes => format!("{:.1} GB", bytes / 1e9),
    }
}

/// A message that may repeat the input, cut where it is long.
pub(crate) fn cut(message: &str) -> String {
    match longer_than(message, 160) {
        Some(cut) => format!("{}...", &message[..cut]),
        None => message.to_owned(),
    }
}

/// Where to cut a text of more than `shown` characters.
fn longer_than(text: &str, shown: usize) -> Option<usize> {
    text.char_indices().nth(shown).map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_three() {
        assert_eq!(grouped(0_u64), "0");
        assert_eq!(grouped(999_u64), "999");
        assert_eq!(grouped(1_000_u64), "1,000");
        assert_eq!(grouped(17_728_305_u64), "17,728,305");
        assert_eq!(grouped(u128::MAX).matches(',').count(), 12);
    }

    #[test]
    fn shares_of_nothing_have_no_per_cent() {
        assert_eq!(share(16_106_u64, 19_366_u64), "16,106 (83.2 %)");
        assert_eq!(share(0_u64, 0_u64), "0");
    }

    #[test]
    fn only_the_whole_is_a_hundred_per_cent() {
        assert_eq!(
            [(3, 3), (99_999, 100_000), (1, 3), (0, 3), (0, 0)].map(|(a, b)| percent(a, b)),
            ["100.00 %", "99.99 %", "33.33 %", "0.00 %", "0.00 %"]
        );
    }

    #[test]
    fn spans_choose_their_units() {
        assert_eq!(span(Duration::ZERO), "0 ns");
        assert_eq!(span(Duration::from_nanos(1_500)), "1.5 µs");
        assert_eq!(span(Duration::from_micros(2_500)), "2.5 ms");
        assert_eq!(span(Duration::from_millis(61_250)), "61.25 s");
        assert_eq!(span(Duration::from_secs(3_500)), "58 min 20 s");
        assert_eq!(span(Duration::from_secs(90_000)), "25 h 0 min");
        assert_eq!(span(Duration::from_secs(200_000)), "2 d 7 h");
    }

    #[test]
    fn bytes_choose_their_units() {
        assert_eq!(
            [0, 999, 1_000, 8_388_608, 2_500_000_000].map(bytes),
            ["0 B", "999 B", "1.0 kB", "8.4 MB", "2.5 GB"]
        );
    }

    #[test]
    fn values_cannot_steer_the_terminal() {
        assert_eq!([plain("192.0.2.7"), plain("")], ["192.0.2.7", "\"\""]);
        assert_eq!(plain("a\u{1b}[2J"), "a\\u{1b}[2J");
        assert_eq!(plain(&"é".repeat(100)).chars().count(), 63);
    }

    #[test]
    fn long_values_are_cut_between_characters() {
        assert_eq!(quoted("a\tb"), "\"a\\tb\"");
        let long = quoted(&"é".repeat(100));
        assert!(long.ends_with("\"...") && long.chars().count() == 65, "{long}");
    }
}
