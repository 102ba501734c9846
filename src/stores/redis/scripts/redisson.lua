-- What the key of the lock is on the server under --compat redisson: the hash of Redisson's RLock. The build makes a
-- second set of scripts with this file in place of plain.lua.
--
-- KEYS[1] lock   HASH: "UUID:1" -> 1, with a PEXPIRE. UUID has the 32 hex digits of the holder's token. Redisson's own
--                holders have the UUID of a client, the number of a thread in place of 1, and count their re-entries.
--                Beside it "mode" -> "rlock", so that a lock for readers and writers (getReadWriteLock) of this name waits:
--                without a mode it counts as free. A claim has no mode until its holder confirms it: releases of rlock
--                before this did not know the field, and could not confirm a claim that has it.
--                Any other hash, that of a lock for readers and writers too, and a key of another type belongs to a
--                foreign library.
-- Channels, "0": the lock is free. A waiter of Redisson's sleeps until this message, or until the end of the ttl that it has
-- seen. {N} is N where N has a '{'.
--   redisson_lock__channel:{N}         of an RLock
--   redisson_lock__channel:{N}:WAITER  of a fair lock, whose queue is the list redisson_lock_queue:{N}
--   redisson_rwlock:{N}                of a lock for readers and writers

local lock = KEYS[1]
local IS_REDISSON = true       -- which form this is

local MAX_TOKEN = 512          -- bytes of a string; see plain.lua
local MAX_FAIR = 10            -- the first of a fair lock's queue may be dead, which another one finds out
local FOREIGN = {}             -- stands for a holder that is not the field of an RLock

local UUID = '^(%x%x%x%x%x%x%x%x)%-(%x%x%x%x)%-(%x%x%x%x)%-(%x%x%x%x)%-(%x%x%x%x%x%x%x%x%x%x%x%x):%d+$'
local DIGITS = '^(%x%x%x%x%x%x%x%x)(%x%x%x%x)(%x%x%x%x)(%x%x%x%x)(%x%x%x%x%x%x%x%x%x%x%x%x)$'

local function field_of(token) return (string.gsub(token, DIGITS, '%1-%2-%3-%4-%5:1')) end

-- The holder's token, that of Redisson's own holder as its field has it; FOREIGN; or false when the lock is free.
local function holder_of_lock()
  local count = redis.pcall('HLEN', lock)
  if type(count) == 'table' then
    if string.sub(count.err, 1, 9) == 'WRONGTYPE' then return FOREIGN end
    return redis.call('HLEN', lock)  -- fails again, with the server's own error
  end
  if count == 0 then return false end
  local fields = count <= 2 and redis.call('HKEYS', lock) or {}
  local field = fields[1] == 'mode' and fields[2] or fields[1]
  if count == 2 and redis.call('HGET', lock, 'mode') ~= 'rlock' then return FOREIGN end
  if not field or not string.match(field, UUID) then return FOREIGN end
  local token = string.gsub(string.sub(field, 1, 36), '-', '')
  return field_of(token) == field and token or field
end

-- To be called by the holder itself, when a write has been made that a full server accepts.
local function confirm_lock() redis.call('HSET', lock, 'mode', 'rlock') end

-- Makes token the holder of a free lock for ms; is_claim: it has yet to confirm that. A server out of memory refuses it.
local function write_lock(token, ms, is_claim)
  redis.call('HSET', lock, field_of(token), 1)
  redis.call('PEXPIRE', lock, ms)
  if not is_claim then confirm_lock() end
end

local function delete_lock() redis.call('DEL', lock) end

local function named(name) return name .. ':' .. (string.find(lock, '{', 1, true) and lock or '{' .. lock .. '}') end

-- The channels on which services sleep for the lock. Who may not read a fair lock's queue knows nothing of it.
local function channels()
  local channel = named('redisson_lock__channel')
  local all = {channel, named('redisson_rwlock')}
  for _, waiter in ipairs(try('LRANGE', named('redisson_lock_queue'), 0, MAX_FAIR - 1) or {}) do
    all[#all + 1] = channel .. ':' .. waiter
  end
  return all
end

-- Tells those who wait for the lock with Redisson to look: it is free, and no rlock was given it. Where channels belong to
-- slots it listens there.
local function notify_libraries()
  for _, channel in ipairs(channels()) do
    try('PUBLISH', channel, '0')
    try('SPUBLISH', channel, '0')
  end
end

-- Lets the lock of a holder be held for ms by nobody: returns the token of that. The first write is one that a full
-- server accepts. Redisson numbers threads from 1. Waiters that sleep are told, since the ttl that they have seen may be longer.
local function hold_lock(token, ms)
  local own = field_of(token)
  local nobody = string.gsub(own, '1$', '0')
  redis.call('PEXPIRE', lock, ms)
  redis.call('HSET', lock, nobody, 1)
  redis.call('HDEL', lock, own)
  notify_libraries()
  return nobody
end

-- See window.lua. A waiter of Redisson's is subscribed, and comes as soon as it is told. (In a Cluster, one without sharded
-- channels is subscribed at the master of the channel's slot, which is ours.) nil: PUBSUB is denied.
local SEEN_MS, WINDOW_MS = 200, 100
local function do_libraries_wait()
  local all = channels()
  local function has_listeners(how)
    local reply = redis.pcall('PUBSUB', how, unpack(all))
    for i = 2, #reply, 2 do
      if reply[i] > 0 then return true end
    end
    if not reply.err then return false end
  end
  local do_wait = has_listeners('NUMSUB')
  if do_wait == false then return has_listeners('SHARDNUMSUB') or false end
  return do_wait
end
