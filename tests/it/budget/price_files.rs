//! Price lists from files: what is read, and what an error says.

use tollgate::budget::{Currency, Price, PriceList, Tier, TokenClass, Usage};

use super::ratio;

fn read(text: &str) -> Result<PriceList, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

fn with(model: &str) -> Result<PriceList, String> {
    read(&format!(r#"{{"currency": "USD", "models": {{"m": {{{model}}}}}}}"#))
}

#[test]
fn numbers_and_texts_are_read_exactly() {
    let prices = read(
        r#"{
            "currency": "EUR",
            "models": {
                "large": {
                    "input": 10,
                    "cached_input": 1.0,
                    "output": "50",
                    "tiers": [{"above": 272000, "input": 2, "output": 1.5}]
                },
                "small": {"input": 0.075, "output": "0.30", "cache_write": 0.1, "cache_write_long": 0.2, "reasoning": 0.3}
            }
        }"#,
    )
    .unwrap();
    let mut expected = PriceList::new(Currency::EUR);
    let tier = Tier { above: 272_000, input: ratio(2, 1), output: ratio(3, 2) };
    let large = Price::new(10_000_000, 50_000_000).unwrap();
    expected.insert("large", large.with(TokenClass::CacheRead, 1_000_000).unwrap().tier(tier).unwrap());
    let small = Price::new(75_000, 300_000).unwrap().with(TokenClass::CacheWrite, 100_000).unwrap();
    expected.insert("small", small.with(TokenClass::CacheWriteLong, 200_000).unwrap());
    assert_eq!(prices, expected);
    let usage = Usage::new(500_000, 50_000);
    assert_eq!(prices.price("large").unwrap().spend(&usage).unwrap().micros(), 13_750_000);
    let written = serde_json::to_string(&prices).unwrap();
    assert_eq!(read(&written), Ok(expected), "{written}");
}

#[test]
fn an_error_names_the_field_the_value_and_the_range() {
    let amount = |field: &str, value: &str| {
        format!(
            "`{field}`: `{value}` for a million tokens: must be from 0 to 1000000 units of the currency with at most 6 \
             decimals"
        )
    };
    for (model, expected) in [
        (r#""input": -1, "output": 1"#, amount("input", "-1")),
        (r#""input": 1, "output": "cheap""#, amount("output", "cheap")),
        (r#""input": 1, "output": 0.0000001"#, amount("output", "0.0000001")),
        (r#""input": 1, "output": 1, "cached_input": 1e30"#, amount("cache_read", "1000000000000000000000000000000")),
        (
            r#""input": 1, "output": 1000001"#,
            "`output`: 1000001000000 micro-units for a million tokens: must be at most 1000000000000".to_string(),
        ),
        (
            r#""input": 0.000001, "output": 1, "tiers": [{"above": 5, "input": 1.5, "output": 1}]"#,
            "`input`: 1 micro-units for a million tokens times 1.5 in the tier above 5: must be a whole number of \
             micro-units"
                .to_string(),
        ),
        (
            r#""input": 1, "output": 1, "tiers": [{"above": 5, "input": 1, "output": 1}, {"above": 5, "input": 2, "output": 1}]"#,
            "`tiers`: two tiers above 5: each must have a threshold of its own".to_string(),
        ),
        (r#""input": 1"#, "missing field `output`".to_string()),
        (r#""input": 1, "output": 1, "outptu": 1"#, "unknown field `outptu`".to_string()),
        (r#""input": 1, "output": 1, "tiers": [{"above": 5, "input": 1, "output": 1, "x": 1}]"#, "unknown field `x`".to_string()),
        (r#""input": 1, "output": 1, "tiers": [{"above": 5, "input": "x", "output": 1}]"#, "`x`: must be a decimal".to_string()),
        (r#""input": true, "output": 1"#, "a number such as 1.25 or its text".to_string()),
    ] {
        let error = with(model).unwrap_err();
        assert!(error.contains(&expected) && error.contains("line 1 column"), "{model}:\n{error}\n{expected}");
    }
    let error = read(r#"{"currency": "dollars", "models": {}}"#).unwrap_err();
    assert!(error.contains("`currency`: `dollars`: must be three capital letters such as USD"), "{error}");
    assert!(read(r#"{"models": {}}"#).unwrap_err().contains("missing field `currency`"));
}
