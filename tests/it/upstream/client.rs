//! `upstream::Throttle`: who waits, who is sent, and what answers do to those who wait.

use std::cell::{Cell, RefCell};
use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use tokio::time::{Instant, sleep};
use tollgate::upstream::{
    AdaptiveRate, Call, Class, Cost, Dimension, Heard, Mirror, NotSent, Provider, Reader, Refused,
    RetryBudget, RetryPolicy, RunError, Throttle, Tries,
};
use tollgate::wait::{Timer, TokioClock, TokioTimer};
use tollgate::{Manual, Quota, quota};

const ONE: Cost = Cost::requests(1);
const SECOND: Duration = Duration::from_secs(1);

fn mirror(quota: Quota) -> Mirror<TokioClock> {
    let builder = Mirror::builder().limit(Dimension::Requests, quota).clock(TokioClock::new());
    builder.build().unwrap()
}

fn throttle(quota: Quota) -> Throttle<TokioTimer, TokioClock> {
    Throttle::new(mirror(quota), TokioTimer)
}

fn fields<const N: usize>(fields: [(&'static str, &'static str); N]) -> HeaderMap {
    let field = |(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value));
    fields.into_iter().map(field).collect()
}

fn fine(call: Call<TokioClock>) -> Heard {
    call.answered(StatusCode::OK, &HeaderMap::new(), b"")
}

fn left(throttle: &Throttle<TokioTimer, TokioClock>) -> u64 {
    throttle.mirror().level(Dimension::Requests).unwrap().available()
}

/// Polls once.
fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[tokio::test(start_paused = true)]
async fn a_run_waits_sends_and_learns_from_the_answer() {
    let throttle = throttle(quota!("10/10s"));
    let send = || async {
        Response::builder()
            .header("x-ratelimit-limit-requests", "10")
            .header("x-ratelimit-remaining-requests", "0")
            .body("{}")
    };
    let (response, heard) = throttle.run(&ONE, send).await.unwrap();
    assert_eq!((response.status(), heard, left(&throttle)), (StatusCode::OK, Heard::Fine, 0));
    let start = Instant::now();
    throttle.run(&ONE, send).await.unwrap();
    assert!(start.elapsed() >= SECOND, "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn nobody_overtakes_whatever_the_costs() {
    let throttle = throttle(quota!("1/s burst 5"));
    fine(throttle.try_admit(&Cost::requests(5)).unwrap());
    let start = Instant::now();
    let wait = async |cost| {
        fine(throttle.admit(&Cost::requests(cost)).await.unwrap());
        start.elapsed().as_secs()
    };
    let newcomer = async {
        sleep(SECOND).await;
        // One is there, but the first in line needs four.
        assert_eq!(throttle.try_admit(&ONE).unwrap_err(), NotSent::OthersFirst);
        assert_eq!(throttle.waiting(), 3);
    };
    let (large, small, last, ()) = tokio::join!(wait(4), wait(1), wait(1), newcomer);
    assert_eq!((large, small, last, throttle.waiting()), (4, 5, 6, 0));
}

#[tokio::test(start_paused = true)]
async fn who_gives_up_leaves_the_line_and_is_charged_nothing() {
    let throttle = throttle(quota!("1/s burst 1"));
    fine(throttle.try_admit(&ONE).unwrap());
    let start = Instant::now();
    {
        let mut first = Box::pin(throttle.admit(&ONE));
        let mut second = Box::pin(throttle.admit(&ONE));
        assert!(poll(first.as_mut()).is_pending() && poll(second.as_mut()).is_pending());
        assert_eq!(throttle.waiting(), 2);
        drop(first);
        fine(second.await.unwrap());
    }
    assert_eq!((start.elapsed().as_secs(), throttle.waiting()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_too_long_is_refused_at_once_and_one_in_line_when_the_time_is_up() {
    let throttle = throttle(quota!("1/s burst 1"));
    fine(throttle.try_admit(&ONE).unwrap());
    let start = Instant::now();
    let refused = throttle.admit_within(&ONE, SECOND / 2).await.unwrap_err();
    assert_eq!((refused.wait(), start.elapsed()), (Some(SECOND), Duration::ZERO));
    let patient = throttle.admit(&ONE);
    let behind = throttle.admit_within(&ONE, SECOND * 3 / 2);
    let (patient, behind) = tokio::join!(async { fine(patient.await.unwrap()) }, behind);
    assert_eq!((patient, behind.unwrap_err()), (Heard::Fine, NotSent::TimedOut));
    assert_eq!(start.elapsed().as_millis(), 1500);
}

#[tokio::test(start_paused = true)]
async fn the_line_has_an_end() {
    let throttle = throttle(quota!("1/s burst 1")).max_waiting(1);
    fine(throttle.try_admit(&ONE).unwrap());
    let mut first = Box::pin(throttle.admit(&ONE));
    let mut second = Box::pin(throttle.admit(&ONE));
    assert!(poll(first.as_mut()).is_pending() && poll(second.as_mut()).is_pending());
    assert_eq!(throttle.admit(&ONE).await.unwrap_err(), NotSent::LineFull { depth: 1 });
}

#[tokio::test(start_paused = true)]
async fn retry_after_pauses_everyone_at_once() {
    let throttle = throttle(quota!("100/s"));
    let (refused, other) = (throttle.try_admit(&ONE).unwrap(), throttle.clone());
    let heard = refused.answered(StatusCode::TOO_MANY_REQUESTS, &fields([("retry-after", "7")]), b"not JSON");
    assert_eq!(heard, Heard::RetryAfter(SECOND * 7));
    assert_eq!(other.try_admit(&ONE).unwrap_err(), NotSent::Refused(Refused::Paused { wait: SECOND * 7 }));
    assert!(other.admit_within(&ONE, SECOND * 6).await.unwrap_err().is_for_now());
    let start = Instant::now();
    fine(other.admit(&ONE).await.unwrap());
    assert!(start.elapsed() >= SECOND * 7);
}

#[tokio::test(start_paused = true)]
async fn those_who_wait_hear_at_once_that_no_wait_helps() {
    let throttle = throttle(quota!("1/min burst 2"));
    let (on_its_way, last) = (throttle.try_admit(&ONE).unwrap(), throttle.try_admit(&ONE).unwrap());
    fine(last);
    let start = Instant::now();
    let closing = async {
        sleep(SECOND).await;
        let body = br#"{"error":{"code":"insufficient_quota"}}"#;
        on_its_way.answered(StatusCode::TOO_MANY_REQUESTS, &HeaderMap::new(), body)
    };
    let (one, two, heard) = tokio::join!(throttle.admit(&ONE), throttle.admit(&ONE), closing);
    let closed = NotSent::Refused(Refused::Terminal(Class::QuotaTerminal));
    assert_eq!((one.unwrap_err(), two.unwrap_err()), (closed, closed));
    assert_eq!((heard, start.elapsed()), (Heard::Terminal(Class::QuotaTerminal), SECOND));
    assert!(!closed.is_for_now());
    throttle.mirror().reopen();
    assert_eq!(throttle.mirror().terminal(), None);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_gives_back_lets_the_first_in_line_look_again() {
    let throttle = throttle(quota!("1/min burst 10"));
    let on_its_way = throttle.try_admit(&Cost::requests(10)).unwrap();
    let start = Instant::now();
    let cheaper = async {
        sleep(SECOND).await;
        on_its_way.answered_with(StatusCode::OK, &HeaderMap::new(), b"", &ONE)
    };
    let (admitted, _) = tokio::join!(throttle.admit(&ONE), cheaper);
    assert_eq!((fine(admitted.unwrap()), start.elapsed()), (Heard::Fine, SECOND));
    assert_eq!(left(&throttle), 8);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_fails_has_spent_the_call_and_one_that_never_sent_has_not() {
    let throttle = throttle(quota!("1/min burst 10"));
    let failed = throttle.run(&ONE, || ready(Err::<Response<&str>, _>("broken pipe"))).await;
    assert_eq!(failed.unwrap_err(), RunError::Client("broken pipe"));
    assert_eq!(left(&throttle), 9);
    throttle.try_admit(&ONE).unwrap().not_sent();
    assert_eq!(left(&throttle), 9);
    drop(throttle.try_admit(&ONE).unwrap());
    assert_eq!((left(&throttle), throttle.mirror().in_flight()), (8, 0));
    let refused = throttle.run(&Cost::requests(11), || ready(Err::<Response<&str>, _>("sent"))).await;
    let why = Refused::OverCapacity { dimension: Dimension::Requests, capacity: 10 };
    assert_eq!(refused.unwrap_err(), RunError::NotSent(NotSent::Refused(why)));
}

#[tokio::test(start_paused = true)]
async fn a_body_is_read_where_it_says_something_about_limits() {
    let body = br#"{"error":{"code":"insufficient_quota"}}"#;
    let throttle = throttle(quota!("100/s"));
    assert_eq!(
        throttle.try_admit(&ONE).unwrap().answered(StatusCode::OK, &HeaderMap::new(), body),
        Heard::Fine
    );
    let points = Mirror::builder().limit(Dimension::Points, quota!("1000/20s")).clock(TokioClock::new());
    let throttle =
        Throttle::new(points.build().unwrap(), TokioTimer).with_reader(Reader::of(Provider::Shopify));
    let body = br#"{"extensions":{"cost":{"requestedQueryCost":10,"actualQueryCost":10,
        "throttleStatus":{"maximumAvailable":1000,"currentlyAvailable":40,"restoreRate":50}}}}"#;
    let call = throttle.try_admit(&Cost::of(Dimension::Points, 10)).unwrap();
    let _heard = call.answered(StatusCode::OK, &HeaderMap::new(), body);
    assert_eq!(throttle.mirror().level(Dimension::Points).unwrap().available(), 40);
}

#[tokio::test(start_paused = true)]
async fn the_head_of_a_stream_is_heard_at_once_and_its_usage_at_the_end() {
    let quota = quota!("6000/min");
    let mirror = Mirror::builder().limit(Dimension::Tokens, quota).limit(Dimension::OutputTokens, quota);
    let throttle = Throttle::new(mirror.clock(TokioClock::new()).build().unwrap(), TokioTimer);
    let left = || {
        [Dimension::Tokens, Dimension::OutputTokens]
            .map(|dimension| throttle.mirror().level(dimension).unwrap().available())
    };
    let told = |remaining| {
        fields([("x-ratelimit-limit-tokens", "6000"), ("x-ratelimit-remaining-tokens", remaining)])
    };
    let cost = Cost::of(Dimension::Tokens, 500).with(Dimension::OutputTokens, 1000);

    let mut stream = throttle.try_admit(&cost).unwrap();
    assert_eq!(left(), [5500, 5000]);
    assert_eq!(stream.head(StatusCode::OK, &told("2000")), Heard::Fine);
    assert_eq!(left(), [2000, 5000], "what the head tells of has been counted; the rest is still to come");
    sleep(SECOND * 10).await;
    assert_eq!(left(), [3000, 5000], "what was told is 10 s old and refilled since");
    // 100 of tokens beyond what was counted, and 600 of output less than expected.
    let used = Cost::of(Dimension::Tokens, 600).with(Dimension::OutputTokens, 400);
    stream.settled(&used);
    assert_eq!((left(), throttle.mirror().in_flight()), ([2900, 5600], 0));

    // What an upstream has counted it may not give back, and what came after outranks it.
    let (mut stream, later) = (throttle.try_admit(&cost).unwrap(), throttle.try_admit(&cost).unwrap());
    let _heard = stream.head(StatusCode::OK, &told("2400"));
    let _heard = later.answered(StatusCode::OK, &told("1900"), b"");
    assert_eq!(left(), [1900, 3600]);
    stream.settled(&Cost::of(Dimension::Tokens, 1));
    assert_eq!((left(), throttle.mirror().in_flight()), ([1900, 4600], 0));

    // A stream that is cut off is charged as it was expected.
    let mut stream = throttle.try_admit(&cost).unwrap();
    let _heard = stream.head(StatusCode::OK, &told("1400"));
    drop(stream);
    assert_eq!((left(), throttle.mirror().in_flight()), ([1400, 3600], 0));
}

fn adaptive(base: Quota) -> AdaptiveRate<TokioClock> {
    AdaptiveRate::builder(base).build_with_clock(TokioClock::new()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_rate_that_adapts_stands_beside_the_mirror_and_hears_the_same() {
    let rate = adaptive(quota!("1/s burst 1"));
    let throttle = throttle(quota!("100/h")).with_rate(rate.clone());
    let call = throttle.try_admit(&ONE).unwrap();
    let held = throttle.try_admit(&ONE).unwrap_err();
    assert!(matches!(held, NotSent::HeldBack(_)) && held.is_for_now(), "{held:?}");
    assert_eq!((left(&throttle), held.wait()), (99, Some(SECOND)), "what is held back costs nothing");
    let heard = call.answered(StatusCode::TOO_MANY_REQUESTS, &HeaderMap::new(), b"");
    assert_eq!((heard, rate.permille()), (Heard::Limited(None), 500));
    let start = Instant::now();
    fine(throttle.admit(&ONE).await.unwrap());
    assert!(start.elapsed() >= SECOND);
}

#[tokio::test(start_paused = true)]
async fn after_a_pause_one_call_goes_first_and_its_answer_wakes_the_next() {
    let unlimited = Mirror::builder().clock(TokioClock::new()).build().unwrap();
    let rate = adaptive(quota!("100/s burst 5"));
    let throttle = Throttle::new(unlimited, TokioTimer).with_rate(rate);
    let refused = throttle.try_admit(&ONE).unwrap();
    let _heard = refused.answered(StatusCode::TOO_MANY_REQUESTS, &fields([("retry-after", "5")]), b"");
    let start = Instant::now();
    let probe = async {
        let call = throttle.admit(&ONE).await.unwrap();
        let sent = start.elapsed();
        sleep(Duration::from_millis(70)).await;
        fine(call);
        sent
    };
    let next = async {
        sleep(SECOND).await;
        fine(throttle.admit(&ONE).await.unwrap());
        start.elapsed()
    };
    let (probe, next) = tokio::join!(probe, next);
    assert!(probe.as_secs() == 5 && next >= probe + Duration::from_millis(70), "{probe:?}, {next:?}");
    assert!(next < probe + SECOND, "it does not wait for a probe that has come back: {next:?}");
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_stalls_slows_a_rate_that_adapts() {
    let rate = adaptive(quota!("100/s burst 5"));
    let throttle = throttle(quota!("100/s")).with_rate(rate.clone());
    let mut stream = throttle.try_admit(&ONE).unwrap();
    let _heard = stream.head(StatusCode::OK, &HeaderMap::new());
    sleep(SECOND * 9).await;
    stream.progress();
    sleep(SECOND * 9).await;
    assert!(!stream.is_stalled());
    sleep(SECOND).await;
    assert!(stream.is_stalled());
    stream.timed_out();
    assert_eq!((rate.permille(), throttle.mirror().in_flight()), (800, 0));
}

/// Responses in turn.
fn in_turn(statuses: &'static [u16]) -> impl FnMut() -> Ready<Result<Response<&'static str>, &'static str>> {
    let mut left = statuses.iter();
    move || match left.next() {
        None | Some(0) => ready(Err("reset")),
        Some(429) => ready(Ok(Response::builder().status(429).header("retry-after", "3").body("").unwrap())),
        Some(status) => ready(Ok(Response::builder().status(*status).body("").unwrap())),
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_call_is_tried_again_as_the_policy_allows_and_charged_each_time() {
    let throttle = throttle(quota!("100/h"));
    let budget = RetryBudget::new(10, 5, 1).unwrap();
    let policy = RetryPolicy::new().retries(3).budget(budget.clone());
    let run = async |statuses| {
        let (mut tries, start) = (Tries::new(), Instant::now());
        let done = throttle.run_retrying(&ONE, &policy, &mut tries, in_turn(statuses)).await;
        (done.map(|(response, heard)| (response.status().as_u16(), heard)), tries.retries(), start.elapsed())
    };
    let (done, retries, took) = run(&[429, 500, 200]).await;
    assert_eq!((done, retries), (Ok((200, Heard::Fine)), 2));
    assert!(took >= SECOND * 3, "the hint is not undercut: {took:?}");
    assert_eq!(left(&throttle), 97);
    // The budget has one token, from the success; a retry costs five.
    assert_eq!(budget.available(), 1);
    let (done, retries, took) = run(&[0, 200]).await;
    assert_eq!((done, retries, took), (Err(RunError::Client("reset")), 0, Duration::ZERO));
    let (done, retries, _) = run(&[404, 200]).await;
    assert_eq!((done, retries), (Ok((404, Heard::Fine)), 0));
}

/// Counts the sleeps.
#[derive(Clone, Default)]
struct Counted(Rc<Cell<u32>>);

impl Timer for Counted {
    type Sleep = <TokioTimer as Timer>::Sleep;

    fn sleep(&self, span: Duration) -> Self::Sleep {
        self.0.set(self.0.get() + 1);
        TokioTimer.sleep(span)
    }
}

#[tokio::test(start_paused = true)]
async fn a_crowd_that_waits_is_not_woken_by_every_answer() {
    let timer = Counted::default();
    let throttle = Throttle::new(mirror(quota!("10/s burst 1")), timer.clone());
    let (start, one_by_one) = (Instant::now(), RefCell::new(Vec::new()));
    let waiting = async |number: u32| {
        fine(throttle.admit(&ONE).await.unwrap());
        one_by_one.borrow_mut().push(number);
    };
    let mut crowd: Vec<_> = (0..100).map(|number| Box::pin(waiting(number))).collect();
    let mut polls = 0;
    while !crowd.is_empty() {
        crowd.retain_mut(|one| poll(one.as_mut()).is_pending());
        polls += 1;
        sleep(Duration::from_millis(100)).await;
    }
    assert!(one_by_one.borrow().is_sorted());
    assert!((9..=10).contains(&start.elapsed().as_secs()) && polls <= 101, "{:?}, {polls}", start.elapsed());
    // Whoever comes first sleeps once, or twice if an answer came meanwhile.
    assert!(timer.0.get() <= 200, "{} sleeps", timer.0.get());
}

/// A timer under which an answer arrives after the mirror was asked and before the sleep is looked at.
struct Meanwhile<'a>(&'a RefCell<Option<Call<Manual>>>);

impl Timer for Meanwhile<'_> {
    type Sleep = Pin<Box<dyn Future<Output = ()>>>;

    fn sleep(&self, _: Duration) -> Self::Sleep {
        if let Some(call) = self.0.take() {
            call.not_sent();
        }
        Box::pin(std::future::pending())
    }
}

#[test]
fn an_answer_between_the_question_and_the_sleep_is_not_missed() {
    let on_its_way = RefCell::new(None);
    let mirror = Mirror::builder().limit(Dimension::Requests, quota!("1/min burst 1"));
    let mirror = mirror.clock(Manual::new()).build().unwrap();
    let throttle = Throttle::new(mirror, Meanwhile(&on_its_way));
    on_its_way.replace(Some(throttle.try_admit(&ONE).unwrap()));
    let mut waiting = Box::pin(throttle.admit(&ONE));
    let Poll::Ready(Ok(call)) = poll(waiting.as_mut()) else { panic!("it sleeps on") };
    call.not_sent();
}

#[test]
fn refusals_say_what_is_wrong() {
    let refused = NotSent::Refused(Refused::Paused { wait: SECOND });
    assert_eq!(RunError::<&str>::NotSent(refused).to_string(), "not sent: the upstream asked to wait: 1s");
    assert_eq!(RunError::Client("reset").to_string(), "sent, and failed: reset");
    assert_eq!(NotSent::LineFull { depth: 3 }.to_string(), "3 wait to send already");
    for why in [NotSent::OthersFirst, NotSent::TimedOut] {
        assert!(why.is_for_now() && why.wait().is_none() && !why.to_string().is_empty());
    }
}

const fn is_send<T: Send>(_: &T) {}

#[test]
fn what_waits_and_what_is_on_its_way_can_be_sent_to_other_threads() {
    let throttle = Throttle::new(Mirror::builder().build().unwrap(), TokioTimer);
    is_send(&throttle.admit(&ONE));
    is_send(&throttle.try_admit(&ONE).unwrap());
    is_send(&throttle.run(&ONE, || -> Ready<Result<Response<&str>, ()>> { ready(Err(())) }));
}
