-- reclaim: acquire the lock again for the holder that a restarted server has forgotten, under its old token and fence.
-- Idempotent, as acquire is.
--
-- ARGV[1] token
-- ARGV[2] ttl     milliseconds
-- ARGV[3] fence   of the lease, as the last renewal returned it
-- ARGV[4] run     id of the server's run, as the last renewal returned it
-- ARGV[5] who     free text for status
--
-- Returns as renew does: {1, fence, run}   it holds the lock
--                        {0}               somebody else holds it
--                        {-1}              nobody holds it. It is lost: the server did not restart, so that somebody
--                                          deleted it; or a fence was given since, so that somebody held it
--                                          meanwhile; or the token has a tombstone
--
-- The first write is one that a full server refuses, see common.lua.

local token, ttl, fence, run, who = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]

local holder = holder_of_lock()
if holder and holder ~= token then return {0} end

-- Whether nobody was given a fence since the server started: such a fence is not below the time of the start. One that
-- is came from an old snapshot.
local function is_last()
  local last = redis.call('GET', fences)
  if not last or last == fence then return true end
  local started = math.floor(now() / 1000000) - (tonumber(of_server('uptime_in_seconds')) or 0)
  return (tonumber(last) or MAX_FENCE) < math.min(started * 1000000, tonumber(fence))
end

if split and (not holder or not is_here(info)) then return UNSTABLE end
local run_now = of_server('run_id') or ''
if not holder then
  local is_forgotten = run_now ~= '' and run_now ~= run and is_last()
  if not is_forgotten or redis.call('EXISTS', tombstone) == 1 then return {-1} end
  redis.call('HLEN', info)  -- fails on a key of another type, while nothing is written
  redis.call('SET', lock, token, 'PX', ttl)
  keep_fence(tonumber(fence), FENCE_MS)
  redis.call('HSET', info, token, pack('s', now(), tonumber(fence), who))
end
extend(ttl)
redis.call('PTTL', lock)  -- as in renew
keep(info, ttl + QUEUE_MS)
local _, _, _, held = record_of(token)
return {1, held or 0, run_now}
