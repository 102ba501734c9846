-- inspect: all of one lock, for status. Writes nothing.
--
-- ARGV[1] max_waiters   how many waiters to list, 1 or more
--
-- Returns {state, record, pttl, now, waiting, {ticket, record, ticket, record, ...}, last, mode, {record, pttl, ...}}
--   state    'free', 'held' (by an rlock), 'foreign', 'data' (the same, and other data, not a lock)
--   record   of the one holder, '' when there is none, or one that is too long; so are those in the lists
--   pttl     milliseconds, -1 without end, -2 when free
--   now      server microseconds
--   waiting  how many wait; the list holds the first ones, in the order of the queue
--   last     the last run, '' when it is not known
--   mode     's' or the number of slots, in which several hold it: the list behind it has them, a thousand at most;
--            else 'x', and the list is empty

local max_waiters = tonumber(ARGV[1])
local room = 4194304  -- bytes of records in one reply

-- A side key of another type, or one that is on another node, counts as absent; the rest of the lock is still shown.
local function read(otherwise, ...)
  local reply = redis.pcall(...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if split or string.sub(reply.err, 1, 9) == 'WRONGTYPE' then return otherwise end
  return redis.call(...)  -- fails again, with the server's own error
end

local holder, several = who_holds()
-- As text_of() has it, as long as there is room: a reply is of some megabytes at most, whatever stands there.
local function listed(token)
  local record = read('', 'HGET', info, token)
  if not record or #record <= math.min(MAX_RECORD, room) then
    room = room - (record and #record or 0)
    return record
  end
  return ''
end

local record = holder and holder ~= FOREIGN and listed(holder)
local waiters = read({}, 'ZRANGE', queue, 0, max_waiters - 1, 'WITHSCORES')
for i = 1, #waiters, 2 do
  waiters[i], waiters[i + 1] = waiters[i + 1], listed(waiters[i]) or ''
end
local sharers = {}
local sharing = several and read({}, 'ZRANGEBYSCORE', holders, '(' .. integer(now_ms()), '+inf', 'LIMIT', 0, MAX_LISTED) or {}
for _, token in ipairs(sharing) do
  sharers[#sharers + 1] = listed(token) or ''
  sharers[#sharers + 1] = end_of(token) - now_ms()
end
local state = not holder and 'free' or (record or several) and 'held' or is_other_data(holder) and 'data' or 'foreign'
return {state, record or '', redis.call('PTTL', lock), now(),
        read(0, 'ZCARD', queue), waiters, read('', 'GETRANGE', last, 0, MAX_LAST), several or 'x', sharers}
