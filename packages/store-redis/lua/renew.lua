-- Starts the lease anew if the token is current, and with it the time for which the record is remembered.
--
-- KEYS[1]  record
-- ARGV[1]  token
-- ARGV[2]  leaseMs
-- ARGV[3]  milliseconds that records linger; quorum only
--
-- Returns 1 if the lease was renewed, else 0.
--#include now
--#include record
local r = parse(redis.call("GET", KEYS[1]))
if gone(r, now) or r.state ~= "R" or r.token ~= ARGV[1] then
  return 0
end
r.leaseStart, r.leaseMs = now, ARGV[2]
redis.call("SET", KEYS[1], line(r) .. r.steps, "PX", digits(math.max(r.leaseMs, r.retainMs) + (ARGV[3] or 0)))
return 1
