-- What the key of the lock is on the server: a plain string, as the libraries have it that do SET NX PX and compare and
-- delete. The build puts this file in front of common.lua; what else touches the key there, its ttl, is the same for a
-- key of any type.
--
-- KEYS[1] lock   string: the holder's token, with a PX. Any other value, or a key of another type, belongs to a foreign
--                library and is never changed, except by a forced release; what is too long for a token is other data, and
--                stands.

local lock = KEYS[1]
local IS_REDISSON = false      -- which form this is

local MAX_TOKEN = 512          -- bytes; a longer value is not a token
local SIGNAL_MS = 1000         -- as python-redis-lock has it
local MAX_COLONS = 4
local FOREIGN = {}             -- stands for a holder whose value is not a token

-- The holder's token, FOREIGN, or false when the lock is free.
local function holder_of_lock()
  local value = redis.pcall('GETRANGE', lock, 0, MAX_TOKEN)
  if type(value) == 'table' then
    if string.sub(value.err, 1, 9) == 'WRONGTYPE' then return FOREIGN end
    return redis.call('GETRANGE', lock, 0, MAX_TOKEN)  -- fails again, with the server's own error
  end
  if #value > MAX_TOKEN then return FOREIGN end
  return (value ~= '' or redis.call('EXISTS', lock) == 1) and value
end

-- Makes token the holder of a free lock for ms. A server out of memory refuses it.
local function write_lock(token, ms) redis.call('SET', lock, token, 'PX', ms) end

-- See redisson.lua.
local function confirm_lock() end

local function delete_lock() redis.call('DEL', lock) end

-- Lets the lock of a holder be held for ms by nobody: returns the token of that. The first write is one that a full
-- server accepts.
local function hold_lock(token, ms)
  redis.call('PEXPIRE', lock, ms)
  write_lock('hold:' .. token, ms)
  return 'hold:' .. token
end

-- The lock is free, and no rlock was given it: tells those who wait for it with a library that sleeps until it is told.
local function notify_libraries()
  if string.sub(lock, 1, 6) == 'rlock:' then return end  -- the prefix that rlock has for itself
  -- python-redis-lock: one waiter sleeps, perhaps for ever, until something stands in a list. A Cluster does not reach the list
  -- in another slot.
  if string.sub(lock, 1, 5) == 'lock:' then
    local signal = 'lock-signal:' .. string.sub(lock, 6)
    if try('LLEN', signal) == 0 and try('LPUSH', signal, 1) == 1 then try('PEXPIRE', signal, SIGNAL_MS) end
  end
  -- Spring's RedisLockRegistry: all waiters of a registry sleep until the name of the lock comes, or a minute. The name is
  -- REGISTRY:KEY, and either may have a colon in it. Since Spring Integration 7 each name has a channel of its own.
  local colon
  for _ = 1, MAX_COLONS do
    colon = string.find(lock, ':', (colon or 0) + 1, true)
    if not colon then return end
    local channel = string.sub(lock, 1, colon - 1) .. '-channel'
    try('PUBLISH', channel, lock)
    try('PUBLISH', channel .. ':' .. lock, lock)
  end
end

-- See window.lua. Libraries that wait cannot be seen, and ask every 50 to 200 ms.
local SEEN_MS, WINDOW_MS = 2000, 300
local function do_libraries_wait() end
