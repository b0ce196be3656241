//! Closures that run at once, one of them on the model's main thread.

use loom::thread::{self, JoinHandle};

use crate::explore::role;

/// Runs both at once.
pub fn race2<A, B>(a: impl FnOnce() -> A + Send + 'static, b: impl FnOnce() -> B + Send + 'static) -> (A, B)
where
    A: Send + 'static,
    B: Send + 'static,
{
    if role(2) == 0 {
        let b = thread::spawn(b);
        (a(), joined(b))
    } else {
        let a = thread::spawn(a);
        let b = b();
        (joined(a), b)
    }
}

/// Runs all three at once.
pub fn race3<A, B, C>(
    a: impl FnOnce() -> A + Send + 'static,
    b: impl FnOnce() -> B + Send + 'static,
    c: impl FnOnce() -> C + Send + 'static,
) -> (A, B, C)
where
    A: Send + 'static,
    B: Send + 'static,
    C: Send + 'static,
{
    match role(3) {
        0 => {
            let (b, c) = (thread::spawn(b), thread::spawn(c));
            (a(), joined(b), joined(c))
        }
        1 => {
            let (c, a) = (thread::spawn(c), thread::spawn(a));
            let b = b();
            (joined(a), b, joined(c))
        }
        _ => {
            let (a, b) = (thread::spawn(a), thread::spawn(b));
            let c = c();
            (joined(a), joined(b), c)
        }
    }
}

fn joined<T>(thread: JoinHandle<T>) -> T {
    thread.join().expect("no thread panics")
}
