-- Makes a tracked value that was just SET as a placeholder servable, unless an
-- invalidation bars it. Runs on the connection of that SET, after it.
--
-- KEYS[1]  value key
-- KEYS[2]  watermark key, in the same slot
-- ARGV[1]  nonce of the placeholder: 8 bytes
-- ARGV[2]  TTL of the value in milliseconds, decimal
--
-- Replies  0  barred by the watermark; the placeholder is gone
--          1  stamped with the server's time; the watermark outlives the value by a minute
--          2  the placeholder is not there any more: overwritten, deleted or expired
--
-- Only the first 9 bytes of the value are read or written here, so its size costs nothing.

-- Redis before 7 can be configured to replicate scripts as text, where TIME forbids writes.
if redis.replicate_commands then
  redis.replicate_commands()
end

local MARGIN_MS = 60000

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local watermark = redis.call('GET', KEYS[2])
-- What is no number bars everything: it may have been a barrier.
local barred = watermark and (not string.match(watermark, '^%d+$') or tonumber(watermark) >= now)
local own = redis.call('GETRANGE', KEYS[1], 0, 8) == '\0' .. ARGV[1]

if barred then
  -- Another writer's placeholder is left to its own stamp.
  if own then
    redis.call('UNLINK', KEYS[1])
  end
  return 0
end
if not own then
  return 2
end

local keep = tonumber(ARGV[2]) + MARGIN_MS
if not watermark then
  -- Just below this value: what an earlier watermark, now lost, may have barred stays so.
  redis.call('SET', KEYS[2], string.format('%.0f', now - 1), 'PX', string.format('%.0f', keep))
else
  local left = redis.call('PTTL', KEYS[2])
  if left >= 0 and left < keep then
    redis.call('PEXPIRE', KEYS[2], string.format('%.0f', keep))
  end
end

local high = math.floor(now / 4294967296)
redis.call('SETRANGE', KEYS[1], 0, '\1' .. struct.pack('>I4I4', high, now - high * 4294967296))
return 1
