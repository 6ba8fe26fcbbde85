-- Reads everything that is kept of an id, also what is gone but lingers. Quorum only.
--
-- KEYS[1]  record
-- KEYS[2]  steps
--
-- Returns { record or "", now, steps as name, value, ... }.
--#include now
--#include record
local text = redis.call("GET", KEYS[1])
local r = parse(text)
return { text or "", now, r and r.stepped == "s" and redis.call("HGETALL", KEYS[2]) or {} }
