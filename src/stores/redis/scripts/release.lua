-- release: compare and delete, or leave the queue; then hand the free lock to the next waiters.
--
-- ARGV[1] token
-- ARGV[2] tombstone_ms  for how many milliseconds later commands of this token do nothing; '0': it may come again
-- ARGV[3] force   '1': release whoever holds it; else ''
-- ARGV[4] grace   see young_for in common.lua: a lock that was free before is not handed to a waiter meanwhile
-- ARGV[5] vote    '1': one of several servers, of which a young one hands nothing to anybody; else ''
-- ARGV[6] hold    for how many milliseconds from now nobody is to have the lock; '' none. The key stays under a token that
--                 nobody has, so that nothing renews or releases it but force
-- ARGV[7] run     "EXIT TOOK ONCE WHO" of the run that ends: EXIT 0 where it succeeded; ONCE its --once, milliseconds; the rest is
--                 free text for status. '' where no run ends
-- ARGV[8] remember  for how many milliseconds it is remembered, and the fence with it; longer where any run had a longer --once
--
-- Returns {1, record}   released; with force the record of who held it, '' when not known; where several did, a list of
--                       records is behind it
--         {0, ''}       somebody else holds it; nothing of theirs was touched
--         {-1, ''}      nobody holds it
--         {-2, ''}      with force: what is there cannot be a lock; nothing was touched
--         {-3, ''}      with force: the lock is as the other set of scripts has it; nothing was touched
--         {…, record, list, 1}  one of these, and so many stood dead in the queue, or were let in, that another call has
--                       to look at the rest: to be sent again at once
--
-- The deletes come first: a script that has written something may go on when the server is out
-- of memory, so a release works then too.

local token, tombstone_ms, force = ARGV[1], ARGV[2], ARGV[3] == '1'

local holder, several, count = who_holds()
if several and not count then return UNSTABLE end
if force and is_other_data(holder) then return {-2, ''} end
-- Its waiters would not be told.
if force and holder == FOREIGN and is_of_other_form() then return {-3, ''} end
local mine = holder and (force or is_holder(token, holder, several))
local owners = force and several and living() or {force and holder or token}
local records = {}
if force and mine and holder ~= FOREIGN and not is_elsewhere(info) then
  for i, owner in ipairs(owners) do records[i] = text_of(owner) or '' end
end
local reply = {mine and 1 or holder and 0 or -1, several and '' or records[1] or '', several and force and records or nil}
local function forget_owners()
  if holder == FOREIGN and force then return end
  for _, owner in ipairs(owners) do redis.call('HDEL', info, owner) end
end

local was_held_by_several = mine and several
-- Beside others a new holder gives a fence, as on a free lock: those whom a restarted server has forgotten come first.
local is_ours_to_hand = mine and not several and ARGV[5] ~= '1'
local stays = mine and not force and tonumber(ARGV[6] or '')

if stays then
  local nobody = several and hold_place(token, stays) or hold_lock(token, stays)
  if not is_elsewhere(info) then
    local _, _, since, fence, who = record_of(token)
    redis.call('HSET', info, nobody, pack('h', since or now(), fence or 0, who or '', several or 'x'))
    extend_key(info, stays + QUEUE_MS)
  end
elseif mine and several and not force then
  several, count = remove_holder(token, several)
elseif mine then
  delete_lock()
  if several then drop_holders() end
  several = nil
end
if mine and exit then write_last_run(ARGV[7], exit, once) end
if split then
  if mine and not stays and not several then notify_libraries() end
  -- Whose turn it is cannot be said here, nor can the lock be given to anybody. The waiters come in their order.
  -- The old node refuses the tombstone, and needs none: there a late acquire is refused as well. What would be made here
  -- beside one of the old node would stop the move.
  if not has_ended then redis.pcall('SET', tombstone, '', 'PX', tombstone_ms) end
  if not mine then redis.pcall('ZREM', queue, token) end
  for _, wake in ipairs({'s', 'c'}) do publish(channel_of_all(), wake, 'r') end
  if is_here(info) then forget_owners() end
  return reply
end
local rank
if not mine then
  rank = redis.call('ZRANK', queue, token)
  redis.call('ZREM', queue, token)
  if rank and rank < WATCHERS then notify_watchers(1) end
  -- Nobody but the first waits for a holder that tells nobody.
  local is_alone = rank == 0 and holder and not several and (holder == FOREIGN or not redis.call('HGET', info, holder))
  local next_one = is_alone and redis.call('ZRANGE', queue, 0, 0)[1]
  if next_one then publish(channel_of(next_one), record_of(next_one), 'h 0') end
end
if tombstone_ms ~= '0' then redis.pcall('SET', tombstone, '', 'PX', tombstone_ms) end

-- A waiter that leaves the queue may have kept those behind it from holding beside the holders.
local walk = walk_of(nil, nil, mine and exit == '0')
local is_walked = mine or not holder or several and may_enter(several, several, count)
if is_walked then find_first(walk) end
if stays then
  remove_dead(walk)
  forget_owners()
  notify_watchers(WATCHERS)  -- until when it is held now
  return {1, ''}
end
-- Beside others, a holder that a restarted server has forgotten may come back after this release, and has to know of it
-- (reclaim).
local is_awaited = was_held_by_several and type(redis.pcall('HGET', info, '@reclaimed')) == 'string'
if is_walked and not walk.first and not walk.is_cut and not several and not is_awaited then
  remove_dead(walk)
  drop_records()
else
  forget_owners()
end
-- A lock that was free before may be kept for another, or left to libraries. Where INFO is denied, nobody is given it here.
local is_to_hand = (walk.first or walk.is_cut) and (is_ours_to_hand or young_for(ARGV[4]) == 0)
if is_to_hand and walk.first and not moving and not several then
  local since, after, time, left = libraries()
  local they_wait = is_ours_to_hand and do_libraries_wait()
  if not is_ours_to_hand then
    is_to_hand = mine or left == 0
  elseif not since or since > time + WINDOW_MS then
    -- Not looked at before; or the clock has stepped back.
    after = after or they_wait and SEEN_MS or UNSEEN_MS
    redis.call('SET', window, integer(time + SEEN_MS - after) .. ' ' .. after, 'PX', MET_MS)
  elseif since and they_wait ~= false and time >= since + (they_wait and SEEN_MS or after) then
    -- The first waiter watches the lock meanwhile, for libraries that come and go; it gets the lock if it cannot be told.
    -- The next ones look after the window, since the first may have died.
    for i, waiter in ipairs(redis.call('ZRANGE', queue, #walk.dead, #walk.dead + WATCHERS - 1)) do
      local wake = record_of(waiter)
      local said = publish(channel_of(waiter), wake, 'h ' .. (i == 1 and 0 or WINDOW_MS + (i - 1) * WATCH_STEP_MS))
      if i == 1 then is_to_hand = type(said) == 'table' and wake ~= 'p' end
    end
    if not is_to_hand then redis.call('SET', window, integer(time + WINDOW_MS) .. ' ' .. after, 'KEEPTTL') end
  end
end
if is_to_hand then
  admit(walk, several, count)
  if walk.is_cut then reply = {reply[1], reply[2], reply[3] or {}, 1} end
  if walk.is_cut and mine then
    -- Whoever lives looks too: this client may end before it is done. Their ranks count the dead, and they ask seldom.
    for _, wake in ipairs({'s', 'c'}) do publish(channel_of_all(), wake, 'h 0') end
  end
elseif mine and not several then
  notify_libraries()
end
return reply
