-- Reads everything that is kept of an id, also what is gone but lingers. Quorum only.
--
-- KEYS[1]  record
--
-- Returns { record or "", now }.
--#include now
return { redis.call("GET", KEYS[1]) or "", now }
