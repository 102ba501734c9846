-- raise: the fence of a lease that several servers have granted, each with a fence of its own. Where the token holds the
-- lock, every later fence is larger than this one.
--
-- ARGV[1] token
-- ARGV[2] fence   the largest of the servers' fences
--
-- Returns {1}   it holds the lock, and its record has this fence
--         {0}   somebody else holds it; nothing was written
--         {-1}  nobody holds it; nothing was written

local token, fence = ARGV[1], tonumber(ARGV[2])

local holder, several, count = who_holds()
if several and not count then return UNSTABLE end
if not is_holder(token, holder, several) then return {holder and 0 or -1} end
local last = redis.call('GET', fences)
if (tonumber(last or 0) or 0) < fence then store_fence(fence, FENCE_MS) end
local wake, _, since, _, who = record_of(token)
redis.call('HSET', info, token, pack(wake or 's', since or now(), fence, who or '', several or 'x'))
extend_key(info, redis.call('PTTL', lock) + QUEUE_MS)
return {1}
