//! A look at all allowances.

use tollgate::budget::allowances::{AllowanceLevel, Unit};

use super::{SEARCH, allowances, config};

type Figures = (u64, u64, u64, u64);

/// Available, limit, debt, in flight.
fn figures(level: &AllowanceLevel) -> Figures {
    (level.available(), level.limit(), level.debt(), level.in_flight())
}

#[test]
fn each_is_looked_at_in_the_order_of_the_file() {
    let allowances = allowances(SEARCH);
    let look = || allowances.levels().iter().map(figures).collect::<Vec<_>>();
    let levels = allowances.levels();
    let names: Vec<_> = levels.iter().map(|level| (level.name(), level.unit(), level.share_of())).collect();
    assert_eq!(
        names,
        [
            ("openai", Unit::Tokens, None),
            ("search-team", Unit::Tokens, Some("openai")),
            ("nightly", Unit::Tokens, Some("search-team")),
            ("openai-calls", Unit::Calls, None),
            ("browsers", Unit::Permits, None),
        ]
    );
    let full: [Figures; 5] = [
        (450_000, 450_000, 0, 0),
        (135_000, 135_000, 0, 0),
        (13_500, 13_500, 0, 0),
        (300, 300, 0, 0),
        (4, 4, 0, 0),
    ];
    assert_eq!(look(), full);

    let call = allowances.call("search").by("batch").estimate(1000).try_acquire().unwrap();
    let held: [Figures; 5] = [
        (449_000, 450_000, 0, 1),
        (134_000, 135_000, 0, 1),
        (13_500, 13_500, 0, 0),
        (299, 300, 0, 1),
        (3, 4, 0, 1),
    ];
    assert_eq!(look(), held);
    call.settle(136_000);
    let owed: [Figures; 5] = [
        (314_000, 450_000, 0, 0),
        (0, 135_000, 1000, 0),
        (13_500, 13_500, 0, 0),
        (299, 300, 0, 0),
        (4, 4, 0, 0),
    ];
    assert_eq!(look(), owed);
}

#[test]
fn a_reload_shows_at_once() {
    let allowances = allowances(SEARCH);
    let call = allowances.call("search").estimate(1000).try_acquire().unwrap();
    allowances
        .reload(config(&SEARCH.replace("300k/min burst 450k", "300k/min burst 200k").replace("= 4", "= 2")));
    let levels = allowances.levels();
    assert_eq!(figures(&levels[0]), (200_000, 200_000, 0, 1));
    assert_eq!(figures(&levels[4]), (1, 2, 0, 1));
    drop(call);
    assert_eq!(figures(&allowances.levels()[4]), (2, 2, 0, 0));
}
