/* What a C program does with the interface; it returns the line of what is not so, and 0 otherwise. */
#include "tollgate.h"

#include <string.h>
#include <sys/resource.h>

#define EXPECT(so) do { if (!(so)) return __LINE__; } while (0)

static int bucket(const char *path) {
    tollgate_region *region = NULL;
    EXPECT(tollgate_region_open(path, 4, 0600, &region) == TOLLGATE_OK && region != NULL);
    tollgate_bucket *mine = NULL, *same = NULL;
    EXPECT(tollgate_bucket_open(region, "acme", "10/h burst 20", &mine) == TOLLGATE_OK);
    EXPECT(tollgate_bucket_open(region, "acme", "10/h burst 20", &same) == TOLLGATE_OK);
    tollgate_region_free(region);

    uint64_t wait = 1;
    EXPECT(tollgate_bucket_try_acquire_n(mine, 15, &wait) == TOLLGATE_OK && wait == 0);
    EXPECT(tollgate_bucket_try_acquire_n(same, 6, &wait) == TOLLGATE_NOT_YET);
    EXPECT(wait > 0 && wait <= 360000000000u);
    EXPECT(tollgate_retry_after_seconds(wait) == (wait + 999999999u) / 1000000000u);
    EXPECT(tollgate_bucket_try_acquire_n(same, 21, &wait) == TOLLGATE_NEVER && wait == UINT64_MAX);
    EXPECT(tollgate_bucket_try_acquire_n(same, 6, NULL) == TOLLGATE_NOT_YET);

    tollgate_level level;
    EXPECT(tollgate_bucket_charge(mine, 8) == TOLLGATE_OK);
    EXPECT(tollgate_bucket_peek(same, &level) == TOLLGATE_OK);
    EXPECT(level.capacity == 20 && level.available == 0 && level.debt == 3 && level.full_nanos > 0);
    EXPECT(tollgate_bucket_refund(same, 5) == TOLLGATE_OK);
    EXPECT(tollgate_bucket_peek(mine, &level) == TOLLGATE_OK && level.available == 2 && level.debt == 0);
    tollgate_bucket_free(mine);
    tollgate_bucket_free(same);
    EXPECT(strcmp(tollgate_error(), "") == 0); /* Nothing was wrong so far, a refusal least of all. */
    return 0;
}

static int table(void) {
    tollgate_table *table = NULL;
    EXPECT(tollgate_table_new("10/h burst 20", 1024, &table) == TOLLGATE_OK && table != NULL);
    const uint8_t key[] = {0xff, 0, 1};
    uint64_t wait = 1;
    EXPECT(tollgate_table_try_acquire_n(table, key, 3, 20, &wait) == TOLLGATE_OK && wait == 0);
    EXPECT(tollgate_table_try_acquire_n(table, key, 3, 1, &wait) == TOLLGATE_NOT_YET && wait > 0);
    EXPECT(tollgate_table_try_acquire_n(table, key, 2, 1, NULL) == TOLLGATE_OK);
    EXPECT(tollgate_table_try_acquire_n(table, NULL, 0, 1, NULL) == TOLLGATE_OK);
    tollgate_level level;
    EXPECT(tollgate_table_peek(table, key, 3, &level) == TOLLGATE_OK && level.available == 0);
    EXPECT(tollgate_table_peek(table, NULL, 3, &level) == TOLLGATE_NULL);
    EXPECT(tollgate_table_peek(table, key, SIZE_MAX, &level) == TOLLGATE_INVALID);
    tollgate_table_free(table);
    return 0;
}

/* A table for which there is no memory: of 2 GiB, where the process may have 1 GiB. */
static int memory(void) {
#if !defined(__SANITIZE_ADDRESS__) /* Its allocator ends the process instead. */
    struct rlimit before, little;
    EXPECT(getrlimit(RLIMIT_AS, &before) == 0);
    little = before;
    little.rlim_cur = 1 << 30;
    EXPECT(setrlimit(RLIMIT_AS, &little) == 0);
    tollgate_table *table = (tollgate_table *)8;
    EXPECT(tollgate_table_new("10/h", 1 << 28, &table) == TOLLGATE_MEMORY && table == NULL);
    EXPECT(strcmp(tollgate_error(), "there is no memory for a table of 268435456 words") == 0);
    EXPECT(setrlimit(RLIMIT_AS, &before) == 0);
#endif
    return 0;
}

static int mistakes(const char *path) {
    tollgate_region *region = (tollgate_region *)8;
    EXPECT(tollgate_region_open(NULL, 4, 0600, &region) == TOLLGATE_NULL && region == NULL);
    EXPECT(strcmp(tollgate_error(), "path is null") == 0);
    EXPECT(tollgate_region_open(path, 4, 0600, NULL) == TOLLGATE_NULL);
    EXPECT(tollgate_region_open("/no/such/folder", 4, 0600, &region) == TOLLGATE_FILE);
    EXPECT(strncmp(tollgate_error(), "cannot open /no/such/folder: ", 29) == 0);
    EXPECT(tollgate_region_open("\xff", 4, 0600, &region) == TOLLGATE_NOT_UTF8);
    EXPECT(tollgate_region_open(path, 0, 0600, &region) == TOLLGATE_INVALID);
    EXPECT(tollgate_region_open(path, 4, 0600, &region) == TOLLGATE_OK);

    tollgate_bucket *bucket = NULL, *other = NULL;
    EXPECT(tollgate_bucket_open(NULL, "acme", "10/h", &bucket) == TOLLGATE_NULL);
    EXPECT(tollgate_bucket_open(region, "acme", "ten an hour", &bucket) == TOLLGATE_INVALID);
    EXPECT(strncmp(tollgate_error(), "quota: ", 7) == 0 && bucket == NULL);
    EXPECT(tollgate_bucket_open(region, "", "10/h", &bucket) == TOLLGATE_INVALID);
    EXPECT(tollgate_bucket_open(region, "bad", "10/h", &bucket) == TOLLGATE_OK);
    EXPECT(tollgate_bucket_open(region, "bad", "11/h", &other) == TOLLGATE_CONFLICT && other == NULL);
    EXPECT(tollgate_bucket_open(region, "1", "1/h", &other) == TOLLGATE_OK);
    tollgate_bucket_free(other);
    EXPECT(tollgate_bucket_open(region, "2", "1/h", &other) == TOLLGATE_OK);
    tollgate_bucket_free(other);
    EXPECT(tollgate_bucket_open(region, "3", "1/h", &other) == TOLLGATE_FULL);

    uint64_t wait = 7;
    EXPECT(tollgate_bucket_try_acquire_n(bucket, 0, &wait) == TOLLGATE_INVALID && wait == 7);
    EXPECT(tollgate_bucket_try_acquire_n(NULL, 1, &wait) == TOLLGATE_NULL && wait == 7);
    EXPECT(tollgate_bucket_charge(NULL, 1) == TOLLGATE_NULL);
    EXPECT(tollgate_bucket_refund(NULL, 1) == TOLLGATE_NULL);
    EXPECT(tollgate_bucket_peek(NULL, NULL) == TOLLGATE_NULL);
    EXPECT(tollgate_bucket_peek(bucket, NULL) == TOLLGATE_OK);
    tollgate_table *table = NULL;
    EXPECT(tollgate_table_new("10/h", 0, &table) == TOLLGATE_INVALID && table == NULL);
    EXPECT(tollgate_table_new("10/h empty", 8, &table) == TOLLGATE_INVALID);
    EXPECT(tollgate_table_try_acquire_n(NULL, NULL, 0, 1, NULL) == TOLLGATE_NULL);
    tollgate_bucket_free(bucket);
    tollgate_region_free(region);
    tollgate_bucket_free(NULL);
    tollgate_region_free(NULL);
    tollgate_table_free(NULL);
    return 0;
}

int main(int count, char **arguments) {
    if (count != 2) return 255;
    int line = bucket(arguments[1]);
    if (line == 0) line = table();
    if (line == 0) line = memory();
    if (line == 0) line = mistakes(arguments[1]);
    return line;
}
