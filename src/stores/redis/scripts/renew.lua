-- renew: let the holder's lease run for at least ttl from now.
--
-- ARGV[1] token
-- ARGV[2] ttl     milliseconds; a lease is never shortened
--
-- Returns {1, fence, run}   renewed; fence 0 when no record of it is left; run: the id of this run of the server, which
--                           is another after a restart, '' where INFO is denied
--         {0, released}     somebody else holds it; released: 1 when this token has a tombstone, else 0
--         {-1, released}    nobody holds it

local token, ttl = ARGV[1], tonumber(ARGV[2])

local holder, several, count = who_holds()
if several and not count then return UNSTABLE end
if not is_holder(token, holder, several) then
  -- Changes nothing, since no waiter has this name, and fails on a replica, which may only lag behind.
  local reply = redis.pcall('ZREM', queue, '@')
  if type(reply) == 'table' and string.find(reply.err, 'READONLY', 1, true) then return reply end
  return not_held(holder)
end
if several then prolong(token, ttl) else extend_lock(ttl) end
-- Read behind the write: a write ends the tracking of whoever watches the key.
redis.call('PTTL', lock)
if several then redis.call('ZCARD', holders) end
if not is_elsewhere(info) then extend_key(info, ttl + QUEUE_MS) end
-- The lock is renewed, even if its record cannot be read.
local is_well, _, _, _, fence = pcall(record_of, token)
return {1, is_well and fence or 0, of_server('run_id') or ''}
