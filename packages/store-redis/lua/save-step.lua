-- Records a step's result if the token is current, in the place of one of the same name.
--
-- KEYS[1]  record
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
local steps = r.stepped == "s" and r.steps or "\n"
eachStep(steps, function(name, first, last)
  if name == ARGV[2] then
    r.steps = string.sub(steps, 1, first - 1) .. string.sub(steps, last + 1)
  end
end)
r.steps = (r.stepped == "s" and r.steps or "\n") .. #ARGV[2] .. " " .. #ARGV[3] .. "\n" .. ARGV[2] .. ARGV[3]
r.stepped = "s"
redis.call("SET", KEYS[1], line(r) .. r.steps, "KEEPTTL")
return 1
