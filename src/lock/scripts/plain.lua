-- What the key of the lock is on the server: a plain string, as the libraries have it that do SET NX PX and compare and
-- delete. The build puts this file in front of common.lua; what else touches the key there, its ttl, is the same for a
-- key of any type.
--
-- KEYS[1] lock   string: the holder's token, with a PX. Any other value, or a key of another
--                type, belongs to a foreign library and is never changed, except by a forced release.

local lock = KEYS[1]

local MAX_TOKEN = 512          -- bytes; a longer value is not a token
local FOREIGN = {}             -- stands for a holder whose value is not a token

-- The holder's token, FOREIGN, or false when the lock is free.
local function holder_of_lock()
  local value = redis.pcall('GETRANGE', lock, 0, MAX_TOKEN)
  if type(value) == 'table' then
    if string.sub(value.err, 1, 9) == 'WRONGTYPE' then return FOREIGN end
    return redis.call('GETRANGE', lock, 0, MAX_TOKEN)  -- fails again, with the server's own error
  end
  return (value ~= '' or redis.call('EXISTS', lock) == 1) and value
end

-- Makes token the holder of a free lock for ms. A server out of memory refuses it.
local function write_lock(token, ms) redis.call('SET', lock, token, 'PX', ms) end

local function delete_lock() redis.call('DEL', lock) end

-- Lets the lock of a holder be held for ms by nobody: returns the token of that. The first write is one that a full
-- server accepts.
local function hold_lock(token, ms)
  redis.call('PEXPIRE', lock, ms)
  write_lock('hold:' .. token, ms)
  return 'hold:' .. token
end

-- The lock is free, and no rlock was given it: tells those who wait for it with a library that sleeps until it is told.
-- Nothing that is denied here may stop the release.
local function tell_libraries() end

-- See beside.lua. Libraries that wait cannot be seen, and ask every 50 to 200 ms.
local SEEN_MS, WINDOW_MS = 2000, 300
local function do_libraries_wait() end

-- Whether a FOREIGN holder is Redisson's RLock.
local function is_of_other_form()
  if redis.pcall('HLEN', lock) ~= 1 then return false end
  return string.match(redis.call('HKEYS', lock)[1], '^%x+%-%x+%-%x+%-%x+%-%x+:%d+$') and true
end
