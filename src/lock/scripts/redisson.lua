-- What the key of the lock is on the server under --compat redisson: the hash of Redisson's RLock. The build makes a
-- second set of scripts with this file in place of plain.lua.
--
-- KEYS[1] lock   HASH: "UUID:1" -> 1, with a PEXPIRE. UUID has the 32 hex digits of the holder's token. Redisson's own
--                holders have the UUID of a client, the number of a thread in place of 1, and count their re-entries.
--                Any other hash, that of a lock for readers and writers too, and a key of another type belongs to a
--                foreign library.
-- Channel "redisson_lock__channel:{N}" (":N" where N has a '{'), "0": the lock is free. A waiter of Redisson's sleeps
-- until this message, or until the end of the ttl that it has seen.

local lock = KEYS[1]

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
  local field = count == 1 and redis.call('HKEYS', lock)[1]
  if not field or not string.match(field, UUID) then return FOREIGN end
  local token = string.gsub(string.sub(field, 1, 36), '-', '')
  return field_of(token) == field and token or field
end

-- Makes token the holder of a free lock for ms. A server out of memory refuses it.
local function write_lock(token, ms)
  redis.call('HSET', lock, field_of(token), 1)
  redis.call('PEXPIRE', lock, ms)
end

local function delete_lock() redis.call('DEL', lock) end

local channel = 'redisson_lock__channel:' .. (string.find(lock, '{', 1, true) and lock or '{' .. lock .. '}')

-- Tells those who wait for the lock with Redisson to look: it is free, and no rlock was given it. Where channels belong to
-- slots it listens there. What is denied here must not stop the release.
local function tell_libraries()
  redis.pcall('PUBLISH', channel, '0')
  redis.pcall('SPUBLISH', channel, '0')
end

-- Lets the lock of a holder be held for ms by nobody: returns the token of that. The first write is one that a full
-- server accepts. Redisson numbers threads from 1. Waiters that sleep are told, since the ttl that they have seen may be longer.
local function hold_lock(token, ms)
  local own = field_of(token)
  local nobody = string.gsub(own, '1$', '0')
  redis.call('PEXPIRE', lock, ms)
  redis.call('HSET', lock, nobody, 1)
  redis.call('HDEL', lock, own)
  tell_libraries()
  return nobody
end

-- See beside.lua. A waiter of Redisson's is subscribed, and comes as soon as it is told. (In a Cluster, one without sharded
-- channels is subscribed at the master of the channel's slot, which is ours.) nil: PUBSUB is denied.
local SEEN_MS, WINDOW_MS = 200, 100
local function do_libraries_wait()
  local reply = redis.pcall('PUBSUB', 'NUMSUB', channel)
  if reply.err then return nil end
  return reply[2] > 0 or (redis.pcall('PUBSUB', 'SHARDNUMSUB', channel)[2] or 0) > 0
end

-- Whether a FOREIGN holder is a plain lock.
local function is_of_other_form() return type(redis.pcall('GETRANGE', lock, 0, 0)) == 'string' end
