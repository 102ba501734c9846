-- enter: take the lock, confirm a hand-off, or queue. Idempotent: sent again with the same token
-- it changes nothing that the first one did, so an unanswered enter may always be repeated.
--
-- ARGV[1] token   32 hex digits
-- ARGV[2] ttl     milliseconds; a lease is never shortened
-- ARGV[3] ticket  '' do not queue; '0' queue behind all; else queue at this earlier ticket
-- ARGV[4] wake    's' or 'p' (see info)
-- ARGV[5] who     free text for status
--
-- Returns {1, fence}                                      held
--         {0, ticket, rank, pttl, known, record}          not held
--           ticket  0 when not queued; rank from 0 (-1 when not queued)
--           pttl    milliseconds until the holder's lease ends, -1 when it has no end
--           known   1 when the holder is an rlock, 0 when it is foreign and will wake nobody
--           record  of the holder, '' when it is not known
--         {-1}                                            token has left before; it never returns

local token, ttl, ticket, wake, who = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]

local holder = holder_of_lock()

if holder == token then
  keep(lock, ttl)
  redis.call('ZREM', queue, token)
  local _, _, _, fence = record_of(token)
  if not fence or fence == 0 then
    fence = next_fence()
    redis.call('HSET', info, token, pack(wake, now(), fence, who))
  end
  keep(info, ttl + QUEUE_MS)
  return {1, fence}
end

-- One call for the common case, in which there is neither.
local crowd = redis.call('EXISTS', spent, queue) > 0
if crowd and redis.call('EXISTS', spent) == 1 then return {-1} end

if not holder then
  local first = crowd and first_waiter(token)
  if not first or first == token then
    return {1, grant(token, ttl, wake, who, first)}
  end
  hand_off(first)
  holder = first
end

local rank = -1
if ticket == '' then
  ticket = 0
else
  -- The earliest of what it asks for and what it has: a late enter may have queued it anew.
  local asked, has = tonumber(ticket), tonumber(redis.call('ZSCORE', queue, token) or now())
  ticket = asked > 0 and math.min(asked, has) or has
  redis.call('ZADD', queue, integer(ticket), token)
  redis.call('HSET', info, token, pack(wake, ticket, 0, who))
  keep(queue, QUEUE_MS)
  keep(info, QUEUE_MS)
  rank = redis.call('ZRANK', queue, token)
end

local record = holder ~= FOREIGN and redis.call('HGET', info, holder)
return {0, ticket, rank, redis.call('PTTL', lock), record and 1 or 0, record or ''}
