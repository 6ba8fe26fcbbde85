-- Reads the record.
--
-- KEYS[1]  record
-- ARGV[1]  "1" if the outcome is wanted as well
--
-- Returns { record without steps, now, names of steps }, or nil when the record is absent.
--#include now
--#include record
local text = redis.call("GET", KEYS[1])
local r = parse(text)
-- How long there is an outcome is for Redis to say, as it is for claim: one with a TTL of 1 ms stays a little longer.
if not r or r.state == "K" or (r.state ~= "C" and gone(r, now)) then
  return false
end
local names = {}
eachStep(r.steps, function(name)
  table.insert(names, name)
end)
if ARGV[1] ~= "1" or r.state ~= "C" then
  text = string.match(text, "^[^\n]*")
end
return { text, now, names }
