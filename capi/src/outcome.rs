//! What calls come to, and the border that no panic crosses.

use core::cell::RefCell;
use core::ffi::{CStr, c_char};
use core::fmt;
use core::mem;
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tollgate::keyed::KeyedError;
use tollgate::shared_memory::SharedError;
use tollgate::{Denied, Nanos};

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// What a call has come to: 0 or above is an answer, below 0 something is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum Status {
    /// Done. Of a question: admitted, and the tokens are taken.
    TollgateOk = 0,
    /// Refused for now; the wait says for how long. Nothing is taken.
    TollgateNotYet = 1,
    /// Refused for good: the cost is above the capacity. Nothing is taken.
    TollgateNever = 2,
    /// A pointer is null that must not be.
    TollgateNull = -1,
    /// A text is not UTF-8.
    TollgateNotUtf8 = -2,
    /// A quota that cannot be read, a cost of 0, a name or a number out of range.
    TollgateInvalid = -3,
    /// There is something else with this name: another quota, or no bucket.
    TollgateConflict = -4,
    /// All slots of the file are taken.
    TollgateFull = -5,
    /// The file cannot be used.
    TollgateFile = -6,
    /// A mistake of the library's. What was asked for may have been done or not.
    TollgateBug = -7,
    /// There is no memory for it.
    TollgateMemory = -8,
}

/// What is in a bucket.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Level {
    /// The most that it holds, in tokens.
    pub capacity: u64,
    /// Whole tokens that are there, rounded down.
    pub available: u64,
    /// Tokens owed, rounded up.
    pub debt: u64,
    /// Nanoseconds until it is full, if nothing more is taken.
    pub full_nanos: u64,
}

/// Why a call has come to nothing.
pub(crate) struct Failure {
    status: Status,
    text: String,
}

impl Failure {
    pub(crate) fn new(status: Status, text: impl fmt::Display) -> Self {
        Self { status, text: text.to_string() }
    }

    pub(crate) fn invalid(text: impl fmt::Display) -> Self {
        Self::new(Status::TollgateInvalid, text)
    }
}

impl From<SharedError> for Failure {
    fn from(error: SharedError) -> Self {
        let status = match error {
            SharedError::Slots { .. } | SharedError::Name { .. } => Status::TollgateInvalid,
            SharedError::OtherQuota { .. } | SharedError::OtherKind { .. } => Status::TollgateConflict,
            SharedError::Full { .. } => Status::TollgateFull,
            _ => Status::TollgateFile,
        };
        Self::new(status, error)
    }
}

impl From<KeyedError> for Failure {
    fn from(error: KeyedError) -> Self {
        let status = match error {
            KeyedError::NoMemory { .. } => Status::TollgateMemory,
            _ => Status::TollgateInvalid,
        };
        Self::new(status, error)
    }
}

impl Level {
    pub(crate) fn of(level: &tollgate::Level, capacity: u64) -> Self {
        let (available, debt) = (level.available(), level.debt());
        Self { capacity, available, debt, full_nanos: nanos(level.time_to_full()) }
    }
}

/// The text about what was last wrong in this thread, empty if nothing was; valid until the next call in this thread that
/// finds something wrong. A refusal is nothing wrong. Never null.
#[unsafe(no_mangle)]
pub extern "C" fn tollgate_error() -> *const c_char {
    // Where the thread is ending there is no text.
    let text = LAST.try_with(|last| last.try_borrow().map_or(c"".as_ptr(), |text| text.as_ptr()));
    text.unwrap_or(CStr::as_ptr(c""))
}

/// A wait as whole seconds for a Retry-After field: rounded up, and never 0.
#[unsafe(no_mangle)]
pub extern "C" fn tollgate_retry_after_seconds(wait_nanos: u64) -> u64 {
    wait_nanos.div_ceil(1_000_000_000).max(1)
}

/// Does it, and tells how it went; nothing unwinds out of it.
pub(crate) fn told(act: impl FnOnce() -> Result<Status, Failure>) -> Status {
    // Unwind safety: the limiters are valid at every step of what they do, which killed processes and threads rely on too.
    match catch_unwind(AssertUnwindSafe(act)) {
        Ok(Ok(status)) => status,
        Ok(Err(failure)) => {
            note(failure.text);
            failure.status
        }
        Err(payload) => {
            // To drop it could panic again.
            mem::forget(payload);
            note("a mistake of the library's".to_owned());
            Status::TollgateBug
        }
    }
}

/// The answer to a question, and the wait in nanoseconds: 0 if admitted, the largest number for "never".
pub(crate) fn answered(answer: Result<(), Denied>) -> Result<(Status, u64), Failure> {
    match answer {
        Ok(()) => Ok((Status::TollgateOk, 0)),
        Err(denied @ Denied::ZeroCost) => Err(Failure::invalid(denied)),
        Err(denied) => Ok(match denied.wait() {
            Some(wait) => (Status::TollgateNotYet, nanos(wait)),
            None => (Status::TollgateNever, u64::MAX),
        }),
    }
}

fn nanos(duration: core::time::Duration) -> u64 {
    Nanos::from_duration(duration).as_u64()
}

fn note(text: String) {
    let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
    let _kept = LAST.try_with(|last| last.try_borrow_mut().map(|mut last| *last = text));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error() -> String {
        // SAFETY: it is a text that ends with a zero and stays until something is wrong again.
        unsafe { CStr::from_ptr(tollgate_error()) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_panic_is_answered() {
        assert_eq!(told(|| panic!("in the library")), Status::TollgateBug);
        assert_eq!(error(), "a mistake of the library's");
    }

    #[test]
    fn what_was_wrong_is_told_to_the_thread_that_asked() {
        let wrong = || told(|| Err(Failure::invalid("a \0 in it")));
        assert_eq!(wrong(), Status::TollgateInvalid);
        assert_eq!(error(), "a   in it");
        std::thread::spawn(|| assert_eq!(error(), "")).join().unwrap();
        assert_eq!(told(|| Ok(Status::TollgateOk)), Status::TollgateOk);
        assert_eq!(error(), "a   in it", "what is right leaves it");
    }

    #[test]
    fn a_wait_in_seconds_is_rounded_up_and_never_0() {
        let second = 1_000_000_000;
        let waits = [0, 1, second, second + 1, u64::MAX].map(|wait| tollgate_retry_after_seconds(wait));
        assert_eq!(waits, [1, 1, 1, 2, 18_446_744_074]);
    }
}
