//! The deciding path allocates nothing: not admitting, not refusing, not telling the wait.
//!
//! A binary of its own, because it brings the allocator that counts.
#![allow(unsafe_code, reason = "an allocator is an unsafe trait; this one counts and passes on")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;
use std::time::Duration;

use tollgate::{Bucket, Clock, Limiter, Manual, Nanos, NonDecreasing, Quota, quota};

thread_local! {
    /// Allocations of this thread. Without a destructor and a lazy start, so that counting allocates nothing.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    /// Bytes that this thread has been given and has not given back.
    static BYTES: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call is passed on to `System` unchanged, with the caller's layout and pointer, so `System`'s contract
// is kept by whoever keeps this one's. Counting neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        BYTES.with(|bytes| bytes.set(bytes.get().wrapping_add(layout.size())));
        // SAFETY: the caller promises a layout that is not empty.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        BYTES.with(|bytes| bytes.set(bytes.get().wrapping_sub(layout.size())));
        // SAFETY: the caller promises that `pointer` came from `alloc`, so from `System`, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often `calls` allocates.
fn allocations(calls: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.with(Cell::get);
    calls();
    ALLOCATIONS.with(Cell::get) - before
}

const QUOTAS: [Quota; 3] = [quota!("3/s burst 5"), quota!("9/s burst 5"), quota!("10/ns burst 1G")];

#[test]
fn the_counter_counts() {
    assert_eq!(allocations(|| drop(black_box(Box::new(1)))), 1);
    assert_eq!(allocations(|| drop(black_box(vec![1, 2, 3]))), 1);
    assert_eq!(allocations(|| {}), 0);
}

#[test]
fn admitting_and_refusing_allocate_nothing() {
    for quota in QUOTAS {
        let bucket = Bucket::with_clock(quota, Manual::new());
        let count = allocations(|| {
            for round in 0..20 {
                let _ = black_box(bucket.try_acquire());
                let _ = black_box(bucket.try_acquire_n(3));
                let _ = black_box(bucket.try_acquire_n_at(2, Nanos::new(round)));
                let _ = black_box(bucket.try_acquire_n(u64::MAX));
                let _ = black_box(bucket.try_acquire_n(0));
                black_box(bucket.acquire_up_to(2));
                bucket.clock().advance(Duration::from_millis(round));
            }
        });
        assert_eq!(count, 0, "{quota}");
    }
}

#[test]
fn telling_the_wait_allocates_nothing() {
    for quota in QUOTAS {
        let bucket = Bucket::with_clock(quota, Manual::new());
        let count = allocations(|| {
            bucket.drain();
            bucket.pause_for(Duration::from_secs(1));
            let refusal = bucket.try_acquire().expect_err("it is paused");
            black_box((refusal.wait(), refusal.retry_after()));
            let level = bucket.peek();
            black_box((level.available(), level.debt(), level.time_to_full(), level.paused_for()));
            let _ = black_box(level.wait_for(1));
            bucket.resume();
        });
        assert_eq!(count, 0, "{quota}");
    }
}

#[test]
fn charging_and_giving_back_allocate_nothing() {
    for quota in QUOTAS {
        let bucket = Bucket::with_clock(quota, Manual::new());
        let count = allocations(|| {
            bucket.charge(9).undo();
            let _kept = bucket.charge(9);
            bucket.refund(9);
            bucket.reset();
            if let Ok(charge) = bucket.try_charge(1) {
                charge.undo();
            }
            let snapshot = bucket.snapshot_at(Nanos::ZERO, Duration::ZERO);
            let _ = black_box(bucket.restore_at(&snapshot, Duration::ZERO, Nanos::ZERO, Duration::ZERO));
        });
        assert_eq!(count, 0, "{quota}");
    }
}

#[test]
fn clocks_and_wrappers_allocate_nothing() {
    let wall = Manual::new();
    let bucket = Bucket::with_clock(quota!("3/s burst 5"), NonDecreasing::new(&wall));
    let limiter: &dyn Limiter = &bucket;
    let count = allocations(|| {
        let _ = black_box((limiter.try_acquire(), limiter.try_acquire_n(9)));
        black_box(bucket.clock().now());
    });
    assert_eq!(count, 0);
}

#[cfg(feature = "std")]
#[test]
fn the_default_clock_allocates_nothing_once_it_is_chosen() {
    let bucket = Bucket::new(quota!("3/s burst 5"));
    let count = allocations(|| {
        for _ in 0..20 {
            let _ = black_box(bucket.try_acquire().map_err(|refusal| refusal.wait()));
        }
    });
    assert_eq!(count, 0);
}

#[cfg(feature = "window")]
mod window {
    use tollgate::window::{Algorithm, Every, Fixed, SlidingCounter, Windowed};

    use super::*;

    /// Every verb, in windows that come and go.
    fn round<A: Algorithm>(limit: &Windowed<A, Manual>) -> u64 {
        allocations(|| {
            for round in 0..100 {
                let now = limit.clock().now();
                let _ = black_box(limit.try_acquire());
                let refusal = limit.try_acquire_n(limit.limit());
                black_box(refusal.err().map(|denied| (denied.wait(), denied.retry_after())));
                black_box(limit.acquire_up_to(2));
                limit.charge(1);
                limit.refund(1, now);
                black_box((limit.peek().time_to_reset(), limit.wait_for(1).is_ok()));
                limit.clock().advance(Duration::from_millis(round));
            }
        })
    }

    #[test]
    fn no_verb_of_a_word_allocates() {
        let second = Every::new(Duration::from_secs(1)).unwrap();
        assert_eq!(round(&Fixed::with_clock(10, second, Manual::new()).unwrap()), 0);
        assert_eq!(round(&SlidingCounter::with_clock(10, second, Manual::new()).unwrap()), 0);
    }

    /// A log takes memory as it grows to its size, and not after that.
    #[cfg(feature = "std")]
    #[test]
    fn a_log_that_has_its_size_does_not_allocate() {
        let second = Duration::from_secs(1);
        let log = tollgate::window::SlidingLog::with_clock(10, second, Manual::new()).unwrap();
        assert!(round(&log) > 0);
        assert_eq!(round(&log), 0);
    }
}

#[cfg(feature = "budget")]
#[test]
fn deciding_in_a_tree_allocates_nothing() {
    use tollgate::budget::tree::{Share, Tree};

    let share = Share::percent(20).burst(1);
    for quota in QUOTAS {
        let tree = Tree::builder(quota).clock(Manual::new()).node("a", share.ceiling(quota!("2/s")));
        let tree = tree.node("b", share).build().unwrap();
        let (a, b) = (tree.node("a").unwrap(), tree.node("b").unwrap());
        let count = allocations(|| {
            for round in 0..20 {
                let _ = black_box(a.try_acquire().map_err(|refusal| refusal.wait()));
                let _ = black_box(b.try_acquire_n(3).map_err(|refusal| (refusal.node, refusal.wait())));
                let _ = black_box(b.try_acquire_n(u64::MAX));
                b.charge(2);
                a.refund(1);
                black_box((a.peek(), tree.root().peek()));
                tree.clock().advance(Duration::from_millis(round));
            }
        });
        assert_eq!(count, 0, "{quota}");
    }
}

#[cfg(feature = "keyed")]
mod by_key {
    use tollgate::keyed::{Keyed, Overflow, Table};

    use super::*;

    const OVERFLOWS: [Overflow; 3] = [Overflow::Refuse, Overflow::Share(quota!("1/s")), Overflow::Admit];

    /// Inserting, refusing, taking over what is full, sweeping, overflowing: all in the memory of the start.
    #[test]
    fn a_table_allocates_nothing_after_its_construction() {
        for (quota, overflow) in QUOTAS.into_iter().zip(OVERFLOWS) {
            let table = Table::builder(quota, 64).overflow(overflow).clock(Manual::new()).build().unwrap();
            let count = allocations(|| {
                for round in 0..400_u64 {
                    let _ = black_box(table.try_acquire(&round));
                    let _ = black_box(table.try_acquire_n(&(round / 2), 3).map_err(|refusal| refusal.wait()));
                    let _ = black_box(table.try_acquire_n("a text", 2));
                    let _ = black_box(table.try_acquire_n(&round, 0));
                    let _ = black_box(table.try_acquire_n(&round, u64::MAX));
                    black_box((table.peek(&round).available(), table.len(), table.overflow_counts()));
                    if round % 100 == 99 {
                        table.clock().advance(Duration::from_secs(1000));
                        black_box(table.sweep());
                    }
                }
            });
            assert_eq!(count, 0, "{quota}");
        }
    }

    /// A key that is known is found by what it borrows as, whatever is asked of it.
    #[test]
    fn a_known_key_allocates_nothing() {
        for quota in QUOTAS {
            let keyed = Keyed::<String>::builder(quota).clock(Manual::new()).build().unwrap();
            keyed.charge("a client with a long name", 1);
            let count = allocations(|| {
                let key = black_box("a client with a long name");
                for round in 0..20 {
                    let _ = black_box(keyed.try_acquire(key));
                    let _ = black_box(keyed.try_acquire_n(key, 3).map_err(|refusal| refusal.wait()));
                    let _ = black_box(keyed.try_acquire_n_at(key, 2, Nanos::new(round)));
                    let _ = black_box(keyed.try_acquire_n(key, u64::MAX));
                    let _ = black_box(keyed.try_acquire_n(key, 0));
                    keyed.charge(key, 1);
                    black_box(keyed.pause_until(key, Nanos::new(round)));
                    black_box(keyed.peek(key).map(|level| level.available()));
                    black_box((keyed.len(), keyed.overflow_counts()));
                    keyed.clock().advance(Duration::from_micros(100 * round));
                }
            });
            assert_eq!(count, 0, "{quota}");
        }
    }

    /// A flood of keys fills what room there is; sweeping gives the memory back.
    #[test]
    fn memory_is_given_back_after_a_flood() {
        let keyed =
            Keyed::<u64>::builder(quota!("1/s")).max_keys(50_000).clock(Manual::new()).build().unwrap();
        let empty = BYTES.with(Cell::get);
        let admitted = (0..200_000).filter(|key| keyed.try_acquire(key).is_ok()).count();
        assert_eq!(admitted, 50_001, "one by the shared bucket");
        let full = BYTES.with(Cell::get) - empty;
        assert!(keyed.len() == 50_000 && full / keyed.len() < 160, "{full} bytes");
        keyed.clock().advance(Duration::from_secs(1));
        assert_eq!(keyed.sweep(), 50_000);
        let left = BYTES.with(Cell::get).saturating_sub(empty);
        assert!(left < full / 50, "{left} of {full} bytes");
    }

    /// Nor does a key that is refused for ever, or for want of room.
    #[test]
    fn a_key_that_is_not_inserted_allocates_nothing() {
        for overflow in OVERFLOWS {
            let builder = Keyed::<String>::builder(quota!("1/h burst 5")).max_keys(1).overflow(overflow);
            let keyed = builder.clock(Manual::new()).build().unwrap();
            assert_eq!(keyed.try_acquire("the only one"), Ok(()));
            let count = allocations(|| {
                let _ = black_box(keyed.try_acquire("another"));
                let _ = black_box(keyed.try_acquire_n("another", 6));
                let _ = black_box(keyed.try_acquire_n("another", 0));
                black_box(keyed.peek("another").is_none());
                keyed.refund("another", 1);
            });
            assert_eq!(count, 0, "{overflow:?}");
        }
    }
}

#[cfg(feature = "budget")]
mod budget {
    use super::*;
    use tollgate::budget::{
        AllOf, Calibrated, Call, Carry, Ceilings, CharsPerToken, CountTokens, History, OutputEstimator,
        Percentile, Planned, Price, Ratio, Run, Tier, Usage, Weights,
    };

    #[test]
    fn estimating_and_learning_of_known_keys_allocate_nothing() {
        let (calibrated, history) = (Calibrated::<String>::new(1), History::new(20).unwrap());
        let (counter, estimator) = (CharsPerToken::default(), OutputEstimator::hybrid(100));
        calibrated.observe("known", 1, 1);
        let count = allocations(|| {
            for round in 0..50 {
                for key in ["known", "without room"] {
                    calibrated.observe(key, 100, round);
                    black_box(calibrated.estimate(key, counter.count("some text")));
                }
                history.record(round);
                black_box(estimator.estimate(&history, &[None, Some(round)]));
                black_box(history.percentile(Percentile::P90));
            }
        });
        assert_eq!(count, 0);
    }

    #[test]
    fn charging_and_pricing_allocate_nothing() {
        let tier = Tier { above: 20, input: Ratio::ONE, output: Ratio::ONE };
        let price = Price::new(370_001, 1).and_then(|price| price.tier(tier)).unwrap();
        let carry = Carry::new();
        let count = allocations(|| {
            for round in 0..50 {
                let usage = Usage::new(round, 1).or(&Usage::default());
                black_box(Weights::ANTHROPIC_PRIORITY_INPUT.cost(&usage).is_ok());
                black_box(carry.charge(price.spend(&usage).unwrap_or_default()));
            }
        });
        assert_eq!(count, 0);
    }

    /// Made-up keys fill what room there is, and no more.
    #[test]
    fn learning_of_many_keys_stays_within_its_memory() {
        let calibrated = Calibrated::<u64>::new(1_000);
        let empty = BYTES.with(Cell::get);
        (0..20_000).for_each(|key| calibrated.observe(&key, 100, 100));
        let full = BYTES.with(Cell::get) - empty;
        assert!(calibrated.len() == 1_000 && full / 1_000 < 400, "{full} bytes");
    }

    /// Admitted together, refused at the look, and stepped back from.
    #[test]
    fn several_limits_at_once_allocate_nothing() {
        let (first, second) = (quota!("3/s burst 5"), quota!("2/s burst 3"));
        let (first, second) =
            (Bucket::with_clock(first, Manual::new()), Bucket::with_clock(second, Manual::new()));
        let limits = AllOf::new(["first", "second"], (&first, &second));
        let count = allocations(|| {
            for _ in 0..20 {
                let _ = black_box(limits.try_acquire([1, 1]));
                let _ = black_box(limits.try_acquire([1, 4]));
                first.clock().advance(Duration::from_millis(100));
            }
        });
        assert_eq!(count, 0);
    }

    /// One allocation of 128 bytes, whatever the ceilings; then 72 for each of four tools, and the names that are not declared.
    #[test]
    fn a_run_is_small() {
        const RUNS: usize = 1_000;
        let ceilings = Ceilings::new().calls(9).calls_of("a tool", 2).calls_of("another tool", 3);
        let mut runs = Vec::with_capacity(RUNS);
        let before = BYTES.with(Cell::get);
        let count = allocations(|| runs.extend((0..RUNS).map(|_| Run::new(&ceilings))));
        assert_eq!(count, RUNS as u64);
        let each = (BYTES.with(Cell::get) - before) / RUNS;
        assert!(each <= 128, "{each} bytes");

        let before = BYTES.with(Cell::get);
        for run in &runs {
            for tool in ["a tool", "another tool", "not declared", "nor this"] {
                assert!(run.call(Planned::new(tool)).map(Call::keep).is_ok());
            }
        }
        let each = (BYTES.with(Cell::get) - before) / RUNS;
        assert!(each <= 4 * 72 + "not declared".len() + "nor this".len(), "{each} bytes for four tools");
    }

    /// Calls of tools that have been called before, alone, side by side, and beside other limits; and those that are refused.
    #[test]
    fn a_call_of_a_known_tool_allocates_nothing() {
        let top = Run::new(&Ceilings::new().calls_of("search", 100));
        let run = top.child(&Ceilings::new().tokens(1_000));
        let (search, ask) = (Planned::new("search").tokens(3), Planned::new("ask").tokens(400));
        run.reserve([search, ask]).unwrap().into_iter().for_each(Call::keep);
        let requests = Bucket::with_clock(quota!("3/s burst 5"), Manual::new());
        let joint = run.calling("search");
        let limits = AllOf::new(["run", "requests"], (&joint, &requests));
        let count = allocations(|| {
            for _ in 0..20 {
                let _ = black_box(run.call(search).map(|call| call.settle(1, 1)));
                let _ = black_box(limits.try_acquire([1, 1]).map(drop));
                if let Ok([first, second]) = run.reserve([search, ask]) {
                    let _ = black_box(run.call(ask).map(drop).map_err(|refused| refused.ended()));
                    first.release();
                    second.settle(2, 2);
                }
                black_box((run.left(), run.spent(), run.is_over()));
            }
        });
        assert_eq!((count, top.is_over()), (0, false));
    }
}

#[cfg(feature = "upstream")]
mod upstream {
    use std::time::{Duration, SystemTime};

    use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
    use tollgate::upstream::{
        Backoff, Cost, Dimension, Mirror, Order, Provider, Reader, RetryPolicy, Router, Tries,
    };
    use tollgate::{Quota, quota};

    use super::{allocations, black_box};

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |&(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value));
        pairs.iter().map(pair).collect()
    }

    /// What stands beside the fields that are read.
    const BESIDE: [(&str, &str); 6] = [
        ("date", "Thu, 01 Jan 2026 00:00:00 GMT"),
        ("content-type", "application/json"),
        ("server", "cloudflare"),
        ("request-id", "req_0123456789"),
        ("strict-transport-security", "max-age=31536000"),
        ("retry-after", "12"),
    ];

    #[test]
    fn a_mirror_allocates_nothing_but_places_for_calls_on_their_way() {
        let quota = Quota::per_minute(1_000_000).unwrap();
        let mirror = Mirror::builder()
            .limit(Dimension::Requests, quota)
            .limit(Dimension::Tokens, quota)
            .shared()
            .build()
            .unwrap();
        let headers = headers(&[
            ("x-ratelimit-limit-requests", "1000000"),
            ("x-ratelimit-remaining-requests", "999000"),
            ("x-ratelimit-reset-requests", "60ms"),
        ]);
        let reading = Reader::new().read(StatusCode::OK, &headers, SystemTime::now());
        let cost = Cost::requests(1).with(Dimension::Tokens, 20);
        mirror.try_send(&cost).unwrap().answered(&reading);
        let found = allocations(|| {
            for _ in 0..100 {
                let sent = mirror.try_send(black_box(&cost)).unwrap();
                sent.answered(black_box(&reading));
            }
        });
        assert_eq!(found, 0);
    }

    /// One that is open, closed, probed and back; and the decision whether to try again.
    #[test]
    fn routing_and_retrying_allocate_nothing() {
        let mirror = || Mirror::builder().limit(Dimension::Requests, quota!("1000000/min")).build().unwrap();
        for order in [Order::Preference, Order::Headroom] {
            let builder = Router::builder().upstream(mirror()).upstream(mirror()).order(order);
            let router =
                builder.failures(2).cooling(Backoff::new(Duration::ZERO, Duration::ZERO)).build().unwrap();
            let (policy, headers) = (RetryPolicy::new(), headers(&[]));
            let read = |status| Reader::new().read(status, &headers, SystemTime::UNIX_EPOCH);
            let (well, ill) = (read(StatusCode::OK), read(StatusCode::BAD_GATEWAY));
            let call = |fails| {
                let (mut hops, mut tries) = (router.hops(&Cost::requests(1)), Tries::new());
                if fails && let Ok(hop) = hops.try_next() {
                    hop.answered(&ill);
                    let _retry = black_box(policy.decide(&ill, &mut tries));
                }
                if let Ok(hop) = hops.try_next() {
                    hop.answered(&well);
                    policy.succeeded(&mut tries);
                }
            };
            // Places for calls on their way.
            (0..10).for_each(|nth| call(nth % 2 == 0));
            let count = allocations(|| (0..200).for_each(|nth| call(nth % 3 == 0)));
            assert_eq!(count, 0, "{order:?}");
        }
    }

    #[test]
    fn reading_what_providers_say_allocates_nothing() {
        let openai = [
            ("x-ratelimit-limit-requests", "5000"),
            ("x-ratelimit-remaining-requests", "4999"),
            ("x-ratelimit-reset-requests", "12ms"),
            ("x-ratelimit-limit-tokens", "160000"),
            ("x-ratelimit-remaining-tokens", "159976"),
            ("x-ratelimit-reset-tokens", "9ms"),
        ];
        let anthropic = [
            ("anthropic-ratelimit-requests-limit", "4000"),
            ("anthropic-ratelimit-requests-remaining", "3999"),
            ("anthropic-ratelimit-requests-reset", "2026-01-01T00:00:01Z"),
            ("anthropic-ratelimit-input-tokens-limit", "400000"),
            ("anthropic-ratelimit-input-tokens-remaining", "399000"),
            ("anthropic-ratelimit-input-tokens-reset", "2026-01-01T00:00:01Z"),
            ("anthropic-ratelimit-output-tokens-limit", "80000"),
            ("anthropic-ratelimit-output-tokens-remaining", "80000"),
            ("anthropic-ratelimit-output-tokens-reset", "2026-01-01T00:00:00Z"),
        ];
        let github = [
            ("x-ratelimit-limit", "5000"),
            ("x-ratelimit-remaining", "4999"),
            ("x-ratelimit-reset", "1767229200"),
            ("x-ratelimit-resource", "core"),
        ];
        let sets: [(Provider, &[_], usize); 3] = [
            (Provider::OpenAi, &openai, 2),
            (Provider::Anthropic, &anthropic, 3),
            (Provider::GitHub, &github, 1),
        ];
        for (provider, fields, windows) in sets {
            let headers = headers(&[&BESIDE, fields].concat());
            for reader in [Reader::new(), Reader::of(provider)] {
                let count = allocations(|| {
                    let reading =
                        reader.read(StatusCode::TOO_MANY_REQUESTS, &headers, SystemTime::UNIX_EPOCH);
                    assert_eq!(black_box(&reading).windows().len(), windows, "{provider:?}");
                    assert!(reading.retry_after().is_some() && reading.malformed().is_empty());
                });
                assert_eq!(count, 0, "{provider:?}");
            }
        }
    }
}

#[cfg(feature = "http")]
#[test]
fn a_key_by_an_address_allocates_nothing() {
    use http::{HeaderMap, HeaderValue};
    use tollgate::http::ClientKeys;

    let mut headers = HeaderMap::new();
    headers.append("x-forwarded-for", HeaderValue::from_static("6.6.6.6, 2001:db8::7, 10.0.0.3"));
    headers
        .append("forwarded", HeaderValue::from_static("for=6.6.6.6, for=\"[2001:db8::7]:80\", for=10.0.0.3"));
    let new = ClientKeys::new;
    let keys = [
        new(),
        new().behind_x_forwarded_for(2).unwrap(),
        new().behind_forwarded(2).unwrap(),
        new().through_x_forwarded_for(["10.0.0.0/8"]).unwrap(),
        new().through_forwarded(["10.0.0.0/8"]).unwrap().header("x-api-key".parse().unwrap()),
    ];
    let count = allocations(|| {
        for keys in &keys {
            black_box(keys.key([10, 0, 0, 2].into(), black_box(&headers)));
        }
    });
    assert_eq!(count, 0);
}

#[cfg(feature = "tower")]
mod tower {
    use std::convert::Infallible;
    use std::future::{Ready, ready};
    use std::pin::{Pin, pin};
    use std::sync::Arc;
    use std::task::{Context, Poll, Waker};

    use http::{Request, Response};
    use http_body::{Body, Frame};
    use tollgate::inflight::{InFlight, NoPermit};
    use tollgate::tower::{LimitLayer, PermitLayer};
    use tollgate::{Bucket, Denied, Manual, quota};
    use tower_layer::Layer;
    use tower_service::Service;

    use super::{allocations, black_box};

    struct Empty;

    impl Body for Empty {
        type Data = &'static [u8];
        type Error = Infallible;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<&'static [u8]>, Infallible>>> {
            Poll::Ready(None)
        }
    }

    struct Serve;

    impl Service<Request<()>> for Serve {
        type Response = Response<Empty>;
        type Error = Infallible;
        type Future = Ready<Result<Response<Empty>, Infallible>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Request<()>) -> Self::Future {
            ready(Ok(Response::new(Empty)))
        }
    }

    #[test]
    fn layers_allocate_nothing_for_who_need_not_wait() {
        let bucket = Bucket::with_clock(quota!("10/s"), Manual::new());
        let limit = LimitLayer::by(bucket, |_: &Request<()>, _: Denied| Response::new(Empty));
        let running = Arc::new(InFlight::new(1).unwrap());
        let permits =
            PermitLayer::shedding(running, |_: &Request<()>, _: NoPermit| Response::new(Empty.into()));
        let mut service = permits.layer(limit.layer(Serve));
        let context = &mut Context::from_waker(Waker::noop());
        let count = allocations(|| {
            for _ in 0..20 {
                assert!(service.poll_ready(context).is_ready());
                let answer = pin!(service.call(Request::new(()))).poll(context);
                black_box(answer.is_ready());
            }
        });
        assert_eq!(count, 0, "ten are admitted and ten are refused");
    }
}
