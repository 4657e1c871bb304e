-- Bars what is stored for an identity, and what will be stored until the buffer is over.
--
-- KEYS[1]  watermark key
-- ARGV[1]  buffer in milliseconds, decimal
--
-- Replies  1  the watermark is at least the server's time plus the buffer, and will be kept until
--             a minute after it has passed
--
-- Neither the watermark nor its TTL ever gets smaller.

-- Redis before 7 can be configured to replicate scripts as text, where TIME forbids writes.
if redis.replicate_commands then
  redis.replicate_commands()
end

local MARGIN_MS = 60000
-- Keeps the server's time plus a TTL inside its 64 bits, whatever stands in the watermark.
local MAX_TTL_MS = 9007199254740991

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local mark = now + tonumber(ARGV[1])
local old = redis.call('GET', KEYS[1])
local raise = true
if old and string.match(old, '^%d+$') and tonumber(old) >= mark then
  mark = tonumber(old)
  raise = false
end

local keep = string.format('%.0f', math.min(mark - now + MARGIN_MS, MAX_TTL_MS))
local left = redis.call('PTTL', KEYS[1])
-- -2 is a missing key, -1 one that never expires.
local extend = left == -2 or (left >= 0 and left < tonumber(keep))

if raise and extend then
  redis.call('SET', KEYS[1], string.format('%.0f', mark), 'PX', keep)
elseif raise then
  redis.call('SET', KEYS[1], string.format('%.0f', mark), 'KEEPTTL')
elseif extend then
  redis.call('PEXPIRE', KEYS[1], keep)
end
return 1
