-- Shared by every script: the build puts this file in front of each of the others.
--
-- KEYS[1] lock   string: the holder's token, with a PX. Any other value, or a key of another
--                type, belongs to a foreign library and is only ever respected.
-- KEYS[2] queue  ZSET: waiter's token -> ticket (server microseconds at its first arrival)
-- KEYS[3] info   HASH: token -> record "WAKE SEEN SINCE FENCE WHO"
--                  WAKE   s: subscribed to its channel, p: polls (channels are denied to it)
--                  SEEN   last sign of life of a waiter, server microseconds
--                  SINCE  ticket of a waiter, time of the grant of a holder, server microseconds
--                  FENCE  of a holder; 0 while waiting
--                  WHO    free text for status, never read here
-- KEYS[4] fence  string: the last fence given out
-- KEYS[5] spent  string: exists once this token has left; a late command of it does nothing
--
-- Channel of a waiter: "rlock:w:" .. what follows "rlock:q:" in KEYS[2] .. ":" .. token.
-- Messages: "g" the lock is yours, confirm with enter; "h MS" you are next, look again in MS.

local lock, queue, info, fences, spent = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]

local CLAIM_MS = 3000          -- a hand-off not confirmed within this goes to the next
local UNHEARD_MS = 9000        -- the same where no message could be sent: longer than between two pokes
local SILENT_US = 20000000     -- a subscriber that has not poked for so long is frozen or gone
local SILENT_POLL_US = 3000000 -- the same for one that polls
local QUEUE_MS = 60000         -- side keys outlive the last sign of life by this
local FENCE_MS = 86400000      -- the clock alone keeps fences growing after this

local FOREIGN = {}             -- stands for a holder that is no string

-- Server microseconds, one instant for the whole script; asked for when needed.
local asked_time
local function now()
  if not asked_time then
    local time = redis.call('TIME')
    asked_time = time[1] * 1000000 + time[2]
  end
  return asked_time
end

local function integer(number) return string.format('%.0f', number) end

-- The holder's token, FOREIGN, or false when the lock is free.
local function holder_of_lock()
  local value = redis.pcall('GET', lock)
  if type(value) ~= 'table' then return value end
  if string.sub(value.err, 1, 9) == 'WRONGTYPE' then return FOREIGN end
  return redis.call('GET', lock)  -- fails again, in the server's own words
end

-- Lets key live for at least ms more; never shortens a life.
local function keep(key, ms)
  if redis.call('PTTL', key) < ms then redis.call('PEXPIRE', key, ms) end
end

local function pack(wake, since, fence, who)
  return wake .. ' ' .. integer(now()) .. ' ' .. integer(since) .. ' ' .. integer(fence) .. ' ' .. who
end

-- wake, seen, since, fence, who of a token, or nothing when it has no (readable) record.
local function record_of(token)
  local record = redis.call('HGET', info, token)
  if not record then return end
  local wake, seen, since, fence, who = string.match(record, '^(%a) (%d+) (%d+) (%d+) (.*)$')
  return wake, tonumber(seen), tonumber(since), tonumber(fence), who
end

local function next_fence()
  local fence = math.max((tonumber(redis.call('GET', fences) or 0) or 0) + 1, now())
  redis.call('SET', fences, integer(fence), 'PX', FENCE_MS)
  return fence
end

-- Records of holders that died, and of claims that ran out, go when they have become many.
local function sweep()
  if redis.call('HLEN', info) <= redis.call('ZCARD', queue) + 16 then return end
  for _, token in ipairs(redis.call('HKEYS', info)) do
    if not redis.call('ZSCORE', queue, token) then redis.call('HDEL', info, token) end
  end
end

-- Makes token the holder of a free lock for ms, and takes it out of the queue where it was `queued`.
-- Returns its fence. The first write is one that a server out of memory refuses: before any delete,
-- which would open the way for it.
local function grant(token, ms, wake, who, queued)
  local fence = next_fence()
  redis.call('SET', lock, token, 'PX', ms)
  if queued then
    redis.call('ZREM', queue, token)
    sweep()
  else
    redis.call('DEL', info)  -- nobody waits: what is left there is of the dead
  end
  redis.call('HSET', info, token, pack(wake, now(), fence, who))
  keep(info, ms + QUEUE_MS)
  return fence
end

local function channel_of(token)
  return 'rlock:w:' .. string.sub(queue, 9) .. ':' .. token
end

-- NUMSUB, not the count that PUBLISH returns: that one includes pattern subscribers.
local function alive(token, wake, seen)
  if wake == 'p' then return now() - seen < SILENT_POLL_US end
  local reply = redis.pcall('PUBSUB', 'NUMSUB', channel_of(token))
  if not reply.err and reply[2] == 0 then return false end
  return not seen or now() - seen < SILENT_US
end

-- First living waiter, or false. Whoever stands dead before it leaves the queue; `self`, the
-- caller, is alive by calling.
local function first_waiter(self)
  while true do
    local token = redis.call('ZRANGE', queue, 0, 0)[1]
    if not token or token == self then return token or false end
    local wake, seen = record_of(token)
    if alive(token, wake, seen) then return token end
    redis.call('ZREM', queue, token)
    redis.call('HDEL', info, token)
  end
end

-- Hands a free lock to a waiter: from here on it holds, for a short claim lease, whatever
-- happens to the message. Where ACLs deny the publish, a subscriber's next poke finds out; who polls
-- looks so often that the claim lease is enough.
local function hand_off(token)
  local wake, _, _, _, who = record_of(token)
  grant(token, CLAIM_MS, wake or 's', who or '', true)
  local said = redis.pcall('PUBLISH', channel_of(token), 'g')
  if type(said) == 'table' and wake ~= 'p' then redis.call('PEXPIRE', lock, UNHEARD_MS) end
  local next = redis.call('ZRANGE', queue, 0, 0)[1]
  if next then redis.pcall('PUBLISH', channel_of(next), 'h ' .. CLAIM_MS) end
end
