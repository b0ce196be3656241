//! Named allowances: the file, calls, reloads.

mod calls;
mod faults;
mod levels;
mod live;
mod reload;
mod tables;
mod threads;

use tollgate::budget::allowances::{Allowances, Config, Grants, NotAdmitted};
use tollgate::{Manual, Nanos};

use crate::support::at;

/// A credential with two shares, the calls that it may make, and four browsers.
const SEARCH: &str = r#"
[allowance.openai]
unit = "tokens"
rate = "300k/min burst 450k"

[allowance.search-team]
share-of = "openai"
share = "30%"

[allowance.nightly]
share-of = "search-team"
share = "10%"

[allowance.openai-calls]
unit = "calls"
rate = "300/min"

[allowance.browsers]
unit = "permits"
in-flight = 4

[tool.search]
uses = { openai = "tokens", openai-calls = 1, browsers = 1 }

[tool.summary]
uses = { openai = "2000 tokens", openai-calls = 1 }

[caller.batch]
within = ["search-team"]

[caller.night]
within = ["nightly"]
"#;

fn config(text: &str) -> Config {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

/// On a clock that stands at zero.
fn allowances(text: &str) -> Allowances<Manual> {
    Allowances::with_clock(config(text), Manual::new())
}

/// What is there of each.
fn there<const N: usize>(allowances: &Allowances<Manual>, names: [&str; N]) -> [u64; N] {
    names.map(|name| allowances.available(name).unwrap_or_else(|| panic!("`{name}`")))
}

fn refused_by(result: Result<Grants<Manual>, NotAdmitted>) -> String {
    match result {
        Err(NotAdmitted::Refused { allowance, .. }) => allowance.to_string(),
        other => panic!("{other:?}"),
    }
}

fn set(allowances: &Allowances<Manual>, now: u64) -> Nanos {
    allowances.clock().set(at(now));
    at(now)
}
