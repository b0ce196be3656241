//! Limits by key in fixed memory of one process: keys that come by the million.

use core::ffi::c_char;

use tollgate::keyed;

use crate::arguments::{Place, borrowed, bytes, free, put, quota};
use crate::outcome::{Level, Status, answered, told};

/// One word a key; each process has its own, so workers that must share limits take buckets.
pub struct Table(keyed::Table);

/// A table with a bucket of this quota for each key, in `words` words of 8 bytes, 1 to 2^32, which must be
/// there: eight for each key that is not full are plenty. `TOLLGATE_MEMORY` if the system has not got them.
/// Keys that find no room share one more bucket.
///
/// # Safety
///
/// `quota` is null or a text that ends with a zero; `out` is null or a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_table_new(
    quota: *const c_char,
    words: usize,
    out: *mut *mut Table,
) -> Status {
    told(|| {
        // SAFETY: as the caller promises.
        let (place, quota) = unsafe { (Place::new(out)?, self::quota(quota)?) };
        place.fill(Table(keyed::Table::new(quota, words)?))
    })
}

/// Frees the table.
///
/// # Safety
///
/// `table` is null or from `tollgate_table_new`, not freed, and used by nobody else.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_table_free(table: *mut Table) {
    let _told = told(|| {
        // SAFETY: as the caller promises.
        unsafe { free(table) };
        Ok(Status::TollgateOk)
    });
}

/// As `tollgate_bucket_try_acquire_n`, of the bucket of this key: `key_len` bytes of any kind.
///
/// # Safety
///
/// `table` is null or a table; `key` is null or points to so many bytes; `wait_nanos` is null or a place for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_table_try_acquire_n(
    table: *const Table,
    key: *const u8,
    key_len: usize,
    cost: u64,
    wait_nanos: *mut u64,
) -> Status {
    told(|| {
        // SAFETY: as the caller promises.
        let (table, key) = unsafe { (borrowed(table, "table")?, bytes(key, key_len, "key")?) };
        let (status, wait) = answered(table.0.try_acquire_n(key, cost))?;
        // SAFETY: as the caller promises.
        unsafe { put(wait_nanos, wait) };
        Ok(status)
    })
}

/// Looks at the bucket of a key without taking anything.
///
/// # Safety
///
/// `table` is null or a table; `key` is null or points to so many bytes; `level` is null or a place for a level.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_table_peek(
    table: *const Table,
    key: *const u8,
    key_len: usize,
    level: *mut Level,
) -> Status {
    told(|| {
        // SAFETY: as the caller promises.
        let (table, key) = unsafe { (borrowed(table, "table")?, bytes(key, key_len, "key")?) };
        let found = Level::of(&table.0.peek(key), table.0.quota().capacity());
        // SAFETY: as the caller promises.
        unsafe { put(level, found) };
        Ok(Status::TollgateOk)
    })
}
