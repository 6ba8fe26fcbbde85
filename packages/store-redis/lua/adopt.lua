-- Takes over what another server knows, or what was here before, unless something newer has come. Quorum only.
--
-- KEYS[1]  record
-- ARGV[1]  what the caller saw here, the line alone: it may be replaced whatever its fence; "" for nothing
-- ARGV[2]  the record to have, with its outcome or steps; "" for none
-- ARGV[3]  the microseconds of the server that it comes from; "" to put back what was here
-- ARGV[4]  milliseconds that records linger
--
-- Returns 1 if that record is here now, else 0.
--#include now
--#include record
local text = redis.call("GET", KEYS[1])
local seen = text and string.match(text, "^[^\n]*") or ""
if ARGV[2] == "" then
  if seen ~= ARGV[1] then
    return 0
  end
  redis.call("DEL", KEYS[1])
  return 1
end

local current, r = parse(text), parse(ARGV[2])
if current and seen ~= ARGV[1] then
  local newer, same = current.fence - r.fence, current.token == r.token and current.state == r.state
  -- Under one fence, only a completion is news.
  if newer > 0 or (newer == 0 and (same or current.state == "C" or r.state ~= "C")) then
    return newer == 0 and same and 1 or 0
  end
end

-- Times are carried over as what is left of them: clocks of two servers differ.
local shift = ARGV[3] == "" and 0 or now - ARGV[3]
r.leaseStart = digits(r.leaseStart + shift)
r.watched = "-"
local value
if r.state == "C" then
  r.extra = digits(r.extra + shift)
  value = line(r) .. " " .. r.extra .. " " .. r.ttlMs .. after(ARGV[2])
else
  value = line(r) .. r.steps
end
redis.call("SET", KEYS[1], value, "PX", digits(math.max(1, math.ceil((endsAt(r) - now) / 1000) + ARGV[4])))
wake(current)
return 1
