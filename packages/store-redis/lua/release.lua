-- Ends the claim without an outcome if the token is current. Steps are kept.
--
-- KEYS[1]  record
-- ARGV[1]  token
-- ARGV[2]  milliseconds that records linger; quorum only
--
-- Returns 1 if the claim was ended, else 0.
--#include now
--#include record
local r = parse(redis.call("GET", KEYS[1]))
if gone(r, now) or r.state ~= "R" or r.token ~= ARGV[1] then
  return 0
end
local left = { state = "K", stepped = "s", watched = "-", token = "-", fence = digits(r.fence + 1), attempt = r.attempt,
  takenOver = "0", leaseStart = now, leaseMs = "0", retainMs = r.retainMs, claimedAt = now, fingerprint = r.fingerprint,
  label = r.label }
if r.stepped == "s" then
  redis.call("SET", KEYS[1], line(left) .. r.steps, "PX", digits(r.retainMs + (ARGV[2] or 0)))
elseif ARGV[2] then
  left.state, left.stepped = "T", "-"
  left.retainMs = digits(math.max(redis.call("PTTL", KEYS[1]), tonumber(ARGV[2])))
  redis.call("SET", KEYS[1], line(left), "PX", left.retainMs)
else
  redis.call("DEL", KEYS[1])
end
wake(r)
return 1
