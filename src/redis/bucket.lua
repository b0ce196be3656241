-- A token bucket to a key, on the server's clock. See the module's docs for the scale and what is kept. KEYS:
-- buckets. ARGV: the verb, then p, q and the capacity in units of each bucket, then what the verb asks for.

local MOST = 9007199254740991

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- What is kept of a bucket, brought to the present. A key that is not there is a bucket that is full.
local function load(at)
  local bucket = {
    key = KEYS[at],
    p = tonumber(ARGV[3 * at - 1]),
    q = tonumber(ARGV[3 * at]),
    capacity = tonumber(ARGV[3 * at + 1]),
  }
  local kept = redis.call('GET', bucket.key)
  if not kept then
    bucket.deficit, bucket.last, bucket.hold, bucket.born, bucket.given = 0, now, 0, now, 0
    return bucket
  end
  local deficit, last, hold, born, given, q = string.match(kept, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+)$')
  if not q then
    return nil
  end
  bucket.deficit, bucket.last, bucket.hold = tonumber(deficit), tonumber(last), tonumber(hold)
  bucket.born, bucket.given = tonumber(born), tonumber(given)
  -- With another quota the tokens that are missing stay missing, rounded against the caller.
  if tonumber(q) ~= bucket.q then
    bucket.deficit = math.min(MOST, math.ceil(bucket.deficit / tonumber(q) * bucket.q) + 1)
    bucket.born, bucket.given = now, 0
  end
  -- A clock that stepped back is one that stands.
  local passed = math.max(0, now - bucket.last)
  bucket.last = math.max(now, bucket.last)
  if passed > bucket.deficit / bucket.p then
    bucket.deficit = 0
  else
    bucket.deficit = math.max(0, bucket.deficit - bucket.p * passed)
  end
  return bucket
end

-- Writes it, to live exactly until it is full and not paused.
local function store(bucket)
  local full = math.ceil(bucket.deficit / bucket.p)
  local rest = math.max(full, bucket.hold - bucket.last)
  if rest <= 0 then
    redis.call('DEL', bucket.key)
    return
  end
  local text = string.format('%.0f %.0f %.0f %.0f %.0f %.0f',
    bucket.deficit, bucket.last, bucket.hold, bucket.born, bucket.given, bucket.q)
  redis.call('SET', bucket.key, text, 'PX', string.format('%.0f', math.max(1, math.ceil(rest / 1000))))
end

-- Microseconds until the cost would be admitted.
local function wait(bucket, cost)
  local lacking = math.max(0, bucket.deficit + cost - bucket.capacity)
  return math.max(math.ceil(lacking / bucket.p), bucket.hold - bucket.last)
end

local function charge(bucket, cost)
  bucket.deficit = math.min(MOST, bucket.deficit + cost)
end

-- What shares have admitted while there was no answer. It is told again when the answer was lost, so it makes
-- no more debt than the whole.
local function owe(bucket, cost, whole)
  local most = math.min(MOST, bucket.capacity + whole)
  bucket.deficit = math.max(bucket.deficit, math.min(most, bucket.deficit + cost))
end

-- Counts what is given back, by which a later one knows what is still due.
local function give(bucket, units)
  units = math.min(units, bucket.deficit)
  bucket.deficit = bucket.deficit - units
  bucket.given = bucket.given + units
  if bucket.given > MOST then
    bucket.born, bucket.given = now, 0
  end
end

-- As the prompt rule has it: what refill and others have not given back already.
local function due(bucket, units, at, deficit, born, given)
  if born ~= bucket.born then
    return 0
  end
  local left = deficit - (bucket.given - given)
  local passed = math.max(0, bucket.last - at)
  if left <= 0 or passed > left / bucket.p then
    return 0
  end
  return math.min(units, left - bucket.p * passed)
end

local buckets = {}
for at = 1, #KEYS do
  buckets[at] = load(at)
  if not buckets[at] then
    return redis.error_reply('TOLLGATE ' .. KEYS[at] .. ' holds something else')
  end
end
local asked = 3 * #KEYS + 1
local function number(at)
  return tonumber(ARGV[asked + at])
end

-- The estimate and the true cost, then when it was charged and what the bucket was then: six numbers.
local function settle(bucket, at)
  local estimate, actual = number(at + 1), number(at + 2)
  if actual > estimate then
    charge(bucket, actual - estimate)
  else
    give(bucket, due(bucket, estimate - actual, number(at + 3), number(at + 4), number(at + 5), number(at + 6)))
  end
end

-- All verbs but 'acquire' and 'settle' are about one bucket.
local verb, bucket = ARGV[1], buckets[1]

if verb == 'acquire' then
  -- All or none: a cost for each bucket. The answer is 0 and what a later settlement needs, or the bucket
  -- that refuses for the longest and its wait.
  local longest, refusing = 0, 0
  for at = 1, #buckets do
    local long = wait(buckets[at], number(at))
    if long > longest then
      longest, refusing = long, at
    end
  end
  if refusing > 0 then
    return { refusing, longest }
  end
  local answer = { 0 }
  for at = 1, #buckets do
    charge(buckets[at], number(at))
    store(buckets[at])
    for _, figure in ipairs({ buckets[at].last, buckets[at].deficit, buckets[at].born, buckets[at].given }) do
      answer[#answer + 1] = figure
    end
  end
  return answer
elseif verb == 'lend' then
  if bucket.hold > bucket.last then
    return 0
  end
  local there = math.max(0, math.floor((bucket.capacity - bucket.deficit) / bucket.q))
  local lent = math.min(there, number(1))
  if lent > 0 then
    charge(bucket, lent * bucket.q)
    store(bucket)
  end
  return lent
elseif verb == 'draw' then
  -- A lease: at least and at most so many tokens, and in between one part in so many of what is there; first
  -- what is owed, up to a whole.
  owe(bucket, number(4), number(5))
  local paused, there = math.max(0, bucket.hold - bucket.last), 0
  if paused == 0 then
    there = math.max(0, math.floor((bucket.capacity - bucket.deficit) / bucket.q))
  end
  local lent = math.min(there, number(2), math.max(number(1), math.floor(there / number(3))))
  charge(bucket, lent * bucket.q)
  if lent > 0 or number(4) > 0 then
    store(bucket)
  end
  return { lent, there - lent, wait(bucket, bucket.q), paused }
elseif verb == 'charge' then
  charge(bucket, number(1))
elseif verb == 'owe' then
  owe(bucket, number(1), number(2))
elseif verb == 'refund' then
  give(bucket, number(1))
elseif verb == 'settle' then
  for at = 1, #buckets do
    settle(buckets[at], 6 * (at - 1))
  end
elseif verb == 'pause' then
  bucket.hold = math.max(bucket.hold, bucket.last + number(1))
elseif verb == 'resume' then
  bucket.hold = 0
elseif verb == 'reset' then
  bucket.deficit, bucket.born, bucket.given = 0, now, 0
elseif verb == 'peek' then
  return { bucket.deficit, math.max(0, bucket.hold - bucket.last) }
else
  return redis.error_reply('TOLLGATE no such verb')
end
for at = 1, #buckets do
  store(buckets[at])
end
return 0
