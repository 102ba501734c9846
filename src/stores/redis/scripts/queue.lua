-- The queue of a lock, shared by every script as common.lua is: who is alive in it, and how the first gets the lock.

-- Deletes records of dead holders and of lapsed claims when there are many, but not so many that to list them would hold up
-- the server. count: of all records, about; several: the records of those who hold stay.
local function sweep(count, several)
  local of_holders = several and redis.call('ZCARD', holders) or 0
  if count <= redis.call('ZCARD', queue) + of_holders + 16 or count > MAX_LISTED then return end
  for _, token in ipairs(redis.call('HKEYS', info)) do
    local is_needed = string.sub(token, 1, 1) == '@' or redis.call('ZSCORE', queue, token) or several and redis.call('ZSCORE', holders, token)
    if not is_needed then redis.call('HDEL', info, token) end
  end
end

local function channel_of_all() return 'rlock:w:' .. string.sub(queue, 9) end

-- Tells those who have come to be among the first because `gone` ahead of them have left the queue.
local function notify_watchers(gone)
  local from = math.max(WATCHERS - gone, 0)
  for i, token in ipairs(redis.call('ZRANGE', queue, from, WATCHERS - 1)) do notify_watcher(token, from + i - 1) end
end

-- Since when silence counts. Some waiter sends a heartbeat every few seconds. If none was heard for longer, or the last
-- one lies in the future, the clock has stepped or the server stood still, and no waiter counts as silent. And whether, as
-- far as is known, all who live are far behind: the others are frozen, and so long a silence is nothing new.
local function silence_counts_from()
  local heard, from = string.match(redis.call('HGET', info, '@') or '', '^(%d+) (%d+)$')
  if not heard then return 0 end
  heard = tonumber(heard)
  if heard > now() + MAX_FAR_US + CLOCK_STEP_US or now() - heard > CLOCK_STEP_US then return now(), true end
  return tonumber(from), heard > now()
end

local function silent(seen, limit)
  return now() - seen >= limit and now() - silence_counts_from() >= limit
end

-- NUMSUB, not the count that PUBLISH returns: that one includes pattern subscribers.
local function alive(token, wake, seen)
  if wake == 'p' then return not silent(seen, SILENT_POLL_US) end
  if not moving then
    local channel = channel_of(token)
    local reply = redis.pcall('PUBSUB', wake == 'c' and 'SHARDNUMSUB' or 'NUMSUB', channel)
    local is_alone = not reply.err and reply[2] == 0
    if is_alone and not wake then is_alone = redis.pcall('PUBSUB', 'SHARDNUMSUB', channel)[2] ~= 1 end
    if is_alone then return false end
  end
  return not seen or not silent(seen, SILENT_US)
end

-- A walk along the queue. self, ticket: the caller, who is alive by calling and stands where its ticket says, in the queue or
-- not; nil: the caller does not wait. succeeded: a run has just succeeded.
--   first, mode  the first living waiter, false: there is none; its mode, nil of self
--   waits        self stands in the queue
--   dead         those that stand dead before the first
--   is_cut       so many are dead, or were let in, that the others have to be looked at by another call; no first then
local function walk_of(self, ticket, succeeded)
  return {self = self, ticket = ticket, succeeded = succeeded, left = MAX_WALK, dead = {}}
end

-- A walk where there is no queue: self is the first.
local function walk_alone(self) return {first = self, self = self, dead = {}, is_alone = true} end

-- Finds the first one anew. Where a run has just succeeded, a waiter with a --once has nothing to wait for: it is told to ask,
-- and counts as dead. Writes nothing: a script that grants must begin with a write that a full server refuses. A delete is not
-- refused, and after it the server would accept the other writes.
local function find_first(walk)
  walk.first, walk.mode = false, nil
  while not walk.is_alone do
    local at = #walk.dead
    local entry = redis.call('ZRANGE', queue, at, at, 'WITHSCORES')
    local token = entry[1]
    walk.waits = walk.waits or token and token == walk.self
    if walk.self and (not token or token == walk.self or walk.ticket < tonumber(entry[2])) then
      walk.first = walk.self
      return
    end
    if not token then return end
    walk.is_cut = walk.left <= 0
    if walk.is_cut then return end
    walk.left = walk.left - 1 - math.floor(#token / 1000)  -- a long one takes its time
    local wake, seen, _, once, _, mode = record_of(token)
    if walk.succeeded and once == HAS_ONCE then
      publish(channel_of(token), wake, 'g')
    elseif alive(token, wake, seen) then
      walk.first, walk.mode = token, mode or 'x'
      return
    end
    walk.dead[at + 1] = token
  end
end

local function remove_dead(walk)
  if not walk.dead[1] then return end
  redis.call('ZREM', queue, unpack(walk.dead))
  redis.call('HDEL', info, unpack(walk.dead))
  walk.dead = {}
end

-- Nobody waits: what is left of records, of so many clients, belongs to dead ones.
local function drop_records() drop(info, redis.call('HLEN', info)) end

-- Makes token a holder for ms, beside `several` or alone (nil), and takes it out of the queue, with the dead that the walk has
-- met before it. is_claim: it has yet to confirm that. Returns its fence. The first write is one that a server out of memory
-- refuses.
local function grant(token, ms, wake, who, mode, walk, several, is_claim)
  local records = redis.call('HLEN', info)  -- fails on a key of another type, while nothing is written
  local fence = next_fence()
  if mode == 'x' then write_lock(token, ms, is_claim) else add_holder(token, ms, mode, several) end
  if not walk.is_alone then
    records = records - #walk.dead
    remove_dead(walk)
    redis.call('ZREM', queue, token)
    sweep(records, mode ~= 'x')
  elseif not several then
    drop(info, records)  -- nobody waits: what is left there belongs to dead clients
  end
  redis.call('HSET', info, token, pack(wake, now(), fence, who, mode))
  extend_key(info, ms + QUEUE_MS)
  return fence
end

-- Hands the lock to a waiter: from here on it holds, for a short claim lease, whatever happens to the message. If
-- ACLs deny the publish, a watching subscriber sees the change, and another one finds it with its next heartbeat; a
-- poller looks within the claim lease.
local function hand_off(token, mode, walk, several)
  local wake, _, _, _, who = record_of(token)
  grant(token, wake == 'p' and CLAIM_POLL_MS or CLAIM_MS, wake or 's', who or '', mode, walk, several, true)
  local said = publish(channel_of(token), wake, 'g')
  if type(said) ~= 'table' or wake == 'p' then return end
  if mode == 'x' then redis.call('PEXPIRE', lock, UNHEARD_MS) else prolong(token, UNHEARD_MS) end
end

-- Lets in all who may hold now, in the order of their tickets, until one may not: nobody passes that one. walk: as find_first
-- has left it; several, count: who holds; me: ttl, wake, who and mode of the walk's self. Returns the fence of self where
-- it is let in, and how many came in.
local function admit(walk, several, count, me)
  local entered, gone, fence = 0, 0, nil
  while walk.first do
    local is_self = walk.first == walk.self
    local mode = is_self and me.mode or walk.mode
    if not may_enter(mode, several, count) then break end
    entered = entered + 1
    if not walk.is_alone then gone = gone + #walk.dead + 1 end
    if is_self then
      fence = grant(walk.self, me.ttl, me.wake, me.who, mode, walk, several)
      walk.self = nil
    else
      hand_off(walk.first, mode, walk, several)
    end
    if mode == 'x' then break end
    several, count = mode, several and count + 1 or 1
    find_first(walk)
  end
  if walk.is_cut then
    gone = gone + #walk.dead
    remove_dead(walk)
  end
  if gone > 0 then notify_watchers(gone) end
  local next_one = walk.is_cut and entered > 0 and redis.call('ZRANGE', queue, 0, 0)[1]
  if next_one then publish(channel_of(next_one), record_of(next_one), 'h 0') end
  return fence, entered
end
