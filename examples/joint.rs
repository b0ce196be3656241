//! Two limits at once, as a provider of language models sets them: requests a minute and tokens a minute. A
//! request takes from both or from neither.
//!
//!     cargo run --example joint

use std::fmt;

use tollgate::{Bucket, Denied, quota};

struct Limits {
    requests: Bucket,
    tokens: Bucket,
}

/// The limit that refused, and why.
struct Refused {
    limit: &'static str,
    denied: Denied,
}

impl Limits {
    fn admit(&self, tokens: u64) -> Result<(), Refused> {
        let request = self.requests.try_charge(1).map_err(|denied| Refused { limit: "requests", denied })?;
        self.tokens.try_acquire_n(tokens).map_err(|denied| {
            // At once, so nothing is withheld: an undo never gives back what refill has made good meanwhile.
            request.undo();
            Refused { limit: "tokens", denied }
        })
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refused by {}: {}", self.limit, self.denied)
    }
}

fn main() {
    let limits = Limits {
        requests: Bucket::new(quota!("60/min burst 4")),
        tokens: Bucket::new(quota!("60k/min burst 10k")),
    };
    for tokens in [4_000, 5_000, 8_000, 20_000, 500, 200, 100] {
        match limits.admit(tokens) {
            Ok(()) => println!("{tokens:>6} tokens: admitted"),
            Err(refused) => println!("{tokens:>6} tokens: {refused}"),
        }
        let (requests, tokens) = (limits.requests.peek(), limits.tokens.peek());
        println!("{:>24} requests and {} tokens left", requests.available(), tokens.available());
    }
}
