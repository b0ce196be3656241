//! The vectors that the machine proof shares with the code: `proofs/vectors.csv`, described in `proofs/README.md`.
//!
//! A word is put into a bucket by a snapshot from a file, which is why this needs the feature `serde`, and read with
//! `Debug`. Everything between is the public interface, so the vectors check the bucket and not a copy of its rules.
#![cfg(feature = "serde")]

use std::time::Duration;

use tollgate::{Bucket, Denied, Manual, Snapshot};

use crate::support::{arrival_of, at, bucket, nanos, quota};

const FILE: &str = include_str!("../../proofs/vectors.csv");
const HEADER: &str = "rule,tokens,period,capacity,word,now,cost,written,lowered,answer,next,ready_at";
const LAST_ARRIVAL: u64 = u64::MAX - 1;

/// One line of the file.
struct Vector<'a> {
    line: &'a str,
    fields: Vec<&'a str>,
}

impl<'a> Vector<'a> {
    fn parse(line: &'a str) -> Self {
        Vector { line, fields: line.split(',').collect() }
    }

    fn text(&self, column: &str) -> &'a str {
        let index = HEADER.split(',').position(|name| name == column).expect("a column of the file");
        self.fields[index]
    }

    fn number(&self, column: &str) -> u64 {
        self.text(column).parse().unwrap_or_else(|error| panic!("{column} of {}: {error}", self.line))
    }

    /// A bucket with this line's quota, whose word is `word`.
    fn bucket(&self, word: u64) -> Bucket<Manual> {
        let bucket = bucket(quota(self.number("tokens"), self.number("period"), self.number("capacity")));
        put(&bucket, word);
        bucket
    }

    fn check(&self) -> Checked {
        match self.text("rule") {
            "acquire" => self.check_acquire(),
            "charge" => self.check_charge(),
            "refund" => self.check_refund(),
            "undo" => return self.check_undo(),
            other => panic!("no rule `{other}`: {}", self.line),
        }
        Checked::Yes
    }

    fn check_acquire(&self) {
        let (cost, now) = (self.number("cost"), self.number("now"));
        let bucket = self.bucket(self.number("word"));
        let asked = bucket.peek_at(at(now)).wait_for(cost);
        let answer = bucket.try_acquire_n_at(cost, at(now));
        let (name, wait) = match answer {
            Ok(()) => ("admitted", Ok(Duration::ZERO)),
            Err(Denied::NotYet(not_yet)) => {
                assert_eq!(not_yet.ready_at(), at(self.number("ready_at")), "{}", self.line);
                ("not_yet", Ok(not_yet.wait()))
            }
            Err(never @ Denied::OverCapacity { .. }) => ("over_capacity", Err(never)),
            Err(never @ Denied::ZeroCost) => ("zero_cost", Err(never)),
            Err(never @ Denied::NoRoom(_)) => ("no_room", Err(never)),
        };
        assert_eq!(name, self.text("answer"), "{}", self.line);
        assert_eq!(asked, wait, "a peek tells the same: {}", self.line);
        if name == "not_yet" {
            let ready = self.number("ready_at");
            let wait = if ready == u64::MAX { ready } else { ready - now };
            assert_eq!(answer.unwrap_err().wait(), Some(nanos(wait)), "{}", self.line);
        }
        self.check_next(&bucket);
    }

    fn check_charge(&self) {
        let bucket = self.bucket(self.number("word"));
        let _kept = bucket.charge_at(self.number("cost"), at(self.number("now")));
        self.check_next(&bucket);
    }

    fn check_refund(&self) {
        let bucket = self.bucket(self.number("word"));
        bucket.refund_at(self.number("cost"), at(self.number("now")));
        self.check_next(&bucket);
    }

    /// A charge that writes `written`, then other charges and a refund of `lowered` units that leave `word`. Both are of
    /// whole tokens, as the calls are.
    fn check_undo(&self) -> Checked {
        let (written, lowered, word) = (self.number("written"), self.number("lowered"), self.number("word"));
        let (unit, above) = (self.unit(), u128::from(word) + u128::from(lowered));
        let units = self.number("cost").saturating_mul(unit).min(LAST_ARRIVAL);
        let raised = above.checked_sub(written.into()).filter(|_| above <= LAST_ARRIVAL.into());
        let (Some(raised), true) = (raised.map(|raised| raised as u64), written >= units) else {
            return Checked::Unreachable;
        };
        if raised % unit != 0 || lowered % unit != 0 {
            return Checked::Unreachable;
        }
        let bucket = self.bucket(written - units);
        let charge = bucket.charge_at(self.number("cost"), at(0));
        assert_eq!(arrival_of(&bucket), written, "{}", self.line);
        let _kept = bucket.charge_at(raised / unit, at(0));
        bucket.refund_at(lowered / unit, at(0));
        assert_eq!(arrival_of(&bucket), word, "{}", self.line);
        charge.undo_at(at(self.number("now")));
        self.check_next(&bucket);
        Checked::Yes
    }

    /// Units in a token, as a bucket that owes one shows it.
    fn unit(&self) -> u64 {
        let bucket = self.bucket(0);
        let _kept = bucket.charge_at(1, at(0));
        arrival_of(&bucket)
    }

    fn check_next(&self, bucket: &Bucket<Manual>) {
        assert_eq!(arrival_of(bucket), self.number("next"), "{}", self.line);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Checked {
    Yes,
    /// No sequence of calls leads to this state, so only the pure rule could be asked.
    Unreachable,
}

/// Moves the word of a bucket to `word`, by a snapshot that says so.
fn put(bucket: &Bucket<Manual>, word: u64) {
    let mut file = serde_json::to_value(bucket.snapshot_at(at(0), Duration::ZERO)).unwrap();
    file["deficit"] = word.into();
    let snapshot: Snapshot = serde_json::from_value(file).unwrap();
    bucket.restore_at(&snapshot, Duration::ZERO, at(0), Duration::ZERO).unwrap();
    assert_eq!(arrival_of(bucket), word);
}

#[test]
fn the_code_decides_as_the_proved_model_does() {
    let mut lines = FILE.lines();
    assert_eq!(lines.next(), Some(HEADER));
    let vectors: Vec<_> = lines.map(Vector::parse).collect();
    let checked = |rule: &str| {
        let of_the_rule = vectors.iter().filter(|vector| vector.text("rule") == rule);
        of_the_rule.filter(|vector| vector.check() == Checked::Yes).count()
    };
    let counts = [checked("acquire"), checked("charge"), checked("refund"), checked("undo")];
    let enough = [500, 100, 100, 50];
    assert!(
        counts.iter().zip(enough).all(|(count, least)| *count >= least),
        "{counts:?} of {}",
        vectors.len()
    );
    assert!(
        vectors.iter().all(|vector| ["acquire", "charge", "refund", "undo"].contains(&vector.text("rule")))
    );
}

/// A vector that is a nanosecond or a unit off must be caught.
#[test]
fn a_wrong_vector_is_caught() {
    let good = "acquire,1,1000000000,1,1000000003,1,1,,,not_yet,1000000003,1000000003";
    let bad = [
        "acquire,1,1000000000,1,1000000003,1,1,,,not_yet,1000000003,1000000004",
        "acquire,1,1000000000,1,1000000003,1,1,,,not_yet,1000000004,1000000003",
        "acquire,1,1000000000,1,1000000003,1,1,,,admitted,2000000003,",
        "charge,1,1000000000,1,1000000003,1,1,,,,2000000002,",
    ];
    assert!(Vector::parse(good).check() == Checked::Yes);
    for line in bad {
        assert!(std::panic::catch_unwind(|| Vector::parse(line).check()).is_err(), "{line}");
    }
}
