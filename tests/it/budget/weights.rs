//! One usage record becomes each provider's charge.

use proptest::prelude::*;
use tollgate::budget::{Absent, Ratio, RatioError, Side, TokenClass, Usage, Weights};

use super::{ratio, ratios, tokens, usage_of};
use crate::oracle::gcd;

#[test]
fn one_usage_is_another_charge_at_each_provider() {
    // Input, cache read, written for five minutes, for an hour, output, reasoning.
    let usage = usage_of([1_000, 9_001, 400, 200, 300, 150]);
    for (name, weights, cost) in [
        ("OpenAI, Azure, Bedrock at admission", Weights::TOTAL, 11_051),
        ("Anthropic input", Weights::ANTHROPIC_INPUT, 1_600),
        ("Anthropic input, models that count cache reads; Gemini, Vertex", Weights::INPUT, 10_601),
        ("Anthropic output", Weights::OUTPUT, 450),
        // 1000 + 900.1 + 500 + 400
        ("Anthropic priority input", Weights::ANTHROPIC_PRIORITY_INPUT, 2_801),
        ("Groq", Weights::GROQ, 2_050),
        ("Bedrock at the end, newer Claude", Weights::bedrock(ratio(5, 1)), 1_600 + 5 * 450),
        ("Bedrock at the end, others", Weights::bedrock(Ratio::ONE), 2_050),
    ] {
        assert_eq!(weights.cost(&usage), Ok(cost), "{name}");
    }
    // 2800.1 * 1.1 = 3080.11
    let us_only = Weights::ANTHROPIC_PRIORITY_INPUT.times(ratio(11, 10)).unwrap();
    assert_eq!(us_only.cost(&usage), Ok(3_081));
}

#[test]
fn constants_are_fractions_in_lowest_terms() {
    let weights = Weights::ANTHROPIC_PRIORITY_INPUT;
    let expected = [(1, 1), (1, 10), (5, 4), (2, 1), (0, 1), (0, 1)].map(|(over, under)| ratio(over, under));
    assert_eq!(TokenClass::ALL.map(|class| weights.weight(class)), expected);
}

#[test]
fn a_side_that_counts_must_be_told() {
    let input_only = Usage::default().with(TokenClass::Input, 100);
    assert_eq!(Weights::INPUT.cost(&input_only), Ok(100), "a limit on input has no need of the output");
    assert_eq!(Weights::TOTAL.cost(&input_only), Err(Absent { side: Side::Output }));
    assert_eq!(Weights::OUTPUT.cost(&input_only), Err(Absent { side: Side::Output }));
    assert_eq!(Weights::TOTAL.cost(&Usage::default()), Err(Absent { side: Side::Input }));
    let reserved = Usage::new(120, 400);
    assert_eq!(Weights::TOTAL.cost(&input_only.or(&reserved)), Ok(500));
    assert_eq!(Weights::TOTAL.cost(&Usage::new(100, 0)), Ok(100), "told as zero");
    assert_eq!(
        Absent { side: Side::Output }.to_string(),
        "the usage does not tell its output tokens; absent is not zero: fill in what was reserved"
    );
}

#[test]
fn sums_are_rounded_once_and_saturate() {
    let tenth = TokenClass::ALL.into_iter().fold(Weights::TOTAL, |w, class| w.with(class, ratio(1, 10)));
    assert_eq!(tenth.cost(&usage_of([1; 6])), Ok(1), "six tenths, not six times one");
    assert_eq!(tenth.cost(&usage_of([1, 1, 1, 1, 1, 5])), Ok(1), "ten tenths are one");
    assert_eq!(tenth.cost(&usage_of([1, 1, 1, 1, 1, 6])), Ok(2));
    let primes = [999_983, 999_979, 999_961, 999_959, 999_953, 999_931];
    let odd = TokenClass::ALL.into_iter().zip(primes);
    let odd = odd.fold(Weights::TOTAL, |w, (class, under)| w.with(class, ratio(under - 1, under)));
    assert_eq!(odd.cost(&usage_of([1; 6])), Ok(6), "with the largest denominators that there are");
    assert_eq!(odd.cost(&usage_of(primes.map(u64::from))), Ok(primes.map(|p| u64::from(p) - 1).iter().sum()));
    assert_eq!(Weights::TOTAL.cost(&usage_of([u64::MAX; 6])), Ok(u64::MAX));
    let heavy =
        TokenClass::ALL.into_iter().fold(Weights::TOTAL, |w, class| w.with(class, ratio(u32::MAX, 1)));
    assert_eq!(heavy.cost(&usage_of([u64::MAX; 6])), Ok(u64::MAX));
    assert!(matches!(heavy.times(ratio(2, 1)), Err(RatioError::Product { .. })));
}

#[cfg(feature = "serde")]
#[test]
fn weights_are_read_from_a_file_and_what_is_not_stated_counts_in_full() {
    let read = |text| serde_json::from_str::<Weights>(text).map_err(|error| error.to_string());
    let output = |class| (class, ratio(5, 1));
    let stated =
        [(TokenClass::CacheRead, ratio(1, 10)), output(TokenClass::Output), output(TokenClass::Reasoning)];
    let own = stated.into_iter().fold(Weights::TOTAL, |weights, (class, weight)| weights.with(class, weight));
    assert_eq!(read(r#"{"cached_input": 0.1, "output": 5}"#), Ok(own));
    assert_eq!(read(r#"{"cache_read": "1/10", "output": "5"}"#), Ok(own));
    assert_eq!(read("{}"), Ok(Weights::TOTAL));
    assert_eq!(read(r#"{"input": 0}"#), Ok(Weights::OUTPUT), "caches count as the input does");
    assert_eq!(read(r#"{"output": 0, "cache_read": 0}"#), Ok(Weights::ANTHROPIC_INPUT));
    let written = serde_json::to_string(&Weights::ANTHROPIC_PRIORITY_INPUT).unwrap();
    assert_eq!(read(&written), Ok(Weights::ANTHROPIC_PRIORITY_INPUT));
    assert!(read(r#"{"cached": 0.1}"#).unwrap_err().contains("unknown field `cached`"));
    assert!(read(r#"{"output": -1}"#).unwrap_err().contains("`-1`: must be a decimal"));
}

proptest! {
    /// Against one common denominator.
    #[test]
    fn the_charge_is_the_exact_sum_rounded_up(tokens in tokens(), ratios in prop::array::uniform6(ratios())) {
        let mut weights = Weights::TOTAL;
        let mut common = 1_u128;
        for (class, ratio) in TokenClass::ALL.into_iter().zip(ratios) {
            weights = weights.with(class, ratio);
            let under = u128::from(ratio.under());
            common = common / gcd(common, under) * under;
        }
        let tokens = tokens.map(|tokens| tokens >> 20);
        let sum: u128 = tokens.iter().zip(ratios).map(|(tokens, ratio)| {
            u128::from(*tokens) * u128::from(ratio.over()) * (common / u128::from(ratio.under()))
        }).sum();
        prop_assert_eq!(weights.cost(&usage_of(tokens)).map(u128::from), Ok(sum.div_ceil(common)));
    }

    #[test]
    fn more_tokens_or_more_weight_never_cost_less(
        tokens in tokens(),
        ratios in prop::array::uniform6(ratios()),
        class in prop::sample::select(TokenClass::ALL.to_vec()),
        more in 0..=1_000_u64,
    ) {
        let weights = TokenClass::ALL.into_iter().zip(ratios).fold(Weights::TOTAL, |w, (class, r)| w.with(class, r));
        let usage = usage_of(tokens);
        let cost = weights.cost(&usage).unwrap();
        let longer = usage.with(class, usage.tokens(class).unwrap() + more);
        prop_assert!(weights.cost(&longer).unwrap() >= cost);
        let weight = weights.weight(class);
        let heavier = weights.with(class, ratio(weight.over() + weight.under(), weight.under()));
        prop_assert!(heavier.cost(&usage).unwrap() >= cost);
    }
}
