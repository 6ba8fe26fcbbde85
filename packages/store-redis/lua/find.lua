-- Reads the record.
--
-- KEYS[1]  record
-- KEYS[2]  steps
-- ARGV[1]  "1" if the outcome is wanted as well
--
-- Returns { record, now, names of steps }, or nil when the record is absent.
--#include now
--#include record
local text = redis.call("GET", KEYS[1])
local r = parse(text)
if gone(r, now) or r.state == "K" then
  return false
end
if ARGV[1] ~= "1" then
  text = string.match(text, "^[^\n]*")
end
return { text, now, r.stepped == "s" and redis.call("HKEYS", KEYS[2]) or {} }
