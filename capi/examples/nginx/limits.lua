-- What a request costs, whose it is, and the answer to one that is too much.

local tollgate = require "tollgate"
local keys = require "keys"

local SLOTS = 1024
local BYTES_A_TOKEN = 4

local limits = {}
local buckets = {}

-- In each worker, before it serves. Only who has a key has a bucket, so that strangers cannot fill the file.
function limits.open()
    local region = tollgate.open(os.getenv("TOLLGATE_LIMITS"), SLOTS)
    for key, of in pairs(keys) do
        buckets[key] = region:bucket(of.name, of.quota)
    end
end

local function body_bytes()
    local stated = tonumber(ngx.var.http_content_length)
    if stated then
        return stated
    end
    -- It comes in chunks, or there is none.
    ngx.req.read_body()
    local data, path = ngx.req.get_body_data(), ngx.req.get_body_file()
    if not path then
        return data and #data or 0
    end
    local file = assert(io.open(path, "rb"))
    local bytes = file:seek("end")
    file:close()
    return bytes
end

local function answer(status, text)
    ngx.status = status
    ngx.header["Content-Type"] = "application/json"
    ngx.header["Content-Length"] = #text
    ngx.print(text)
    return ngx.exit(status)
end

-- Lets the request pass, or answers it.
function limits.check()
    local key = string.match(ngx.var.http_authorization or "", "^[Bb]earer +(%S+)$")
    local bucket = buckets[key or ""]
    if not bucket then
        return answer(401, '{"error":"no such API key"}\n')
    end
    local tokens = math.max(1, math.ceil(body_bytes() / BYTES_A_TOKEN))
    local admitted, seconds = bucket:try_acquire(tokens)
    if admitted then
        return
    end
    if not seconds then
        return answer(413, '{"error":"a request of ' .. tokens .. ' tokens is more than the limit ever admits"}\n')
    end
    ngx.header["Retry-After"] = seconds
    return answer(429, '{"error":"too many tokens","retry_after_seconds":' .. seconds .. '}\n')
end

return limits
