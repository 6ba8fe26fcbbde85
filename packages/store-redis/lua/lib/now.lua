-- The server's microseconds since the epoch, as text: Lua prints large numbers in exponent form.
local time = redis.call("TIME")
local now = string.format("%d%06d", time[1], time[2])
