-- release: compare and delete, or leave the queue; then hand the free lock to the next waiter.
--
-- ARGV[1] token
-- ARGV[2] tombstone_ms  for how many milliseconds later commands of this token do nothing; '0': it may come again
-- ARGV[3] force   '1': release whoever holds it; else ''
-- ARGV[4] grace   see kept_for in common.lua: a lock that was free before is not handed to a waiter meanwhile
-- ARGV[5] vote    '1': one of several servers, of which a young one hands nothing to anybody; else ''
--
-- Returns {1, record}   released; with force the record of who held it, '' when not known
--         {0, ''}       somebody else holds it; nothing of theirs was touched
--         {-1, ''}      nobody holds it
--         {-2, ''}      with force: what is there cannot be a lock; nothing was touched
--
-- The deletes come first: a script that has written something may go on when the server is out
-- of memory, so a release works then too.

local token, tombstone_ms, force = ARGV[1], ARGV[2], ARGV[3] == '1'

-- Redisson's lock is a hash: "UUID:THREAD" -> count, and "mode" where it is one for readers and writers.
local function is_redisson()
  local fields = redis.pcall('HLEN', lock)
  if type(fields) == 'table' or fields > 1000 then return false end
  for _, field in ipairs(redis.call('HKEYS', lock)) do
    if field ~= 'mode' and not string.match(field, '^%x+%-%x+%-%x+%-%x+%-%x+:%d+') then return false end
  end
  return true
end

local holder = holder_of_lock()
if force and holder == FOREIGN and not is_redisson() then return {-2, ''} end
local mine = holder and (force or holder == token)
local owner = force and holder or token
local record = force and mine and owner ~= FOREIGN and not is_lost(info) and redis.call('HGET', info, owner)

if mine then delete_lock() end
if split then
  if mine then tell_libraries() end
  -- Whose turn it is cannot be said here, nor can the lock be given to anybody. The waiters come in their order.
  redis.pcall('SET', tombstone, '', 'PX', tombstone_ms)
  if not mine then redis.pcall('ZREM', queue, token) end
  for _, wake in ipairs({'s', 'c'}) do publish(channel_of_all(), wake, 'r') end
  if owner ~= FOREIGN then redis.pcall('HDEL', info, owner) end
  return {mine and 1 or holder and 0 or -1, record or ''}
end
if not mine then
  local rank = redis.call('ZRANK', queue, token)
  redis.call('ZREM', queue, token)
  if rank and rank < WATCHERS then tell_watchers(1) end
end
if tombstone_ms ~= '0' then redis.pcall('SET', tombstone, '', 'PX', tombstone_ms) end

local first, dead
if mine or not holder then first, dead = first_waiter(false) end
if dead and not first then
  remove_dead(dead)
  redis.call('DEL', info)  -- what is left there belongs to dead clients
elseif owner ~= FOREIGN then
  redis.call('HDEL', info, owner)
end
-- A lock that was free before may be kept for another. Where INFO is denied, nobody is given it here.
local is_ours_to_hand = mine and ARGV[5] ~= '1'
if first and (is_ours_to_hand or kept_for(ARGV[4]) == 0) then
  hand_off(first, dead)
elseif mine then
  tell_libraries()
end
return {mine and 1 or holder and 0 or -1, record or ''}
