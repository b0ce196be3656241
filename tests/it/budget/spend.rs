//! Money against rational numbers.

use std::thread;

use proptest::prelude::*;
use tollgate::budget::{
    Absent, Carry, Currency, Price, PriceError, PriceList, Ratio, Side, Spend, Tier, TokenClass,
    UnknownModel, Usage, Weights,
};

use super::{ratio, tokens, usage_of};

const MAX_MICROS: u64 = 1_000_000_000_000;

/// $10 and $50 a million tokens, more above 272 K of input.
fn large() -> Price {
    let tier = Tier { above: 272_000, input: ratio(2, 1), output: ratio(3, 2) };
    Price::new(10_000_000, 50_000_000).and_then(|price| price.tier(tier)).unwrap()
}

fn micros(price: &Price, input: u64, output: u64) -> u64 {
    price.spend(&Usage::new(input, output)).unwrap().micros()
}

#[test]
fn a_large_request_costs_more_on_all_its_tokens() {
    let price = large();
    assert_eq!(micros(&price, 500_000, 50_000), 13_750_000);
    assert_eq!(micros(&price, 272_000, 0), 2_720_000, "not above");
    assert_eq!(micros(&price, 272_001, 0), 5_440_020);
    assert_eq!(micros(&price, 272_000, 2), 2_720_100);
    assert_eq!(micros(&price, 272_001, 2), 5_440_020 + 150);
    let cached = Usage::new(200_000, 0).with(TokenClass::CacheRead, 72_001);
    assert_eq!(price.spend(&cached).unwrap().micros(), 5_440_020, "cached input is input");
}

#[test]
fn a_hundred_small_requests_cost_a_hundred_times_one() {
    let price = large();
    let spent: Spend = (0..100).map(|_| price.spend(&Usage::new(200, 500)).unwrap()).sum();
    assert_eq!(spent.micros(), 2_700_000);
    let carry = Carry::new();
    let charged: u64 = (0..100).map(|_| carry.charge(price.spend(&Usage::new(200, 500)).unwrap())).sum();
    assert_eq!(charged, 2_700_000);
    assert_eq!((0..100).map(|_| micros(&price, 200, 500)).sum::<u64>(), 2_700_000);
}

#[test]
fn the_highest_tier_that_a_request_is_above_holds() {
    let tier = |above, factor| Tier { above, input: ratio(factor, 1), output: Ratio::ONE };
    let price = Price::new(1_000_000, 0).unwrap();
    let price = [tier(200, 3), tier(100, 2), tier(300, 1)].into_iter().try_fold(price, Price::tier).unwrap();
    assert_eq!(price.tiers().iter().map(|tier| tier.above).collect::<Vec<_>>(), [100, 200, 300]);
    assert_eq!([100, 101, 201, 301].map(|input| micros(&price, input, 0)), [100, 202, 603, 301]);
    assert_eq!(price.tier(tier(200, 5)), Err(PriceError::SameTier { above: 200 }));
}

#[test]
fn classes_have_prices_of_their_own() {
    let price = Price::new(10_000_000, 50_000_000).unwrap();
    let all = usage_of([1, 1, 1, 1, 1, 1]);
    assert_eq!(price.spend(&all).unwrap().micros(), 4 * 10 + 2 * 50, "as input and output unless stated");
    let prices = [3, 5, 7, 11, 13, 17].map(|price| price * 1_000_000);
    let own = TokenClass::ALL.into_iter().zip(prices);
    let own = own.clone().try_fold(price, |price, (class, micros)| price.with(class, micros)).unwrap();
    assert_eq!(own.spend(&all).unwrap().micros(), 56);
    assert_eq!(TokenClass::ALL.map(|class| own.micros(class)), prices);
}

/// What is read from a cache costs less money, and by default counts as much as before.
#[test]
fn cached_input_lowers_the_price_and_not_the_charge() {
    let price = large().with(TokenClass::CacheRead, 1_000_000).unwrap();
    let (fresh, cached) = (Usage::new(1_000, 10), Usage::new(100, 10).with(TokenClass::CacheRead, 900));
    assert_eq!([fresh, cached].map(|usage| Weights::TOTAL.cost(&usage)), [Ok(1_010); 2]);
    assert_eq!(
        [fresh, cached].map(|usage| price.spend(&usage).unwrap().micros()),
        [10_500, 1_000 + 900 + 500]
    );
}

#[test]
fn prices_that_cannot_be_name_what_is_wrong() {
    let too_high = |class, above, micros| PriceError::TooHigh { class, above, micros };
    assert_eq!(Price::new(MAX_MICROS + 1, 0), Err(too_high(TokenClass::Input, None, MAX_MICROS + 1)));
    assert_eq!(Price::new(0, u64::MAX), Err(too_high(TokenClass::Output, None, u64::MAX)));
    let most = Price::new(MAX_MICROS, MAX_MICROS).unwrap();
    let twice = Tier { above: 9, input: Ratio::ONE, output: ratio(2, 1) };
    let error = most.tier(twice).unwrap_err();
    assert_eq!(error, too_high(TokenClass::Output, Some(9), 2 * MAX_MICROS));
    assert_eq!(
        error.to_string(),
        "`output`: 2000000000000 micro-units for a million tokens in the tier above 9: must be at most 1000000000000"
    );
    let half = Tier { above: 9, input: ratio(3, 2), output: Ratio::ONE };
    let error = Price::new(75_001, 0).unwrap().tier(half).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`input`: 75001 micro-units for a million tokens times 1.5 in the tier above 9: must be a whole number of \
         micro-units"
    );
    let later = Price::new(2, 0).unwrap().tier(half).unwrap().with(TokenClass::CacheWrite, 1);
    assert!(matches!(
        later,
        Err(PriceError::Uneven { class: TokenClass::CacheWrite, micros: 1, above: 9, .. })
    ));
}

#[test]
fn what_was_not_told_is_not_free() {
    let price = large();
    let input_only = Usage::default().with(TokenClass::Input, 1_000);
    assert_eq!(price.spend(&input_only), Err(Absent { side: Side::Output }));
    assert_eq!(price.spend(&Usage::default()), Err(Absent { side: Side::Input }));
    let reserved = Usage::new(0, 100);
    assert_eq!(price.spend(&input_only.or(&reserved)).unwrap().micros(), 15_000);
    let free_output = Price::new(10_000_000, 0).unwrap();
    assert_eq!(free_output.spend(&input_only).unwrap().micros(), 10_000);
    let free_input = Price::new(0, 1_000_000).unwrap();
    let output_only = Usage::default().with(TokenClass::Output, 7);
    assert_eq!(free_input.spend(&output_only).unwrap().micros(), 7);
    let tiered = free_input.tier(Tier { above: 1, input: Ratio::ONE, output: ratio(2, 1) }).unwrap();
    assert_eq!(tiered.spend(&output_only), Err(Absent { side: Side::Input }), "the tier depends on it");
}

#[test]
fn a_model_without_a_price_is_not_free() {
    let mut prices = PriceList::new(Currency::USD);
    assert_eq!(prices.insert("large", large()), None);
    assert_eq!(prices.insert("large", large()), Some(large()));
    assert_eq!(prices.price("large"), Ok(&large()));
    assert_eq!(prices.price("small"), Err(UnknownModel { model: "small".to_string() }));
    assert_eq!((prices.currency().to_string().as_str(), prices.models().len()), ("USD", 1));
    for text in ["", "usd", "US", "USDT", "U$D", "ÄB"] {
        assert_eq!(text.parse::<Currency>(), Err(PriceError::Currency { text: text.to_string() }));
    }
}

#[test]
fn amounts_are_exact_and_saturate() {
    let spend = Price::new(1, 0).unwrap().spend(&Usage::new(1, 0)).unwrap();
    assert_eq!((spend.to_string().as_str(), spend.micros()), ("0.000000000001", 1));
    assert_eq!((Spend::ZERO.to_string().as_str(), Spend::ZERO.micros()), ("0", 0));
    assert_eq!(Spend::from_micros(13_750_000).to_string(), "13.75");
    assert_eq!(Spend::from_micros(u64::MAX).micros(), u64::MAX);
    assert_eq!((Spend::from_micros(u64::MAX) + spend).micros(), u64::MAX);
    let dearest = Price::new(MAX_MICROS, MAX_MICROS).unwrap().spend(&usage_of([u64::MAX; 6])).unwrap();
    assert_eq!((dearest.micros(), Carry::new().charge(dearest)), (u64::MAX, u64::MAX));
    assert_eq!(spend.saturating_sub(dearest), Spend::ZERO);
    assert_eq!((dearest + spend).saturating_sub(dearest), spend);
}

/// Threads charge parts of micro-units at once, of different sizes; in all it is the sum, rounded up once.
#[test]
fn threads_carry_exactly() {
    let price = Price::new(370_001, 0).unwrap();
    let carry = Carry::new();
    let charge = |thread: u64| -> (u64, Spend) {
        let spends = (0..5_000_u64).map(|at| price.spend(&Usage::new(at % 7 + thread, 0)).unwrap());
        spends
            .fold((0, Spend::ZERO), |(charged, spent), spend| (charged + carry.charge(spend), spent + spend))
    };
    let (charged, spent) = thread::scope(|scope| {
        let workers: Vec<_> = (0..4).map(|thread| scope.spawn(move || charge(thread))).collect();
        let totals = workers.into_iter().map(|worker| worker.join().unwrap());
        totals.fold((0, Spend::ZERO), |(charged, spent), (more, amount)| (charged + more, spent + amount))
    });
    assert_eq!(charged, spent.micros());
}

proptest! {
    #[test]
    fn a_spend_is_the_exact_sum_of_products(
        tokens in tokens(),
        prices in prop::array::uniform6(0..=MAX_MICROS / 1_000),
        (above, input, output) in (0..=1_000_000_u64, 0..=50_u32, 0..=50_u32),
    ) {
        // Even prices, so that halves are whole.
        let prices = prices.map(|price| price * 2);
        let classes = TokenClass::ALL.into_iter().zip(prices);
        let price = classes.clone().try_fold(Price::new(0, 0).unwrap(), |price, (class, micros)| price.with(class, micros));
        let tier = Tier { above, input: ratio(input, 2), output: ratio(output, 2) };
        let price = price.and_then(|price| price.tier(tier)).unwrap();
        let usage = usage_of(tokens);
        let is_above = usage.total(Side::Input).unwrap() > above;
        let factor = |side| match side {
            _ if !is_above => 2,
            Side::Input => u128::from(input),
            Side::Output => u128::from(output),
        };
        let exact: u128 = classes
            .map(|(class, micros)| u128::from(usage.tokens(class).unwrap()) * u128::from(micros / 2) * factor(class.side()))
            .sum();
        let spend = price.spend(&usage).unwrap();
        prop_assert_eq!(u128::from(spend.micros()), exact.div_ceil(1_000_000).min(u64::MAX.into()));
        let (exact, units) = (exact.to_string(), spend.to_string().replace('.', ""));
        prop_assert_eq!(exact.trim_end_matches('0'), units.trim_matches('0'));
    }

    #[test]
    fn what_is_carried_is_the_sum_rounded_up_at_every_step(
        price in 1..=3_000_000_u64,
        inputs in prop::collection::vec(0..=9_u64, 1..200),
    ) {
        let (price, carry) = (Price::new(price, 0).unwrap(), Carry::new());
        let (mut charged, mut spent) = (0, Spend::ZERO);
        for input in inputs {
            let spend = price.spend(&Usage::new(input, 0)).unwrap();
            charged += carry.charge(spend);
            spent = spent + spend;
            prop_assert_eq!(charged, spent.micros());
        }
    }
}
