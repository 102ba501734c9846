-- The queue of a lock, shared by every script as common.lua is: who is alive in it, and how the first gets the lock.

-- Deletes records of dead holders and of lapsed claims when there are many. count: of all records, about; several: the
-- records of those who hold stay.
local function sweep(count, several)
  local of_holders = several and redis.call('ZCARD', holders) or 0
  if count <= redis.call('ZCARD', queue) + of_holders + 16 then return end
  for _, token in ipairs(redis.call('HKEYS', info)) do
    local is_needed = string.sub(token, 1, 1) == '@' or redis.call('ZSCORE', queue, token) or several and redis.call('ZSCORE', holders, token)
    if not is_needed then redis.call('HDEL', info, token) end
  end
end

local function channel_of_all() return 'rlock:w:' .. string.sub(queue, 9) end

-- Tells those who have come to be among the first because `gone` ahead of them have left the queue.
local function tell_watchers(gone)
  local from = math.max(WATCHERS - gone, 0)
  for i, token in ipairs(redis.call('ZRANGE', queue, from, WATCHERS - 1)) do tell_watcher(token, from + i - 1) end
end

-- Since when silence counts. Some waiter sends a heartbeat every few seconds. If none was heard for longer, or the last
-- one lies in the future, the clock has stepped or the server stood still, and no waiter counts as silent. And whether, as
-- far as is known, all who live are far behind: the others are frozen, and so long a silence is nothing new.
local function silence_counts_from()
  local heard, from = string.match(redis.call('HGET', info, '@') or '', '^(%d+) (%d+)$')
  if not heard then return 0 end
  heard = tonumber(heard)
  if heard > now() + MAX_FAR_US + GAP_US or now() - heard > GAP_US then return now(), true end
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

-- First living waiter, or false; those that stand dead before it; and its mode. `self`, the caller, is alive by calling, and
-- comes without a mode. Where a run has just succeeded, a waiter with a --once has nothing to wait for: it is told to ask,
-- and counts as dead. Writes nothing: a script that grants must begin with a write that a full server refuses. A delete is
-- not refused, and after it the server would accept the other writes.
local function first_waiter(self, succeeded)
  local dead = {}
  while true do
    local token = redis.call('ZRANGE', queue, #dead, #dead)[1]
    if not token or token == self then return token or false, dead end
    local wake, seen, _, once, _, mode = record_of(token)
    if succeeded and once == HAS_ONCE then
      publish(channel_of(token), wake, 'g')
    elseif alive(token, wake, seen) then
      return token, dead, mode or 'x'
    end
    dead[#dead + 1] = token
  end
end

local function remove_dead(dead)
  for _, token in ipairs(dead) do
    redis.call('ZREM', queue, token)
    redis.call('HDEL', info, token)
  end
end

-- Makes token a holder for ms, beside `several` or alone (nil), and takes it out of the queue, with the `dead` that stood
-- before it; no dead: there is no queue. Returns its fence. The first write is one that a server out of memory refuses.
local function grant(token, ms, wake, who, mode, dead, several)
  local records = (dead or several) and redis.call('HLEN', info)  -- fails on a key of another type, while nothing is written
  local fence = next_fence()
  if mode == 'x' then write_lock(token, ms) else add_holder(token, ms, mode, several) end
  if dead then
    remove_dead(dead)
    redis.call('ZREM', queue, token)
    sweep(records - #dead, mode ~= 'x')
  elseif not several then
    redis.call('DEL', info)  -- nobody waits: what is left there belongs to dead clients
  end
  redis.call('HSET', info, token, pack(wake, now(), fence, who, mode))
  keep(info, ms + QUEUE_MS)
  return fence
end

-- Hands the lock to a waiter: from here on it holds, for a short claim lease, whatever happens to the message. If
-- ACLs deny the publish, a watching subscriber sees the change, and another one finds it with its next heartbeat; a
-- poller looks within the claim lease.
local function hand_off(token, mode, dead, several)
  local wake, _, _, _, who = record_of(token)
  grant(token, wake == 'p' and CLAIM_POLL_MS or CLAIM_MS, wake or 's', who or '', mode, dead, several)
  local said = publish(channel_of(token), wake, 'g')
  if type(said) ~= 'table' or wake == 'p' then return end
  if mode == 'x' then redis.call('PEXPIRE', lock, UNHEARD_MS) else prolong(token, UNHEARD_MS) end
end

-- Hands the lock to the waiters at the head of the queue, one after the other, until one may not enter: nobody passes that
-- one. first, dead, mode: as first_waiter(self, succeeded) has just returned them; several, count: who holds by now.
-- Returns the same as it is then, several being 'x' behind a hand-off to one alone.
local function admit(self, first, dead, mode, several, count, succeeded)
  local gone = 0
  while first and first ~= self and may_enter(mode, several, count) do
    hand_off(first, mode, dead, several)
    gone = gone + #dead + 1
    several, count = mode, several and count + 1 or 1
    if mode == 'x' then break end
    first, dead, mode = first_waiter(self, succeeded)
  end
  if gone > 0 then tell_watchers(gone) end
  return first, dead, mode, several, count
end
