//! Reports of usage in each provider's shape.

use proptest::prelude::*;
use tollgate::budget::{Reported, Shape, Side, TokenClass, Usage};

use super::{tokens, usage_of};
use crate::quotas::sized;

const OPENAI: Reported = Reported {
    input: Some(1_000),
    cache_read: Some(600),
    cache_write: Some(100),
    cache_write_long: None,
    output: Some(300),
    reasoning: Some(250),
};

fn classes(usage: &Usage) -> [Option<u64>; 6] {
    TokenClass::ALL.map(|class| usage.tokens(class))
}

#[test]
fn the_same_figures_are_other_amounts_in_other_shapes() {
    let of = |tokens: [u64; 6]| tokens.map(Some);
    assert_eq!(classes(&Shape::OPENAI.usage(&OPENAI)), of([300, 600, 100, 0, 50, 250]));
    assert_eq!(classes(&Shape::ANTHROPIC.usage(&OPENAI)), of([1_000, 600, 100, 0, 50, 250]));
    assert_eq!(classes(&Shape::GEMINI.usage(&OPENAI)), of([300, 600, 100, 0, 300, 250]));
    assert_eq!(classes(&Shape::BEDROCK.usage(&OPENAI)), of([1_000, 600, 100, 0, 50, 250]));
}

#[test]
fn a_side_that_was_not_told_is_absent_and_not_zero() {
    let cut = Reported { output: None, ..OPENAI };
    let usage = Shape::OPENAI.usage(&cut);
    assert_eq!((usage.has(Side::Input), usage.has(Side::Output)), (true, false));
    assert_eq!((usage.total(Side::Input), usage.total(Side::Output)), (Some(1_000), None));
    assert_eq!((usage.tokens(TokenClass::Output), usage.tokens(TokenClass::Reasoning)), (None, None));
    assert_eq!(Shape::GEMINI.usage(&Reported::default()), Usage::default());
    let details_only = Reported { input: None, ..cut };
    assert_eq!(Shape::ANTHROPIC.usage(&details_only), Usage::default(), "details without their whole");
    assert_eq!(format!("{:?}", Usage::default()), "Usage {}");
    let zero = Usage::new(0, 0);
    assert_eq!(classes(&zero), [Some(0); 6], "told as zero is something else");
    assert_ne!(zero, Usage::default());
}

#[test]
fn details_that_exceed_their_whole_are_not_believed() {
    let absurd = Reported { cache_read: Some(1_001), cache_write: None, reasoning: Some(301), ..OPENAI };
    let usage = Shape::OPENAI.usage(&absurd);
    assert_eq!(classes(&usage), [1_000, 0, 0, 0, 300, 0].map(Some));
    let wrapping = Reported { cache_read: Some(u64::MAX), cache_write: Some(2), ..OPENAI };
    assert_eq!(Shape::OPENAI.usage(&wrapping).tokens(TokenClass::Input), Some(1_000));
    assert_eq!(Shape::ANTHROPIC.usage(&wrapping).total(Side::Input), Some(u64::MAX), "saturates");
}

/// A stream of Anthropic's: input first, then cumulative output, and one frame without usage.
#[test]
fn of_cumulative_reports_the_last_counts() {
    let start = Shape::ANTHROPIC.usage(&Reported { input: Some(25), output: Some(1), ..Reported::default() });
    let frame = |output| Shape::ANTHROPIC.usage(&Reported { output, ..Reported::default() });
    let told = [Some(10), None, Some(15)].into_iter().fold(start, |told, output| frame(output).or(&told));
    assert_eq!(told, Usage::new(25, 15));
}

proptest! {
    #[test]
    fn no_token_of_a_report_is_lost_or_counted_twice(
        (input, output) in (sized(), sized()),
        (read, write, long, reasoning) in (0..=1_000_u64, 0..=1_000_u64, 0..=1_000_u64, 0..=1_000_u64),
        (cache_within, reasoning_within) in any::<(bool, bool)>(),
    ) {
        let report = Reported {
            input: Some(input),
            cache_read: Some(read),
            cache_write: Some(write),
            cache_write_long: Some(long),
            output: Some(output),
            reasoning: Some(reasoning),
        };
        let usage = Shape::new(cache_within, reasoning_within).usage(&report);
        let beside = |is_within: bool, details: u64| if is_within { 0 } else { details };
        let whole_input = input.saturating_add(beside(cache_within, read + write + long));
        let whole_output = output.saturating_add(beside(reasoning_within, reasoning));
        prop_assert_eq!(usage.total(Side::Input), Some(whole_input));
        prop_assert_eq!(usage.total(Side::Output), Some(whole_output));
    }

    #[test]
    fn filling_in_takes_each_side_from_the_first_that_told_it(
        (told, other) in (tokens(), tokens()),
        (input, output) in any::<(bool, bool)>(),
    ) {
        let full = usage_of(told);
        let mut usage = Usage::default();
        for class in TokenClass::ALL {
            if (class.side() == Side::Input && input) || (class.side() == Side::Output && output) {
                usage = usage.with(class, full.tokens(class).unwrap());
            }
        }
        let filled = usage.or(&usage_of(other));
        for class in TokenClass::ALL {
            let expected = usage.tokens(class).or(usage_of(other).tokens(class));
            prop_assert_eq!(filled.tokens(class), expected);
        }
        prop_assert_eq!(usage.or(&Usage::default()), usage);
    }
}
