-- Permits for work in flight, on the server's clock. KEYS: a sorted set. ARGV: the verb, a permit, then what
-- the verb asks for. A permit is a member 'NAME:WEIGHT' scored by the microsecond at which its lease ends.
-- The member 'held' is the sum of all weights, so that it need not be added up; its score lies below any
-- time.

local key, verb, permit = KEYS[1], ARGV[1], ARGV[2]

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- Scores from here on are times: weights are at most 2^31 - 1 together.
local TIMES = '4294967296'

local function exact(number)
  return string.format('%.0f', number)
end

-- What is no permit weighs nothing.
local function weight(member)
  return tonumber(string.match(member, ':(%d+)$')) or 0
end

local held = redis.call('ZSCORE', key, 'held')
if not held and redis.call('EXISTS', key) == 1 then
  return redis.error_reply('TOLLGATE ' .. key .. ' holds something else')
end
held = tonumber(held or 0)

-- Those whose lease is over.
local over = redis.call('ZRANGEBYSCORE', key, TIMES, exact(now))
for _, member in ipairs(over) do
  held = held - weight(member)
end

if verb == 'peek' then
  return { held, math.max(0, redis.call('ZCARD', key) - 1) - #over }
end

for _, member in ipairs(over) do
  redis.call('ZREM', key, member)
end

-- Writes the sum, to live exactly until the last lease is over.
local function store()
  local last = redis.call('ZREVRANGE', key, '0', '0', 'WITHSCORES')
  if held <= 0 or not last[1] then
    redis.call('DEL', key)
    return
  end
  redis.call('ZADD', key, exact(held), 'held')
  redis.call('PEXPIRE', key, exact(math.max(1, math.ceil((tonumber(last[2]) - now) / 1000))))
end

local done = 0
if verb == 'acquire' then
  -- The limit and the lease. One that is there already was asked for twice, by a connection that sends again.
  local ends = redis.call('ZSCORE', key, permit)
  if ends or held + weight(permit) <= tonumber(ARGV[3]) then
    redis.call('ZADD', key, exact(math.max(tonumber(ends or 0), now + tonumber(ARGV[4]))), permit)
    held = held + (ends and 0 or weight(permit))
    done = 1
  end
elseif verb == 'renew' then
  local ends = redis.call('ZSCORE', key, permit)
  if ends then
    redis.call('ZADD', key, exact(math.max(tonumber(ends), now + tonumber(ARGV[3]))), permit)
    done = 1
  end
elseif verb == 'release' then
  -- A permit that is over is not there, and so gives back nothing that is another's by now.
  if redis.call('ZREM', key, permit) == 1 then
    held = held - weight(permit)
    done = 1
  end
else
  return redis.error_reply('TOLLGATE no such verb')
end
if done == 1 or #over > 0 then
  store()
end
return { done, held }
