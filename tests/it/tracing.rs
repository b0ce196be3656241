//! `tracing`: events for refusals, as a subscriber writes them.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use tollgate::tracing::{told, told_with_key};
use tollgate::{Bucket, Denied, Manual, quota};
use tracing::Level;
use tracing_subscriber::fmt;

/// Where the subscriber writes.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What is written while that is done, for those who listen at the level.
fn written(level: Level, act: impl FnOnce()) -> Vec<String> {
    let written = Written::default();
    let writer = written.clone();
    let subscriber = fmt()
        .with_max_level(level)
        .without_time()
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::with_default(subscriber, act);
    let bytes = written.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap().lines().map(|line| line.trim().to_string()).collect()
}

#[test]
fn one_event_for_each_refusal_and_none_for_what_is_admitted() {
    let bucket = Bucket::with_clock(quota!("2/s"), Manual::new());
    let refuse = told("api", |request: &str, denied: Denied| format!("{request}: {denied}"));
    let ask = |cost| bucket.try_acquire_n(cost).map_err(|denied| refuse("GET /", denied));
    let events = written(Level::DEBUG, || {
        assert_eq!([ask(1), ask(1)], [Ok(()), Ok(())]);
        assert_eq!(ask(1), Err("GET /: not yet: try again in 500ms".to_string()));
        assert!(ask(9).is_err());
    });
    assert_eq!(
        events,
        [
            "DEBUG tollgate: refused limit=\"api\" reason=not yet: try again in 500ms",
            "DEBUG tollgate: refused limit=\"api\" reason=cost 9 is above the capacity of 2 and will never be admitted",
        ]
    );
    assert_eq!(written(Level::INFO, || assert!(ask(1).is_err())), [""; 0]);
}

#[test]
fn a_key_is_told_only_where_it_is_asked_for() {
    let bucket = Bucket::with_clock(quota!("1/h"), Manual::new());
    bucket.try_acquire().unwrap();
    let denied = bucket.try_acquire().unwrap_err();
    let looks = std::cell::Cell::new(0);
    let key = |request: &str| {
        looks.set(looks.get() + 1);
        request.to_uppercase()
    };
    let refuse = told_with_key("clients", key, |_: &str, _: Denied| 429);
    assert_eq!(written(Level::WARN, || assert_eq!(refuse("ann", denied), 429)), [""; 0]);
    assert_eq!(looks.get(), 0, "nobody listens");
    let events = written(Level::TRACE, || assert_eq!(refuse("ann", denied), 429));
    let text = "DEBUG tollgate: refused limit=\"clients\" key=ANN reason=not yet: try again in 3600s";
    assert_eq!(events, [text]);
}
