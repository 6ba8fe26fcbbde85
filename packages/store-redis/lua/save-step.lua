-- Records a step's result if the token is current.
--
-- KEYS[1]  record
-- KEYS[2]  steps
-- ARGV[1]  token
-- ARGV[2]  name
-- ARGV[3]  result
--
-- Returns 1 if the step was recorded, else 0.
--#include now
--#include record
local r = parse(redis.call("GET", KEYS[1]))
if gone(r, now) or r.state ~= "R" or r.token ~= ARGV[1] then
  return 0
end
if r.stepped == "-" then
  -- What is there belongs to an earlier life of this id.
  redis.call("DEL", KEYS[2])
  r.stepped = "s"
  redis.call("SET", KEYS[1], line(r), "KEEPTTL")
end
redis.call("HSET", KEYS[2], ARGV[2], ARGV[3])
redis.call("PEXPIRE", KEYS[2], redis.call("PTTL", KEYS[1]))
return 1
