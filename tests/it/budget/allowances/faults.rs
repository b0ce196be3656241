//! What is wrong with a file is told with its line and field: one fixture for each way, beside it what is to be told.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use tollgate::budget::allowances::{Allowances, Config};

use super::SEARCH;

/// Each file `NAME.toml`, and `NAME.txt` with the error.
#[test]
fn each_fixture_is_told_with_line_and_field() {
    let mut problems = BTreeSet::new();
    for (path, text) in fixtures() {
        let error = text.parse::<Config>().expect_err(&path);
        assert_eq!(
            format!("{error}\n"),
            fs::read_to_string(path.replace(".toml", ".txt")).unwrap(),
            "{path}"
        );
        let names = error.faults().iter().map(|fault| format!("{:?}", fault.problem));
        problems.extend(names.map(|name| name.split([' ', '{']).next().unwrap().to_owned()));
    }
    let all = [
        "Cycle",
        "Invalid",
        "LimitOfOtherUnit",
        "Missing",
        "NeverFits",
        "NotAShare",
        "NotBeside",
        "NumberOfTokens",
        "Quota",
        "ShareTooSmall",
        "SharesAboveWhole",
        "Syntax",
        "UnitMismatch",
        "UnknownAllowance",
        "UsesNothing",
    ];
    assert_eq!(problems.iter().map(String::as_str).collect::<Vec<_>>(), all, "each problem has a fixture");
}

/// The line of a fault is that of the field it names: the field moves down with every line put above it.
#[test]
fn lines_are_counted_from_the_top_of_the_file() {
    for (path, text) in fixtures() {
        let lines = |text: &str| {
            let error = text.parse::<Config>().expect_err(&path);
            error.faults().iter().map(|fault| (fault.line, fault.field.clone())).collect::<Vec<_>>()
        };
        let moved = lines(&format!("# Grüße\r\n\n{text}"));
        let expected: Vec<_> = lines(&text).into_iter().map(|(line, field)| (line + 2, field)).collect();
        assert_eq!(moved, expected, "{path}");
    }
}

/// What nests too deeply is told too.
#[test]
fn depth_is_limited() {
    for text in [
        ["a"; 50_000].join("."),
        format!("[{}]", ["tool"; 50_000].join(".")),
        "a = ".to_owned() + &"[".repeat(50_000),
    ] {
        assert_eq!(text.parse::<Config>().unwrap_err().faults().len(), 1);
    }
}

proptest! {
    /// A file in which words have been exchanged is one, or has faults within its lines.
    #[test]
    fn any_file_is_answered(swaps in prop::collection::vec((any::<usize>(), any::<usize>()), 0..6), cut in 0..SEARCH.len()) {
        let mut words: Vec<_> = SEARCH.split_inclusive([' ', '\n', '"', '[', ']']).collect();
        for (one, other) in swaps {
            let count = words.len();
            words.swap(one % count, other % count);
        }
        let text = words.concat();
        for text in [&text[..], &text[..cut]] {
            match text.parse::<Config>() {
                Ok(config) => {
                    let told = Allowances::new(config).to_string();
                    prop_assert!(told.starts_with("allowance"));
                }
                Err(error) => {
                    prop_assert!(!error.faults().is_empty());
                    for fault in error.faults() {
                        prop_assert!((1..=text.lines().count().max(1) + 1).contains(&fault.line), "{fault}");
                    }
                }
            }
        }
    }
}

fn fixtures() -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/budget/allowances/fixtures");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = paths.filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.map(|path| (path.to_str().unwrap().to_owned(), fs::read_to_string(&path).unwrap())).collect()
}
