//! The file: making and joining it, what it refuses, and what it is when it was left behind.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::time::Duration;

use proptest::prelude::*;
use tollgate::shared_memory::{Region, SharedError};
use tollgate::{Bucket, Clock, Level, Manual, quota};

use super::Place;
use crate::support::{S, at, quota as plain};

/// Bytes of the head, and of a slot.
const HEAD: u64 = 128;
const SLOT: u64 = 768;

fn overwrite(place: &Place, offset: u64, bytes: &[u8]) {
    let file = OpenOptions::new().write(true).open(place.path()).unwrap();
    file.write_all_at(bytes, offset).unwrap();
}

#[test]
fn all_who_open_a_bucket_by_its_name_have_the_same() {
    let place = Place::new();
    let (first, second) = (place.bucket(quota!("1/h burst 10")), place.bucket(quota!("1/h burst 10")));
    assert_eq!((first.try_acquire_n(7), second.acquire_up_to(9)), (Ok(()), 3));
    assert!(first.try_acquire().is_err() && second.try_acquire().is_err());
    second.refund(2);
    assert_eq!(first.peek().available(), 2);
    first.charge(5);
    assert_eq!(second.peek().debt(), 3);
    second.reset();
    first.pause_for(Duration::from_secs(60));
    assert!(second.try_acquire().is_err());
    second.resume();
    assert_eq!(first.try_acquire_n(10), Ok(()));
    let other = place.open().bucket("other", quota!("1/h burst 10")).unwrap();
    assert_eq!(other.peek().available(), 10, "another name is another bucket");
    assert_eq!(place.open().slots(), (64, 2));
}

#[test]
fn a_bucket_lives_as_long_as_it_is_used_and_its_file_as_long_as_it_is_there() {
    let place = Place::new();
    let bucket = place.bucket(quota!("1/h burst 3"));
    assert_eq!(bucket.try_acquire(), Ok(()));
    fs::remove_file(place.path()).unwrap();
    assert_eq!(bucket.acquire_up_to(9), 2, "the old file goes on for those who have it");
    assert_eq!(place.bucket(quota!("1/h burst 3")).acquire_up_to(9), 3, "a new one begins anew");
}

#[test]
fn another_quota_is_refused_with_both() {
    let place = Place::new();
    place.bucket(quota!("100/s burst 200"));
    for other in [quota!("100/s burst 201"), quota!("101/s burst 200"), quota!("100/s burst 200 empty")] {
        let error = place.open().bucket("requests", other).unwrap_err();
        assert!(matches!(error, SharedError::OtherQuota { .. }), "{error:?}");
        assert_eq!(
            error.to_string(),
            format!("\"requests\" is there with the quota `100/s burst 200`, not `{other}`")
        );
    }
}

#[test]
fn names_and_numbers_of_slots_have_bounds() {
    let place = Place::new();
    let region = Region::options().slots(2).open(place.path()).unwrap();
    for name in [String::new(), "x".repeat(65)] {
        let error = region.bucket(&name, quota!("1/s")).unwrap_err().to_string();
        assert!(error.ends_with(&format!("has {} bytes, which is not in 1..=64", name.len())), "{error}");
    }
    assert!(region.bucket(&"x".repeat(64), quota!("1/s")).is_ok());
    assert!(region.bucket(&"x".repeat(63), quota!("1/s")).is_ok());
    let full = region.bucket("one more", quota!("1/s")).unwrap_err();
    assert_eq!(full.to_string(), "all 2 slots are taken");
    assert!(region.bucket(&"x".repeat(64), quota!("1/s")).is_ok(), "those that are there are still found");
    for slots in [0, 65_537, u64::MAX] {
        let error = Region::options().slots(slots).open(place.path()).unwrap_err();
        assert_eq!(error.to_string(), format!("slots: {slots} is not in 1..=65536"));
    }
    assert_eq!(Region::options().slots(9).open(place.path()).unwrap().slots(), (2, 2));
}

#[test]
fn the_file_is_for_its_owner_alone_unless_told_otherwise() {
    let place = Place::new();
    place.open();
    assert_eq!(fs::metadata(place.path()).unwrap().mode() & 0o777, 0o600);
    fs::remove_file(place.path()).unwrap();
    Region::options().mode(0o640).open(place.path()).unwrap();
    assert_eq!(fs::metadata(place.path()).unwrap().mode() & 0o777, 0o640);
}

#[test]
fn what_is_no_file_of_limits_is_left_as_it_is() {
    let place = Place::new();
    let text = "somebody's notes\n".repeat(100);
    fs::write(place.path(), &text).unwrap();
    assert!(matches!(Region::open(place.path()), Err(SharedError::NotARegion { .. })));
    assert_eq!(fs::read_to_string(place.path()).unwrap(), text);
    let folder = Region::open(place.path().parent().unwrap()).unwrap_err();
    assert!(folder.to_string().starts_with("cannot open /"), "{folder}");
}

#[test]
fn another_layout_and_a_file_cut_short_are_refused() {
    let place = Place::new();
    place.open();
    for other in [1_u64, 7] {
        overwrite(&place, 8, &other.to_ne_bytes());
        let error = Region::open(place.path()).unwrap_err();
        assert!(matches!(error, SharedError::OtherVersion { version, .. } if version == other), "{error}");
    }
    overwrite(&place, 8, &2_u64.to_ne_bytes());
    place.open();
    let file = OpenOptions::new().write(true).open(place.path()).unwrap();
    file.set_len(HEAD + 63 * SLOT).unwrap();
    assert!(matches!(Region::open(place.path()), Err(SharedError::Short { slots: 64, .. })));
    file.set_len(HEAD + 64 * SLOT).unwrap();
    overwrite(&place, 16, &u64::MAX.to_ne_bytes());
    assert!(matches!(Region::open(place.path()), Err(SharedError::Short { slots: u64::MAX, .. })));
}

#[test]
fn a_quota_that_is_not_what_was_written_is_not_believed() {
    let place = Place::new();
    place.bucket(quota!("100/s"));
    let quota = HEAD + 2 * 8 + 64;
    for field in 0..6 {
        let (place, file) = (Place::new(), fs::read(place.path()).unwrap());
        fs::write(place.path(), file).unwrap();
        overwrite(&place, quota + field * 8, &[0xff]);
        let error = place.open().bucket("requests", quota!("100/s")).unwrap_err();
        assert_eq!(error.to_string(), "the quota of \"requests\" is not what was written", "field {field}");
    }
}

/// Whoever was making the file, or a bucket in it, ended in the middle.
#[test]
fn what_was_left_half_made_is_made_anew() {
    let place = Place::new();
    fs::write(place.path(), []).unwrap();
    assert_eq!(place.open().slots(), (64, 0));
    fs::write(place.path(), vec![0; (HEAD + 5 * SLOT) as usize]).unwrap();
    assert_eq!(place.open().slots(), (5, 0), "long enough, without a head");
    // All of a slot but its kind, which is written last.
    overwrite(&place, HEAD + 8, &[0xab; SLOT as usize - 8]);
    assert_eq!(place.bucket(quota!("1/h burst 4")).acquire_up_to(9), 4);
    assert_eq!(place.open().slots(), (5, 1));
}

#[test]
fn a_file_from_before_the_machine_was_started_is_not_believed() {
    let place = Place::new();
    let before = place.bucket(quota!("1/h burst 5"));
    before.charge(1_000);
    before.pause_for(Duration::from_secs(3_600));
    overwrite(&place, 24, &[0x5a; 16]);
    let after = place.bucket(quota!("1/h burst 5"));
    assert_eq!(after.acquire_up_to(9), 5);
    assert!(after.clock().now().as_u64() < 60 * S, "time begins anew");
    assert!(place.bucket(quota!("1/h burst 5")).try_acquire().is_err(), "once");
}

#[test]
fn readings_of_all_who_open_the_file_are_of_one_clock() {
    let place = Place::new();
    let (first, second) = (place.open(), place.open());
    for _ in 0..10_000 {
        let reading = first.clock().now_ordered();
        assert!(second.clock().now_ordered() >= reading);
    }
    let begin = std::time::Instant::now();
    let before = first.clock().now();
    std::thread::sleep(Duration::from_millis(20));
    let passed = second.clock().now().saturating_sub(before).as_duration();
    assert!(passed >= Duration::from_millis(19) && passed <= begin.elapsed() * 11 / 10, "{passed:?}");
}

proptest! {
    /// Every answer is that of a bucket in the process.
    #[test]
    fn it_decides_as_a_bucket_does(
        (tokens, period, burst) in (1..50_u64, 1..3 * S, 1..60_u64),
        calls in prop::collection::vec((0..6_u8, 0..70_u64, 0..S), 1..60),
    ) {
        let (place, quota) = (Place::new(), plain(tokens, period, burst));
        // Both begin full, and in both the first reading is later than the beginning.
        let (shared, own) = (place.bucket(quota), Bucket::with_clock(quota, Manual::new()));
        let mut now = shared.clock().now().as_u64() + S;
        for (call, cost, passed) in calls {
            now += passed;
            match call {
                0 | 1 => prop_assert_eq!(shared.try_acquire_n_at(cost, at(now)), own.try_acquire_n_at(cost, at(now))),
                2 => prop_assert_eq!(shared.acquire_up_to_at(cost, at(now)), own.acquire_up_to_at(cost, at(now))),
                3 => {
                    shared.charge_at(cost, at(now));
                    own.charge_at(cost, at(now));
                }
                4 => {
                    shared.refund_at(cost, at(now));
                    own.refund_at(cost, at(now));
                }
                _ => {
                    shared.pause_until(at(now + cost));
                    own.pause_until(at(now + cost));
                }
            }
            let seen = |level: Level| (level.available(), level.debt(), level.time_to_full(), level.paused_for());
            prop_assert_eq!(seen(shared.peek_at(at(now))), seen(own.peek_at(at(now))));
        }
    }
}
