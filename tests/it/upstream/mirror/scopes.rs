//! What is kept for others, mirrors by scope, and threads.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::StatusCode;
use tollgate::quota;
use tollgate::upstream::{
    Cost, Dimension, Mirror, MirrorError, MirrorScope, Mirrors, NoRoomForScope, Reader, Refused,
};

use super::support::{SECOND, available, on_manual, requests, told};

const ONE: Cost = Cost::requests(1);

#[test]
fn what_is_kept_is_left_to_others() {
    let (clock, builder) = on_manual();
    let mirror =
        builder.limit(Dimension::Requests, quota!("60/min")).keep(Dimension::Requests, 10).build().unwrap();
    let over = Refused::OverCapacity { dimension: Dimension::Requests, capacity: 50 };
    assert_eq!(mirror.try_send(&Cost::requests(51)).unwrap_err(), over);
    drop(mirror.try_send(&Cost::requests(50)).unwrap());
    assert_eq!(available(&mirror), 10);
    assert_eq!(mirror.wait_for(&ONE), Ok(SECOND));
    clock.advance(SECOND);
    assert!(mirror.try_send(&ONE).is_ok());
}

#[test]
fn what_is_kept_shrinks_with_the_limit() {
    let (_clock, builder) = on_manual();
    let mirror =
        builder.limit(Dimension::Requests, quota!("60/min")).keep(Dimension::Requests, 30).build().unwrap();
    told(mirror.try_send(&ONE).unwrap(), 10, 10, "0s");
    drop(mirror.try_send(&Cost::requests(5)).unwrap());
    assert!(matches!(mirror.try_send(&ONE), Err(Refused::NotYet { .. })));
}

#[test]
fn a_shared_limit_of_which_nothing_is_told_is_used_whole() {
    let (_clock, builder) = on_manual();
    let mirror = builder
        .limit(Dimension::Requests, quota!("60/min"))
        .limit(Dimension::Tokens, quota!("60/min"))
        .shared()
        .build()
        .unwrap();
    let tokens = |amount| Cost::of(Dimension::Tokens, amount);
    let first = mirror.try_send(&ONE).unwrap();
    let claimed: Vec<_> = (0..60).map_while(|_| mirror.try_send(&tokens(1)).ok()).collect();
    assert!(claimed.len() < 15, "before anything was told no more than a part is claimed: {}", claimed.len());
    claimed.into_iter().for_each(tollgate::upstream::Sent::not_sent);
    told(first, 60, 30, "30s");
    let claimed: Vec<_> = (0..61).map_while(|_| mirror.try_send(&tokens(1)).ok()).collect();
    assert_eq!(claimed.len(), 60);
}

#[test]
fn what_cannot_be_built_says_why() {
    let all = Mirror::builder().limit(Dimension::Tokens, quota!("60/min")).keep(Dimension::Tokens, 60);
    let error = all.build().unwrap_err();
    assert_eq!(error, MirrorError::KeepsAll { dimension: Dimension::Tokens, keep: 60, capacity: 60 });
    assert_eq!(error.to_string(), "keeping 60 of Tokens: must be at most 59, for the capacity is 60");
    let nothing = Mirror::builder().keep(Dimension::Tokens, 1).build().unwrap_err();
    assert_eq!(nothing.to_string(), "keeping some of Tokens: a limit of Tokens must be set too");
    let window = Mirror::builder().window(Dimension::Tokens, 1, Duration::ZERO).build().unwrap_err();
    assert_eq!(window.to_string(), "window of Tokens: period of 0 ns: must be at least 1 ns");
}

#[test]
fn scopes_never_merge() {
    let (_clock, builder) = on_manual();
    let mirrors = Mirrors::new(builder.limit(Dimension::Requests, quota!("1/min")), 10).unwrap();
    let scopes =
        [("a", "/v1", "m"), ("b", "/v1", "m"), ("a", "/v2", "m"), ("a", "/v1", "n"), ("a/v1", "", "m")];
    for (credential, endpoint, model) in scopes {
        let mirror = mirrors.of(&MirrorScope::new(credential, endpoint, model)).unwrap();
        drop(mirror.try_send(&ONE).unwrap());
        assert!(mirror.try_send(&ONE).is_err());
        mirror.pause_for(SECOND);
    }
    assert_eq!(mirrors.len(), 5);
    assert!(!format!("{:?}", MirrorScope::new("secret", "/v1", "m")).contains("secret"));
}

#[test]
fn only_what_is_as_new_makes_room() {
    let (clock, builder) = on_manual();
    let mirrors = Mirrors::new(builder.limit(Dimension::Requests, quota!("60/min")), 1).unwrap();
    let (one, other) = (MirrorScope::new("a", "", ""), MirrorScope::new("b", "", ""));
    let full = NoRoomForScope { cap: 1 };
    let mirror = mirrors.of(&one).unwrap();
    assert_eq!(mirrors.of(&other).unwrap_err(), full, "somebody holds it");
    let sent = mirror.try_send(&ONE).unwrap();
    drop(mirror);
    assert_eq!(mirrors.of(&other).unwrap_err(), full, "a call is on its way");
    drop(sent);
    assert_eq!(mirrors.of(&other).unwrap_err(), full, "it is not full");
    clock.advance(SECOND);
    mirrors.of(&one).unwrap().pause_for(SECOND);
    assert_eq!(mirrors.of(&other).unwrap_err(), full, "it is paused");
    clock.advance(SECOND);
    assert!(mirrors.of(&other).is_ok());
    assert_eq!(mirrors.len(), 1);
}

#[test]
fn threads_take_no_more_than_there_is() {
    let (_clock, builder) = on_manual();
    let mirror = builder.limit(Dimension::Requests, quota!("1000/min")).build().unwrap();
    let headers = Arc::new(requests(1_000, 1_000, "0s"));
    let takers = (0..4_u64).map(|thread| {
        let (mirror, headers) = (mirror.clone(), Arc::clone(&headers));
        std::thread::spawn(move || {
            let mut charged = 0;
            for number in 0..500 {
                let Ok(sent) = mirror.try_send(&ONE) else { continue };
                match (number + thread) % 3 {
                    0 => sent.not_sent(),
                    1 => drop(sent),
                    _ => {
                        // Of a cache, so it says nothing.
                        let mut headers = headers.as_ref().clone();
                        headers.insert("age", "5".parse().unwrap());
                        sent.answered(&Reader::new().read(StatusCode::OK, &headers, SystemTime::UNIX_EPOCH));
                    }
                }
                charged += u64::from(!(number + thread).is_multiple_of(3));
            }
            charged
        })
    });
    let takers: Vec<_> = takers.collect();
    let charged: u64 = takers.into_iter().map(|taker| taker.join().unwrap()).sum();
    assert!((900..=1_000).contains(&charged), "{charged}");
    assert_eq!((available(&mirror), mirror.in_flight()), (1_000 - charged, 0));
}
