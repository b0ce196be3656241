/* The C interface of tollgate. Written by cbindgen from capi/src; do not change it by hand. */

#ifndef TOLLGATE_H
#define TOLLGATE_H

#include <stddef.h>
#include <stdint.h>

/**
 * What a call has come to: 0 or above is an answer, below 0 something is wrong.
 */
enum tollgate_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Done. Of a question: admitted, and the tokens are taken.
   */
  TOLLGATE_OK = 0,
  /**
   * Refused for now; the wait says for how long. Nothing is taken.
   */
  TOLLGATE_NOT_YET = 1,
  /**
   * Refused for good: the cost is above the capacity. Nothing is taken.
   */
  TOLLGATE_NEVER = 2,
  /**
   * A pointer is null that must not be.
   */
  TOLLGATE_NULL = -1,
  /**
   * A text is not UTF-8.
   */
  TOLLGATE_NOT_UTF8 = -2,
  /**
   * A quota that cannot be read, a cost of 0, a name or a number out of range.
   */
  TOLLGATE_INVALID = -3,
  /**
   * There is something else with this name: another quota, or no bucket.
   */
  TOLLGATE_CONFLICT = -4,
  /**
   * All slots of the file are taken.
   */
  TOLLGATE_FULL = -5,
  /**
   * The file cannot be used.
   */
  TOLLGATE_FILE = -6,
  /**
   * A mistake of the library's. What was asked for may have been done or not.
   */
  TOLLGATE_BUG = -7,
  /**
   * There is no memory for it.
   */
  TOLLGATE_MEMORY = -8,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum tollgate_status tollgate_status;
#else
typedef int32_t tollgate_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * A bucket in such a file. It keeps what it needs of the file.
 */
typedef struct tollgate_bucket tollgate_bucket;

/**
 * A file of limits that is open.
 */
typedef struct tollgate_region tollgate_region;

/**
 * One word a key; each process has its own, so workers that must share limits take buckets.
 */
typedef struct tollgate_table tollgate_table;

/**
 * What is in a bucket.
 */
typedef struct tollgate_level {
  /**
   * The most that it holds, in tokens.
   */
  uint64_t capacity;
  /**
   * Whole tokens that are there, rounded down.
   */
  uint64_t available;
  /**
   * Tokens owed, rounded up.
   */
  uint64_t debt;
  /**
   * Nanoseconds until it is full, if nothing more is taken.
   */
  uint64_t full_nanos;
} tollgate_level;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Opens the file of limits at `path`, and makes it if it is not there: with room for `slots` buckets, 1 to 65536, of 768
 * bytes each, and the permissions `mode`, less those that the umask takes. A file that is there keeps its own.
 *
 * It belongs on a file system in memory, such as /dev/shm or /run.
 *
 * # Safety
 *
 * `path` is null or a text that ends with a zero; `out` is null or a place for a pointer.
 */
tollgate_status tollgate_region_open(const char *path,
                                     uint64_t slots,
                                     uint32_t mode,
                                     struct tollgate_region **out);

/**
 * Frees the handle. Buckets that were opened by it go on; with the last of them the file is closed.
 *
 * # Safety
 *
 * `region` is null or from `tollgate_region_open`, not freed, and used by nobody else.
 */
void tollgate_region_free(struct tollgate_region *region);

/**
 * The bucket with this name, 1 to 64 bytes long, which is the same for all who open it; it is made if it is not there. With
 * another quota than it was made with it is refused: `TOLLGATE_CONFLICT`. A bucket is there as long as the file.
 *
 * # Safety
 *
 * `region` is null or a region; `name` and `quota` are null or texts that end with a zero; `out` is null or a place for a
 * pointer.
 */
tollgate_status tollgate_bucket_open(const struct tollgate_region *region,
                                     const char *name,
                                     const char *quota,
                                     struct tollgate_bucket **out);

/**
 * Frees the handle. The bucket stays in its file.
 *
 * # Safety
 *
 * `bucket` is null or from `tollgate_bucket_open`, not freed, and used by nobody else.
 */
void tollgate_bucket_free(struct tollgate_bucket *bucket);

/**
 * Takes `cost` tokens if they are there, all or none: `TOLLGATE_OK`, `TOLLGATE_NOT_YET` or `TOLLGATE_NEVER`. A cost of 0 is
 * invalid.
 *
 * What is written to `wait_nanos`, if that is not null, is after how many nanoseconds the cost would fit if nobody else
 * took the tokens: 0 if admitted, the largest number if never.
 *
 * # Safety
 *
 * `bucket` is null or a bucket; `wait_nanos` is null or a place for a number.
 */
tollgate_status tollgate_bucket_try_acquire_n(const struct tollgate_bucket *bucket,
                                              uint64_t cost,
                                              uint64_t *wait_nanos);

/**
 * Takes `cost` tokens whether they are there or not, for work that has been done. What is not there becomes debt.
 *
 * # Safety
 *
 * `bucket` is null or a bucket.
 */
tollgate_status tollgate_bucket_charge(const struct tollgate_bucket *bucket,
                                       uint64_t cost);

/**
 * Gives `cost` tokens back, up to a full bucket. Each refund may widen the bound by its amount: refill may have given back
 * a part already.
 *
 * # Safety
 *
 * `bucket` is null or a bucket.
 */
tollgate_status tollgate_bucket_refund(const struct tollgate_bucket *bucket,
                                       uint64_t cost);

/**
 * Looks without taking anything.
 *
 * # Safety
 *
 * `bucket` is null or a bucket; `level` is null or a place for a level.
 */
tollgate_status tollgate_bucket_peek(const struct tollgate_bucket *bucket,
                                     struct tollgate_level *level);

/**
 * The text about what was last wrong in this thread, empty if nothing was; valid until the next call in this thread that
 * finds something wrong. A refusal is nothing wrong. Never null.
 */
const char *tollgate_error(void);

/**
 * A wait as whole seconds for a Retry-After field: rounded up, and never 0.
 */
uint64_t tollgate_retry_after_seconds(uint64_t wait_nanos);

/**
 * A table with a bucket of this quota for each key, in `words` words of 8 bytes, 1 to 2^32, which must be
 * there: eight for each key that is not full are plenty. `TOLLGATE_MEMORY` if the system has not got them.
 * Keys that find no room share one more bucket.
 *
 * # Safety
 *
 * `quota` is null or a text that ends with a zero; `out` is null or a place for a pointer.
 */
tollgate_status tollgate_table_new(const char *quota,
                                   size_t words,
                                   struct tollgate_table **out);

/**
 * Frees the table.
 *
 * # Safety
 *
 * `table` is null or from `tollgate_table_new`, not freed, and used by nobody else.
 */
void tollgate_table_free(struct tollgate_table *table);

/**
 * As `tollgate_bucket_try_acquire_n`, of the bucket of this key: `key_len` bytes of any kind.
 *
 * # Safety
 *
 * `table` is null or a table; `key` is null or points to so many bytes; `wait_nanos` is null or a place for a number.
 */
tollgate_status tollgate_table_try_acquire_n(const struct tollgate_table *table,
                                             const uint8_t *key,
                                             size_t key_len,
                                             uint64_t cost,
                                             uint64_t *wait_nanos);

/**
 * Looks at the bucket of a key without taking anything.
 *
 * # Safety
 *
 * `table` is null or a table; `key` is null or points to so many bytes; `level` is null or a place for a level.
 */
tollgate_status tollgate_table_peek(const struct tollgate_table *table,
                                    const uint8_t *key,
                                    size_t key_len,
                                    struct tollgate_level *level);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TOLLGATE_H */
