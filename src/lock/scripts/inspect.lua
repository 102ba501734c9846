-- inspect: all of one lock, for status. Writes nothing.
--
-- ARGV[1] most   how many waiters to list, 1 or more
--
-- Returns {state, record, pttl, now, waiting, {ticket, record, ticket, record, ...}}
--   state    'free', 'held' (by an rlock), 'foreign'
--   record   of the holder, '' when there is none
--   pttl     milliseconds, -1 without end, -2 when free
--   now      server microseconds
--   waiting  how many wait; the list holds the first ones, in the order of the queue

local most = tonumber(ARGV[1])

local holder = holder_of_lock()
local record = holder and holder ~= FOREIGN and redis.call('HGET', info, holder)
local waiters = redis.call('ZRANGE', queue, 0, most - 1, 'WITHSCORES')
for i = 1, #waiters, 2 do
  waiters[i], waiters[i + 1] = waiters[i + 1], redis.call('HGET', info, waiters[i]) or ''
end
return {not holder and 'free' or record and 'held' or 'foreign', record or '',
        redis.call('PTTL', lock), now(), redis.call('ZCARD', queue), waiters}
