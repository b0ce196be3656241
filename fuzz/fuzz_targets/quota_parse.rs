//! Any text is a quota or an error, never a panic; and a quota's own text is that quota again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate::{Quota, QuotaError};

fuzz_target!(|text: &str| {
    let parsed: Result<Quota, QuotaError> = text.parse();
    assert_eq!(parsed, Quota::parse(text), "a constant means what it means at run time");
    match parsed {
        Ok(quota) => assert_eq!(quota.to_string().parse(), Ok(quota), "{quota}"),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
