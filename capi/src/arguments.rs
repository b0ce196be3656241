//! What C passes, as Rust wants it.

use core::ffi::{CStr, c_char};
use core::slice;

use tollgate::Quota;

use crate::outcome::{Failure, Status};

/// The longest slice there may be.
const MOST_BYTES: usize = isize::MAX as usize;

/// What a pointer points to.
///
/// # Safety
///
/// It is null, or points to a `T` that nobody changes or frees while `'a` lasts.
pub(crate) unsafe fn borrowed<'a, T>(pointer: *const T, name: &str) -> Result<&'a T, Failure> {
    // SAFETY: as the caller promises.
    unsafe { pointer.as_ref() }.ok_or_else(|| is_null(name))
}

/// A text that ends with a zero.
///
/// # Safety
///
/// It is null, or points to bytes up to a zero that nobody changes or frees while `'a` lasts.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, name: &str) -> Result<&'a str, Failure> {
    if pointer.is_null() {
        return Err(is_null(name));
    }
    // SAFETY: as the caller promises.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|error| Failure::new(Status::TollgateNotUtf8, format!("{name}: {error}")))
}

/// The quota that a text is of.
///
/// # Safety
///
/// As [`text`].
pub(crate) unsafe fn quota(pointer: *const c_char) -> Result<Quota, Failure> {
    // SAFETY: as the caller promises.
    let text = unsafe { text(pointer, "quota") }?;
    text.parse().map_err(|error| Failure::invalid(format!("quota: {error}")))
}

/// Bytes of any kind; null is as good as another pointer where there are none.
///
/// # Safety
///
/// It is null, or points to so many bytes that nobody changes or frees while `'a` lasts.
pub(crate) unsafe fn bytes<'a>(pointer: *const u8, len: usize, name: &str) -> Result<&'a [u8], Failure> {
    match (pointer.is_null(), len) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(is_null(name)),
        (_, 1..=MOST_BYTES) => {
            // SAFETY: as the caller promises; it is not null, and within what a slice may be long.
            Ok(unsafe { slice::from_raw_parts(pointer, len) })
        }
        _ => Err(Failure::invalid(format!("{name}: a length of {len} is not in 0..={MOST_BYTES}"))),
    }
}

/// Where a new handle goes.
pub(crate) struct Place<T>(*mut *mut T);

impl<T> Place<T> {
    /// A place that says null, until something is made.
    ///
    /// # Safety
    ///
    /// It is null, or points to where a pointer may be written until the place is filled.
    pub(crate) unsafe fn new(pointer: *mut *mut T) -> Result<Self, Failure> {
        if pointer.is_null() {
            return Err(is_null("out"));
        }
        // SAFETY: as the caller promises.
        unsafe { pointer.write(core::ptr::null_mut()) };
        Ok(Self(pointer))
    }

    pub(crate) fn fill(self, made: T) -> Result<Status, Failure> {
        // SAFETY: as whoever made the place promised.
        unsafe { self.0.write(Box::into_raw(Box::new(made))) };
        Ok(Status::TollgateOk)
    }
}

/// Writes a value where it is wanted.
///
/// # Safety
///
/// It is null, or points to where a `T` may be written.
pub(crate) unsafe fn put<T>(pointer: *mut T, value: T) {
    if !pointer.is_null() {
        // SAFETY: as the caller promises.
        unsafe { pointer.write(value) };
    }
}

/// Frees what [`Place::fill`] has made.
///
/// # Safety
///
/// It is null, or a handle of this kind that was not freed before and that nobody else uses.
pub(crate) unsafe fn free<T>(pointer: *mut T) {
    if !pointer.is_null() {
        // SAFETY: as the caller promises: it came from `Box::into_raw`.
        drop(unsafe { Box::from_raw(pointer) });
    }
}

fn is_null(name: &str) -> Failure {
    Failure::new(Status::TollgateNull, format!("{name} is null"))
}
