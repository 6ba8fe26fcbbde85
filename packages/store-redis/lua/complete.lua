-- Stores the outcome if the token is current.
--
-- KEYS[1]  record
-- ARGV[1]  token
-- ARGV[2]  outcome
-- ARGV[3]  ttlMs
-- ARGV[4]  milliseconds after which Redis deletes the record
-- ARGV[5]  present where records linger (quorum)
--
-- Returns 1 if the record is completed under this token, now or before; else 0.
local text = redis.call("GET", KEYS[1])
if not text then
  return 0
end
--#include now
-- No steps to drop and nobody to wake: no parsing (see claim).
if not ARGV[5] and string.sub(text, 1, 5 + #ARGV[1]) == "R-- " .. ARGV[1] .. " " then
  redis.call("SET", KEYS[1], "C" .. string.sub(text, 2) .. " " .. now .. " " .. ARGV[3] .. "\n" .. ARGV[2], "PX", ARGV[4])
  return 1
end

--#include record
local r = parse(text)
if r.token ~= ARGV[1] or gone(r, now) then
  return 0
end
if r.state == "C" then
  return 1
end
local done = {}
for name, value in pairs(r) do
  done[name] = value
end
done.state, done.stepped, done.watched = "C", "-", "-"
redis.call("SET", KEYS[1], line(done) .. " " .. now .. " " .. ARGV[3] .. "\n" .. ARGV[2], "PX", ARGV[4])
wake(r)
return 1
