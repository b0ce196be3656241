//! Fractions against rational arithmetic in 128 bits, and their texts.

use proptest::prelude::*;
use tollgate::budget::{Ratio, RatioError};

use super::ratio;
use crate::quotas::sized;

#[test]
fn lowest_terms_and_what_is_out_of_range() {
    assert_eq!((ratio(2, 6).over(), ratio(2, 6).under()), (1, 3));
    assert_eq!(ratio(0, 7), Ratio::ZERO);
    assert_eq!(ratio(7, 7), Ratio::ONE);
    assert_eq!(ratio(4_000_000, 2_000_000), ratio(2, 1), "the range is that of lowest terms");
    for (over, under) in [(1, 0), (0, 0), (1, 1_000_001), (u32::MAX, 1_000_003)] {
        assert_eq!(Ratio::new(over, under), Err(RatioError::Denominator { over, under }));
    }
    assert_eq!(
        Ratio::new(1, 1_000_001).unwrap_err().to_string(),
        "1/1000001: in lowest terms the denominator must be from 1 to 1000000"
    );
}

#[test]
fn texts_are_read_and_written_exactly() {
    for (text, over, under, written) in [
        ("1.25", 5, 4, "1.25"),
        ("0.1", 1, 10, "0.1"),
        ("5", 5, 1, "5"),
        ("0", 0, 1, "0"),
        ("1/3", 1, 3, "1/3"),
        ("6/4", 3, 2, "1.5"),
        ("0.000001", 1, 1_000_000, "0.000001"),
        ("4294967295", u32::MAX, 1, "4294967295"),
        ("4294.967295", 858_993_459, 200_000, "4294.967295"),
    ] {
        let read: Ratio = text.parse().unwrap();
        assert_eq!((read, read.to_string().as_str()), (ratio(over, under), written), "{text}");
    }
    for text in ["", "a", "-1", "1/", "/2", "1/2/3", "1.5/2", "0.0000001", "4294967296", "1e3", "NaN", "inf"]
    {
        assert_eq!(text.parse::<Ratio>(), Err(RatioError::Text { text: text.to_string() }), "{text:?}");
    }
    assert_eq!("1/0".parse::<Ratio>(), Err(RatioError::Denominator { over: 1, under: 0 }));
}

#[test]
fn products_that_do_not_fit_are_errors() {
    assert_eq!(ratio(5, 4).times(ratio(11, 10)), Ok(ratio(11, 8)));
    assert_eq!(ratio(1, 1_000_000).times(ratio(1_000_000, 1)), Ok(Ratio::ONE));
    assert_eq!(Ratio::ZERO.times(ratio(1, 999_999)), Ok(Ratio::ZERO));
    for (left, right) in [(ratio(1, 1_000), ratio(1, 1_001)), (ratio(u32::MAX, 1), ratio(2, 1))] {
        assert_eq!(left.times(right), Err(RatioError::Product { left, right }));
    }
}

proptest! {
    #[test]
    fn a_part_is_the_exact_product_rounded_up(amount in sized(), over in any::<u32>(), under in 1..=1_000_000_u32) {
        let product = u128::from(amount) * u128::from(over);
        let part = u128::from(ratio(over, under).of(amount));
        if part == u128::from(u64::MAX) {
            prop_assert!(product > (part - 1) * u128::from(under));
        } else {
            prop_assert!(part * u128::from(under) >= product);
            prop_assert!(part == 0 || (part - 1) * u128::from(under) < product);
        }
    }

    #[test]
    fn any_fraction_survives_its_text(over in any::<u32>(), under in 1..=1_000_000_u32) {
        let ratio = ratio(over, under);
        prop_assert_eq!(ratio.to_string().parse(), Ok(ratio));
    }
}
