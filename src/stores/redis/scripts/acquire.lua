-- acquire: acquire the lock, confirm a hand-off, or queue. Idempotent: sent again with the same token
-- it changes nothing that the first one did, so an acquire without an answer may always be repeated.
--
-- ARGV[1] token   32 hex digits
-- ARGV[2] ttl     milliseconds; a lease is never shortened
-- ARGV[3] ticket  '' do not queue; '0' queue behind all; else queue at this earlier ticket
-- ARGV[4] wake    's', 'c' or 'p' (see info)
-- ARGV[5] who     free text for status
-- ARGV[6] grace   see young_for in common.lua; a hand-off to this token is not stopped
-- ARGV[7] mode    'x' exclusive, 's' shared, or the number of slots
-- ARGV[8] once    milliseconds: do nothing where a run succeeded within them; '' acquire in any case
--
-- Returns {1, fence, run}                                 held; run: the id of this run of the server under a grace, which
--                                                         asks for it anyway; else ''
--         {0, ticket, rank, pttl, known, record, young}    not held
--           ticket  0 when not queued; rank from 0 (-1 when not queued)
--           pttl    milliseconds until the holder's lease ends, -1 when it has no end; or for how long the lock is left to
--                   libraries
--           known   1 when the holder is an rlock, 0 when it is foreign and will wake nobody; -1 the same, and a lock as
--                   the other set of scripts has it: plain, or Redisson's; -2 the same, and other data, not a lock;
--                   -3 nobody holds: it is left to libraries, see window.lua
--           record  of the holder, '' when it is not known
--           young   0, or for how many milliseconds more the lock, which is free, is young; pttl is the same
--         {2, ago, last}                                  once: a run succeeded ago milliseconds ago; last: the last
--                                                         run. Nothing was changed: a client that may
--                                                         hold or queue has to release
--         {3}                                             so many dead stood in the queue that another call has to look at
--                                                         the rest: ask again at once. Nothing else was done
--         {-1}                                            the token has a tombstone; it never holds again
--         {-2, mode}                                      rlocks use the lock in a mode that this one cannot wait for
--
-- Where several hold, record and pttl are those of the one whose end is to be waited for.

local token, ttl, ticket, wake, who = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
local grace, mode = ARGV[6], ARGV[7]

local function run_id() return grace ~= '' and of_server('run_id') or '' end

-- When a run last succeeded, as the last run tells.
local function succeeded_at(run)
  if type(run) ~= 'string' then return end
  local s, us, ended_s, ended_us = string.match(run, '^1 %d+ ([=%d]+) ([=%d]+) (%d+) (%d+) ')
  if s == '=' then return ended_s, ended_us end
  return s, us
end

local once = tonumber(ARGV[8] or '')
if once then
  if is_elsewhere(last) then return UNSTABLE end
  local run = redis.pcall('GETRANGE', last, 0, MAX_LAST)
  local s, us = succeeded_at(run)
  -- A clock that was set back by more than that must not keep everybody from running.
  local ago = s and s ~= '0' and math.floor((now() - s * 1000000 - us) / 1000)
  if ago and math.abs(ago) < once then return {2, math.max(ago, 0), run} end
end

local holder, several, count = who_holds()
if several and not count then return UNSTABLE end

if is_holder(token, holder, several) then
  if several then prolong(token, ttl) end
  if is_elsewhere(info) or is_elsewhere(fences) then
    extend_lock(ttl)
    return UNSTABLE
  end
  local _, _, _, fence, _, known_mode = record_of(token)
  extend_lock(ttl)
  if not several then confirm_lock() end
  if not is_elsewhere(queue) then redis.call('ZREM', queue, token) end
  if not fence or fence == 0 or known_mode ~= (several or 'x') then
    fence = (fence or 0) > 0 and fence or next_fence()
    redis.call('HSET', info, token, pack(wake, now(), fence, who, several or 'x'))
  end
  extend_key(info, ttl + QUEUE_MS)
  return {1, fence, run_id()}
end

-- One call for the common case, in which neither key exists.
local has_queue = moving and is_here(queue) or not moving and redis.call('EXISTS', tombstone, queue) > 0
if (has_queue or moving) and has_tombstone() then return {-1} end
if split and (not holder or several or ticket ~= '' and not (has_queue and is_here(info))) then return UNSTABLE end

-- A client with a ticket comes from a queue. If there is none, the queue was lost: call the other waiters back.
local asked = tonumber(ticket) or 0
if asked > 0 and not has_queue then publish(channel_of_all(), wake, 'r') end

-- Where it stands, in the queue or not: behind all, or at the earlier of the ticket it asks for and the one it has, for a late
-- acquire may have queued it again.
local has = has_queue and ticket ~= '' and tonumber(redis.call('ZSCORE', queue, token) or nil)
local place = has and (asked == 0 or has <= asked) and has or asked > 0 and asked or math.huge

local young, left = 0, 0
-- A waiter looks for all who wait: those ahead of it may hold beside the holders where it may not.
local is_open = not holder or several and can_mix(mode, several) and may_enter(several, several, count)
if is_open then
  local refusal
  young, refusal = young_for(grace)
  if refusal then return refusal end
end
if is_open and young == 0 then
  local walk = has_queue and walk_of(token, place) or walk_alone(token)
  if has_queue then find_first(walk) end
  local is_waited_for = walk.first ~= token or walk.waits or has_queue and asked > 0
  if is_waited_for and not several and not moving then left = select(4, libraries()) end
  if asked > 0 and not has_queue and not several and not moving then left = gather() end
  if left == 0 then
    local fence, entered = admit(walk, several, count, {ttl = ttl, wake = wake, who = who, mode = mode})
    if fence then return {1, fence, run_id()} end
    if walk.is_cut then return {3} end
    if entered > 0 then holder, several, count = who_holds() end
  end
end

local record, pttl
if several then
  pttl, record = next_end(several)
elseif holder then
  record = holder ~= FOREIGN and not is_elsewhere(info) and text_of(holder)
end
if record and not can_mix(mode, several or 'x') then return {-2, several or 'x'} end

local rank = -1
if ticket == '' then
  ticket = 0
  -- Changes nothing, and fails on a replica, which cannot know whether the lock is busy.
  local said = redis.pcall('DEL', tombstone)
  if type(said) == 'table' and string.find(said.err, 'READONLY', 1, true) then return said end
else
  if place == math.huge then
    -- Larger than all others, even if the clock has stepped back since.
    local last = redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2]
    place = math.max(now(), (tonumber(last) or 0) + 1)
  end
  ticket = place
  local known, seen = record_of(token)
  local function far() return wake ~= 'p' and math.min(rank * FAR_US, MAX_FAR_US) or 0 end
  rank = has and redis.call('ZRANK', queue, token) or -1
  -- A record that was written a moment ago is not written again, to keep a look cheap.
  if has ~= ticket or known ~= wake or math.abs(now() + far() - seen) >= FRESH_US then
    local from, are_far = silence_counts_from()
    are_far = are_far and far() >= CLOCK_STEP_US / 2
    if several then redis.call('ZREM', holders, token) end  -- what is left of a claim that lapsed
    redis.call('ZADD', queue, integer(ticket), token)
    if has ~= ticket then rank = redis.call('ZRANK', queue, token) end
    redis.call('HSET', info, token, pack(wake, ticket, once and HAS_ONCE or 0, who, mode, now() + far()), '@',
               integer(now() + (are_far and far() + CLOCK_STEP_US or 0)) .. ' ' .. integer(from))
    extend_key(queue, QUEUE_MS + far() / 1000)
    extend_key(info, QUEUE_MS + far() / 1000)
  end
end

if left > 0 then return {0, ticket, rank, left, -3, '', 0} end
if young > 0 and (not several or may_enter(mode, several, count)) then return {0, ticket, rank, young, 1, '', young} end
if not record and not several and not moving then
  -- No rlock's. What was noted a moment ago is not written again, to keep a look cheap; nor what there is no memory for.
  local since, after, time = libraries()
  if after ~= SEEN_MS or redis.call('PTTL', window) < MET_MS / 2 then
    redis.pcall('SET', window, integer(since or time) .. ' ' .. SEEN_MS, 'PX', MET_MS)
  end
end
local known = record and 1 or is_other_data(holder) and -2 or holder == FOREIGN and is_of_other_form() and -1 or 0
return {0, ticket, rank, pttl or redis.call('PTTL', lock), known, record or '', 0}
