-- tollgate's shared buckets for LuaJIT. The declarations are those of capi/include/tollgate.h.

local ffi = require "ffi"

ffi.cdef [[
typedef struct tollgate_region tollgate_region;
typedef struct tollgate_bucket tollgate_bucket;

int32_t tollgate_region_open(const char *path, uint64_t slots, uint32_t mode, tollgate_region **out);
void tollgate_region_free(tollgate_region *region);
int32_t tollgate_bucket_open(
    const tollgate_region *region, const char *name, const char *quota, tollgate_bucket **out);
void tollgate_bucket_free(tollgate_bucket *bucket);
int32_t tollgate_bucket_try_acquire_n(const tollgate_bucket *bucket, uint64_t cost, uint64_t *wait_nanos);
int32_t tollgate_bucket_charge(const tollgate_bucket *bucket, uint64_t cost);
int32_t tollgate_bucket_refund(const tollgate_bucket *bucket, uint64_t cost);
uint64_t tollgate_retry_after_seconds(uint64_t wait_nanos);
const char *tollgate_error(void);
]]

local OK, NEVER = 0, 2

local library = ffi.load(os.getenv("TOLLGATE_LIBRARY") or "tollgate_capi")
local wait = ffi.new("uint64_t[1]")

local function done(status)
    if status < 0 then
        error("tollgate: " .. ffi.string(library.tollgate_error()), 2)
    end
end

local Bucket = {}
Bucket.__index = Bucket

-- Takes `cost` tokens now, all or none: true; or false and the seconds after which to come back, at least 1; or false and
-- nothing if it never will fit.
function Bucket:try_acquire(cost)
    local status = library.tollgate_bucket_try_acquire_n(self.handle, cost, wait)
    done(status)
    if status == OK then
        return true
    end
    if status == NEVER then
        return false
    end
    return false, tonumber(library.tollgate_retry_after_seconds(wait[0]))
end

-- Takes `cost` tokens that have been spent already, there or not.
function Bucket:charge(cost)
    done(library.tollgate_bucket_charge(self.handle, cost))
end

-- Gives `cost` tokens back.
function Bucket:refund(cost)
    done(library.tollgate_bucket_refund(self.handle, cost))
end

local Region = {}
Region.__index = Region

-- The bucket with this name, the same in all workers.
function Region:bucket(name, quota)
    local out = ffi.new("tollgate_bucket *[1]")
    done(library.tollgate_bucket_open(self.handle, name, quota, out))
    return setmetatable({ handle = ffi.gc(out[0], library.tollgate_bucket_free) }, Bucket)
end

local tollgate = {}

-- Opens the file of limits, and makes it, with room for so many buckets, if it is not there.
function tollgate.open(path, slots)
    local out = ffi.new("tollgate_region *[1]")
    done(library.tollgate_region_open(path, slots, tonumber("600", 8), out))
    return setmetatable({ handle = ffi.gc(out[0], library.tollgate_region_free) }, Region)
end

return tollgate
