-- reclaim: acquire the lock again for the holder that a restarted server has forgotten, under its old token and fence.
-- Idempotent, as acquire is.
--
-- ARGV[1] token
-- ARGV[2] ttl     milliseconds
-- ARGV[3] fence   of the lease, as the last renewal returned it
-- ARGV[4] run     id of the server's run, as the last renewal returned it; '' before the first: then the fence, which is
--                 a time of the server, has to be from a second before its start
-- ARGV[5] who     free text for status
-- ARGV[6] other   '1': this is another server than the one that knew the lock, promoted in its place: not all that was
--                 written there has come here. Else ''
-- ARGV[7] mode    see common.lua: beside others of its own mode each comes back as long as there is room
-- ARGV[8] away    milliseconds since the last renewal was sent
--
-- Returns as renew does: {1, fence, run}   it holds the lock
--                        {0, released}     somebody else holds it
--                        {-1, released}    nobody holds it. It is lost: the server did not restart, so that somebody
--                                          deleted it; or a fence was given since, so that somebody held it
--                                          meanwhile, or may have, if it was so long ago that the fence would be gone;
--                                          or the token has a tombstone
--
-- The first write is one that a full server refuses, see common.lua.

local token, ttl, fence, run, who = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
local other, mode, away = ARGV[6] == '1', ARGV[7], tonumber(ARGV[8])
local DOUBT_MS = 60000         -- clocks differ: a fence that would be kept for so little longer may be gone

local holder, several, count = who_holds()
if several and not count then return UNSTABLE end
local holds = is_holder(token, holder, several)
if holder and not holds and not (several and may_enter(mode, several, count)) then return not_held(holder) end
local run_now = of_server('run_id') or ''

-- Whether the server has forgotten the lock, or was never told of it, and has given no fence since. A fence is not below
-- the time when it was given; one from before the start came from an old snapshot. What a promoted server knows of may be
-- younger than its start, but then it was given before ours, which is higher. Where several hold, one who came later may
-- be back already: any fence from before the start can be theirs, and so is one that a reclaim has put back.
local function is_forgotten()
  local uptime = tonumber(of_server('uptime_in_seconds') or '')
  if run_now == '' or not uptime then return false end
  local started = (math.floor(now() / 1000000) - uptime) * 1000000
  if run == run_now or (run == '' and not other and tonumber(fence) >= started) then return false end
  local last = redis.call('GET', fences)
  local known_until = math.min(other and math.huge or started, (other or mode == 'x') and tonumber(fence) or math.huge)
  -- Somebody else's fence would still be here, unless that is long ago.
  if not last then return away < FENCE_FIRST_MS - DOUBT_MS end
  if last == fence or (tonumber(last) or MAX_FENCE) < known_until then return true end
  return mode ~= 'x' and last == redis.call('HGET', info, '@reclaimed')
end

if not holds then
  if split then return UNSTABLE end
  if not is_forgotten() or has_tombstone() then return not_held(holder) end
  redis.call('HLEN', info)  -- fails on a key of another type, while nothing is written
  local last = math.max(tonumber(fence), mode ~= 'x' and tonumber(redis.call('GET', fences) or 0) or 0)
  store_fence(last, FENCE_MS)
  if mode == 'x' then write_lock(token, ttl) else add_holder(token, ttl, mode, several) end
  redis.call('HSET', info, token, pack('s', now(), tonumber(fence), who, mode))
  if mode ~= 'x' then redis.call('HSET', info, '@reclaimed', integer(last)) end
end
if mode == 'x' then extend_lock(ttl) else prolong(token, ttl) end
redis.call('PTTL', lock)  -- as in renew
if mode ~= 'x' then redis.call('ZCARD', holders) end
if not is_elsewhere(info) then extend_key(info, ttl + QUEUE_MS) end
local is_well, _, _, _, held = pcall(record_of, token)  -- as in renew
return {1, is_well and held or 0, run_now}
