//! Buckets that all processes of a machine share, by name in a mapped file.

use core::ffi::c_char;

use tollgate::shared_memory::{self, SharedBucket};

use crate::arguments::{Place, borrowed, free, put, quota, text};
use crate::outcome::{Failure, Level, Status, answered, told};

/// A file of limits that is open.
pub struct Region(shared_memory::Region);

/// A bucket in such a file. It keeps what it needs of the file.
pub struct Bucket(SharedBucket);

/// Opens the file of limits at `path`, and makes it if it is not there: with room for `slots` buckets, 1 to 65536, of 768
/// bytes each, and the permissions `mode`, less those that the umask takes. A file that is there keeps its own.
///
/// It belongs on a file system in memory, such as /dev/shm or /run.
///
/// # Safety
///
/// `path` is null or a text that ends with a zero; `out` is null or a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_region_open(
    path: *const c_char,
    slots: u64,
    mode: u32,
    out: *mut *mut Region,
) -> Status {
    told(|| {
        // SAFETY: as the caller promises.
        let (place, path) = unsafe { (Place::new(out)?, text(path, "path")?) };
        place.fill(Region(shared_memory::Region::options().slots(slots).mode(mode).open(path)?))
    })
}

/// Frees the handle. Buckets that were opened by it go on; with the last of them the file is closed.
///
/// # Safety
///
/// `region` is null or from `tollgate_region_open`, not freed, and used by nobody else.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_region_free(region: *mut Region) {
    let _told = told(|| {
        // SAFETY: as the caller promises.
        unsafe { free(region) };
        Ok(Status::TollgateOk)
    });
}

/// The bucket with this name, 1 to 64 bytes long, which is the same for all who open it; it is made if it is not there. With
/// another quota than it was made with it is refused: `TOLLGATE_CONFLICT`. A bucket is there as long as the file.
///
/// # Safety
///
/// `region` is null or a region; `name` and `quota` are null or texts that end with a zero; `out` is null or a place for a
/// pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_bucket_open(
    region: *const Region,
    name: *const c_char,
    quota: *const c_char,
    out: *mut *mut Bucket,
) -> Status {
    told(|| {
        // SAFETY: as the caller promises.
        let (place, region) = unsafe { (Place::new(out)?, borrowed(region, "region")?) };
        // SAFETY: as the caller promises.
        let (name, quota) = unsafe { (text(name, "name")?, self::quota(quota)?) };
        place.fill(Bucket(region.0.bucket(name, quota)?))
    })
}

/// Frees the handle. The bucket stays in its file.
///
/// # Safety
///
/// `bucket` is null or from `tollgate_bucket_open`, not freed, and used by nobody else.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_bucket_free(bucket: *mut Bucket) {
    let _told = told(|| {
        // SAFETY: as the caller promises.
        unsafe { free(bucket) };
        Ok(Status::TollgateOk)
    });
}

/// Takes `cost` tokens if they are there, all or none: `TOLLGATE_OK`, `TOLLGATE_NOT_YET` or `TOLLGATE_NEVER`. A cost of 0 is
/// invalid.
///
/// What is written to `wait_nanos`, if that is not null, is after how many nanoseconds the cost would fit if nobody else
/// took the tokens: 0 if admitted, the largest number if never.
///
/// # Safety
///
/// `bucket` is null or a bucket; `wait_nanos` is null or a place for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_bucket_try_acquire_n(
    bucket: *const Bucket,
    cost: u64,
    wait_nanos: *mut u64,
) -> Status {
    told(|| {
        // SAFETY: as the caller promises.
        let bucket = unsafe { borrowed(bucket, "bucket") }?;
        let (status, wait) = answered(bucket.0.try_acquire_n(cost))?;
        // SAFETY: as the caller promises.
        unsafe { put(wait_nanos, wait) };
        Ok(status)
    })
}

/// Takes `cost` tokens whether they are there or not, for work that has been done. What is not there becomes debt.
///
/// # Safety
///
/// `bucket` is null or a bucket.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_bucket_charge(bucket: *const Bucket, cost: u64) -> Status {
    // SAFETY: as the caller promises.
    unsafe {
        with(bucket, |bucket| {
            let _kept = bucket.charge(cost);
        })
    }
}

/// Gives `cost` tokens back, up to a full bucket. Each refund may widen the bound by its amount: refill may have given back
/// a part already.
///
/// # Safety
///
/// `bucket` is null or a bucket.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_bucket_refund(bucket: *const Bucket, cost: u64) -> Status {
    // SAFETY: as the caller promises.
    unsafe { with(bucket, |bucket| bucket.refund(cost)) }
}

/// Looks without taking anything.
///
/// # Safety
///
/// `bucket` is null or a bucket; `level` is null or a place for a level.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_bucket_peek(bucket: *const Bucket, level: *mut Level) -> Status {
    let look = |bucket: &SharedBucket| {
        let found = Level::of(&bucket.peek(), bucket.quota().capacity());
        // SAFETY: as the caller promises.
        unsafe { put(level, found) };
    };
    // SAFETY: as the caller promises.
    unsafe { with(bucket, look) }
}

/// # Safety
///
/// `bucket` is null or a bucket.
unsafe fn with(bucket: *const Bucket, act: impl FnOnce(&SharedBucket)) -> Status {
    told(|| {
        // SAFETY: as the caller promises.
        let bucket: Result<_, Failure> = unsafe { borrowed(bucket, "bucket") };
        act(&bucket?.0);
        Ok(Status::TollgateOk)
    })
}
