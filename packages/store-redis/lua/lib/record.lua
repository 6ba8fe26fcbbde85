-- A record is one value under one key: a line of text, which operators can read, and bytes after it.
--
--   R-- token fence attempt takenOver leaseStart leaseMs retainMs claimedAt fingerprint label
--   R-w ... watchers                   somebody waits: channels to wake, separated by commas
--   Rs- ... \n steps                   with steps: length of name, " ", length of result, "\n", name, result, ...
--   C-- ... completedAt ttlMs \n ...   completed, then the outcome
--   Ks- ... \n steps                   released, with its steps
--   T--                                gone, only its fence still matters (quorum)
--
-- Points in time are the server's microseconds since the epoch.
local LAYOUT = "^([RCKT])([-s])([-w]) (%S+) (%d+) (%d+) ([01]) (%d+) (%d+) (%d+) (%d+) (%S+) (%S+) ?(%S*) ?(%d*)"

local function digits(number)
  return string.format("%.0f", number)
end

-- What follows the line, with the newline between them; "" for nothing.
local function after(text)
  local newline = string.find(text, "\n", 1, true)
  return newline and string.sub(text, newline) or ""
end

-- The record as a table, nil when there is none. Raises an error when the text is no record.
local function parse(text)
  if not text then
    return nil
  end
  local r = {}
  r.state, r.stepped, r.watched, r.token, r.fence, r.attempt, r.takenOver, r.leaseStart, r.leaseMs, r.retainMs, r.claimedAt, r.fingerprint, r.label, r.extra, r.ttlMs =
    string.match(text, LAYOUT)
  if not r.state or (r.state == "C" and r.ttlMs == "") then
    error("ONCEWARD_CORRUPT the value is not a record")
  end
  r.steps = r.stepped == "s" and after(text) or ""
  return r
end

local function line(r)
  local text = table.concat({
    r.state .. r.stepped .. r.watched, r.token, r.fence, r.attempt, r.takenOver, r.leaseStart, r.leaseMs, r.retainMs,
    r.claimedAt, r.fingerprint, r.label,
  }, " ")
  return r.watched == "w" and text .. " " .. r.extra or text
end

-- Calls back with each step's name and where it begins and ends among them all.
local function eachStep(steps, callback)
  local at = 2
  while at < #steps do
    local _, headEnd, nameLength, resultLength = string.find(steps, "^(%d+) (%d+)\n", at)
    local last = headEnd and headEnd + nameLength + resultLength
    if not last or last > #steps then
      error("ONCEWARD_CORRUPT the steps can't be read")
    end
    callback(string.sub(steps, headEnd + 1, headEnd + nameLength), at, last)
    at = last + 1
  end
end

-- When the record is forgotten, in microseconds. Counted from a whole millisecond, as all who read the record do.
local function endsAt(r)
  local completed = r.state == "C"
  local start = completed and r.extra or r.leaseStart
  local forMs = completed and r.ttlMs or math.max(r.retainMs, r.leaseMs)
  return (math.floor(start / 1000) + forMs) * 1000
end

-- Whether the record is to be treated as absent. Redis deletes by itself what is past its time, except where records
-- linger for the sake of their fences (quorum).
local function gone(r, now)
  return not r or r.state == "T" or endsAt(r) <= tonumber(now)
end

-- Tells those who wait. A user who may not publish still gets everything else done: waiters then poll.
local function wake(r)
  if r and r.watched == "w" then
    for channel in string.gmatch(r.extra, "[^,]+") do
      redis.pcall("PUBLISH", channel, KEYS[1])
    end
  end
end
