-- Forgets the record and its steps, also a value that is no record.
--
-- KEYS[1]  record
-- ARGV[1]  milliseconds that records linger; quorum only
--
-- Returns 1 if there was a record to find, else 0.
--#include now
--#include record
local text = redis.call("GET", KEYS[1])
local readable, r = pcall(parse, text)
if not text then
  return 0
end
if ARGV[1] and readable then
  local left = { state = "T", stepped = "-", watched = "-", token = "-", fence = digits(r.fence + 1), attempt = "0",
    takenOver = "0", leaseStart = now, leaseMs = "0", claimedAt = now, fingerprint = "-", label = "-" }
  left.retainMs = digits(math.max(redis.call("PTTL", KEYS[1]), tonumber(ARGV[1])))
  redis.call("SET", KEYS[1], line(left), "PX", left.retainMs)
else
  redis.call("DEL", KEYS[1])
end
if not readable then
  return 1
end
wake(r)
return (gone(r, now) or r.state == "K") and 0 or 1
