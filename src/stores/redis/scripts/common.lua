-- Shared by every script: the build puts this file in front of each of the others, behind plain.lua, which has what the
-- key of the lock is: KEYS[1], and behind what rlock has to agree on with the scripts (constants.hpp). Behind it come
-- holders.lua, for locks that several hold, and queue.lua: who is next, and how that one gets the lock.
--
-- KEYS[2] queue  ZSET: waiter's token -> ticket (server microseconds at its first arrival)
-- KEYS[3] info   HASH: token -> record "1 WAKE SEEN SINCE FENCE WHO", or "2 WAKE SEEN SINCE FENCE MODE WHO"
--                  1, 2   version. Another release of rlock may write another one. Its records are not read, and its
--                         waiters keep their places as long as they are subscribed
--                  WAKE   s: subscribed to its channel, c: the same, a sharded channel of a Cluster, p: polls (channels
--                         are denied to it), h: a holder whose command has ended (--hold)
--                  SEEN   last heartbeat of a waiter, server microseconds; of one far behind, a time to come, until which
--                         it counts as heard
--                  SINCE  ticket of a waiter, time of the grant of a holder, server microseconds
--                  FENCE  of a holder; of a waiter 0, or 1 where it has a --once
--                  MODE   'x' exclusive: then it is version 1; 's' shared; or the number of slots
--                  WHO    free text for status, never read here
--                and "@" -> "HEARD FROM": when a waiter was last heard, and since when silence counts; HEARD is to come, until
--                when one is to be heard, where all who live are far behind;
--                "@reclaimed" -> the last fence, as it was when one of several holders last reclaimed the lock
-- KEYS[4] fence  string: the last fence given out
-- KEYS[5] tombstone  string: exists once this token was released; a late command of it does nothing
-- KEYS[6] last   string: the last run, "1 LONGEST SUCCEEDED ENDED" and ARGV[7] of its release
--                  1          version; another one is not read
--                  LONGEST    the longest --once of any run, milliseconds
--                  SUCCEEDED  when one last did, as ENDED; "= =": this one, "0 0": none
--                  ENDED      when this one did, as the server's TIME: two numbers, seconds and microseconds
-- KEYS[7] window  see window.lua
-- KEYS[8] holders  see holders.lua
--
-- Channel of a waiter: "rlock:w:" .. what follows "rlock:q:" in KEYS[2] .. ":" .. token.
-- Messages: "g" you have been handed the lock, confirm with acquire; "h MS" you are now among the first, look in MS.
-- Channel of all waiters of the lock: the same without ":" .. token.
-- Message: "r" the queue was lost, return to it with your ticket.
--
-- While a Cluster moves a slot to another node, it does so key by key, and refuses commands whose keys are not all there
-- yet. Then only the lock is in KEYS; ARGV ends with the other seven names and `moving`. The node that the slot leaves is
-- asked first. It serves this as long as it has the lock, and makes no new keys; the other one serves it afterwards.
--   "split"  something of the lock may be on the other node. A key that is not here must not be made: it may come from
--            there, and would stop the move. On the old node, a call with a key that is not here fails.
--   "ended"  the same, and the old node has the tombstone of this token, which is not made here a second time.
--   "whole"  nothing of the lock is left on the old node: all works, apart from calls with several keys.
-- Waiters are subscribed at one node or the other; meanwhile they ask often, and live as long as they do.
--
-- The first WATCHERS of the queue watch the lock's key (client tracking), for events without a message: a foreign
-- holder releases, a flush, a deleted side key, a hand-off to a frozen waiter. A waiter that becomes one of them gets
-- "h"; one that is among them from the start sees it by its rank.

local moving = not KEYS[2] and ARGV[#ARGV]
local has_ended = moving == 'ended'
local split = moving == 'split' or has_ended
local function name(i) return KEYS[i] or ARGV[#ARGV - 9 + i] end
local queue, info, fences, tombstone, last, window, holders =
  name(2), name(3), name(4), name(5), name(6), name(7), name(8)

local VERSION = '1'            -- of the records; lock/who.cpp reads them too
local VERSION_OF_SEVERAL = '2'
local WATCH_STEP_MS = 100
local SILENT_POLL_US = 3000000 -- as SILENT_US, of one that polls
local FRESH_US = 1000000       -- a heartbeat later than this after the last one is written
local QUEUE_MS = 60000         -- side keys outlive the last heartbeat by this
local FENCE_MS = 86400000      -- after the clock has caught up with it: from then on the clock keeps it growing
local FENCE_FIRST_MS = 900000  -- the same for the first fence of a name: most names are used once only. A run that ends keeps it
                               -- for as long as its last run
local MAX_LAST = 1023          -- bytes; more of a last run is not read
local MAX_RECORD = 131072      -- bytes; a longer record is not read: no rlock writes a twentieth of it
local UNSEEN_MS = 60000        -- see window.lua: a library that no rlock has met has to get a turn some time
local MET_MS = 3600000         -- for how long it is remembered that a library was met
local HAS_ONCE = 1             -- in place of a waiter's fence

-- Server microseconds, one instant for the whole script; asked for when needed.
local asked, asked_time
local function time()
  asked = asked or redis.call('TIME')
  return asked
end
local function now()
  asked_time = asked_time or time()[1] * 1000000 + time()[2]
  return asked_time
end

-- Whether a key exists on this node.
local function is_here(key) return redis.pcall('EXISTS', key) == 1 end

local function has_tombstone() return has_ended or is_here(tombstone) end

-- Whether a key may exist on the other node of a slot that moves: it is not on this one.
local function is_elsewhere(key) return split and not is_here(key) end

local function integer(number) return string.format('%.0f', number) end

-- Lets a side key live for at least ms more; never shortens its ttl.
local function extend_key(key, ms)
  if redis.call('PTTL', key) < ms then redis.call('PEXPIRE', key, ms) end
end

-- Lets the lock live for at least ms more. A lock without a ttl keeps having none. Writes even if nothing changes: a
-- client that then waits for replicas (WAIT) waits for this write, and behind it for that of a hand-off, which another
-- client made.
local function extend_lock(ms)
  local left = redis.call('PTTL', lock)
  if left >= 0 then redis.call('PEXPIRE', lock, math.max(left, ms)) end
end

-- A field of INFO server, asked for when needed; nothing where it is denied.
local asked_server
local function of_server(field)
  asked_server = asked_server or redis.pcall('INFO', 'server')
  return type(asked_server) == 'string' and string.match(asked_server, field .. ':(%-?%w+)') or nil
end

-- For how many seconds this run of the server is known to be up, where the clock has stepped back to before its start and the
-- uptime is negative, or still too small: since the first look after the step, which leaves a note where the tombstones are.
-- note_ms: for how many milliseconds the note is needed. Writes nothing where it is not: whoever grants has to write first.
local function up_since_step(uptime, note_ms)
  if moving then return 0 end  -- the note may be on the other node
  local note, run = 'rlock:t:' .. string.sub(queue, 9) .. ':@up', of_server('run_id') or ''
  local noted = redis.pcall('GET', note)
  local its_run, since = string.match(type(noted) == 'string' and noted or '', '^(%w*) (%d+)$')
  if its_run == run and now() >= tonumber(since) then return math.floor((now() - since) / 1000000) end
  if uptime < 0 then redis.pcall('SET', note, run .. ' ' .. integer(now()), 'PX', note_ms) end
  return 0
end

-- For how many milliseconds more a free lock is kept for those who held it before the server restarted; 0: anybody may
-- acquire it. `grace` is empty, or "GRACE YOUNG": for how many milliseconds from the start of the server it is kept, and
-- for how many from now at least, since the caller knows more (its master was promoted, or the server was away a moment
-- ago). The uptime runs ahead by up to a second. Fails, with an error reply, where INFO is denied; without GRACE it is not
-- asked for.
local function young_for(grace)
  if (grace or '') == '' then return 0 end
  local ms, young = string.match(grace, '^(%d+) (%d+)$')
  if ms == '0' then return tonumber(young) end
  local uptime = tonumber(of_server('uptime_in_seconds') or '')
  if not uptime then return nil, {err = 'NOINFO the uptime of the server is not to be had'} end
  local function left(up) return (math.ceil(ms / 1000) + 1 - up) * 1000 - math.floor(now() % 1000000 / 1000) end
  if left(uptime) > 0 then uptime = math.max(uptime, up_since_step(uptime, left(uptime))) end
  return math.max(left(uptime), tonumber(young), 0)
end

-- seen: now, if it is left out.
local function pack(wake, since, fence, who, mode, seen)
  local version = mode == 'x' and VERSION or VERSION_OF_SEVERAL
  return version .. ' ' .. wake .. ' ' .. integer(seen or now()) .. ' ' .. integer(since) .. ' ' .. integer(fence) .. ' ' ..
         (mode == 'x' and '' or mode .. ' ') .. who
end

-- The record of a token as it stands there; false when it has none, '' for one that is too long.
local function text_of(token)
  local record = redis.call('HGET', info, token)
  return record and (#record <= MAX_RECORD and record or '')
end

-- wake, seen, since, fence, who, mode of a token; nothing when it has no record, or one of another version.
local function record_of(token)
  local record = text_of(token)
  if not record then return end
  local wake, seen, since, fence, who = string.match(record, '^' .. VERSION .. ' (%a) (%d+) (%d+) (%d+) (.*)$')
  local mode = 'x'
  if not wake then
    wake, seen, since, fence, mode, who =
      string.match(record, '^' .. VERSION_OF_SEVERAL .. ' (%a) (%d+) (%d+) (%d+) (%w+) (.*)$')
  end
  return wake, tonumber(seen), tonumber(since), tonumber(fence), who, mode
end

-- Writes the last fence, to stay until the clock has caught up with it, and ms more, or for as long as the one before it.
local function store_fence(fence, ms)
  local ahead = math.max(math.ceil((fence - now()) / 1000), 0)
  redis.call('SET', fences, integer(fence), 'PX', integer(math.max(ahead + ms, redis.call('PTTL', fences))))
end

-- Whatever else stands in its place is replaced by the time, which it must not outgrow.
local function next_fence()
  local last = redis.call('GET', fences)
  local fence = last and #last <= 16 and string.match(last, '^%d+$') and tonumber(last) + 1 or 0
  if fence > MAX_FENCE then fence = 0 end
  fence = math.max(fence, now())
  store_fence(fence, last and FENCE_MS or FENCE_FIRST_MS)
  return fence
end

local function channel_of(token)
  return 'rlock:w:' .. string.sub(queue, 9) .. ':' .. token
end

-- wake: nil where the record is of another version.
local function publish(channel, wake, message)
  if not wake then redis.pcall('SPUBLISH', channel, message) end
  return redis.pcall(wake == 'c' and 'SPUBLISH' or 'PUBLISH', channel, message)
end

-- Tells a waiter that it is among the first. rank: from 0.
local function notify_watcher(token, rank)
  publish(channel_of(token), record_of(token), 'h ' .. WATCH_MS + rank * WATCH_STEP_MS)
end
