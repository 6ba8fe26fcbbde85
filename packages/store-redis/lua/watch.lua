-- Asks to be woken when the record no longer runs under a fence. It marks the record, so that nothing is published
-- for records that nobody waits for.
--
-- KEYS[1]  record
-- ARGV[1]  fence
-- ARGV[2]  channel that the caller listens on
--
-- Returns 1 if the record runs under that fence and the channel is noted, else 0.
--#include now
--#include record
local r = parse(redis.call("GET", KEYS[1]))
if gone(r, now) or r.state ~= "R" or r.fence ~= ARGV[1] then
  return 0
end
if r.watched == "-" or not string.find("," .. r.extra .. ",", "," .. ARGV[2] .. ",", 1, true) then
  r.extra = r.watched == "w" and r.extra .. "," .. ARGV[2] or ARGV[2]
  r.watched = "w"
  redis.call("SET", KEYS[1], line(r) .. r.steps, "KEEPTTL")
end
return 1
