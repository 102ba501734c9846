-- Who holds a lock that several may hold: the readers of a shared lock, or those who have its slots. Shared by every script,
-- as common.lua is. One who holds alone stands in the key of the lock (plain.lua), and pays for nothing here.
--
-- KEYS[8] holders  ZSET: holder's token -> end of its lease (server milliseconds)
-- The value of the lock is then the marker "rlock:holders:MODE" (see MODE in common.lua), with a PX of the latest of these
-- ends. To libraries and to an rlock that does not know it, that is a foreign holder. A holder whose end has come holds no
-- more. A marker without holders is a free lock. Where the marker is gone, nobody holds, whatever stands in `holders`.

-- A call must not hold up the server, whatever there is of a lock.
local MAX_WALK = 256           -- waiters or holders that one call looks at, and acts on
local MAX_LISTED = 1000        -- tokens that one call lists

-- What a script returns that cannot do its work before the move is over.
local UNSTABLE = {err = 'TRYAGAIN the keys of the lock are being moved'}

-- What a script returns to a token that does not hold the lock.
local function not_held(holder) return {holder and 0 or -1, has_tombstone() and 1 or 0} end

-- The mode in which several hold a lock of this value; nil: one holds it, or nobody.
local function mode_of_marker(value)
  return type(value) == 'string' and string.match(value, '^rlock:holders:(%w+)$') or nil
end

local function now_ms() return math.floor(now() / 1000) end

-- The tokens of those who hold, as the lock is in a mode for several; of more than can be listed the first.
local function living()
  return redis.call('ZRANGEBYSCORE', holders, '(' .. integer(now_ms()), '+inf', 'LIMIT', 0, MAX_LISTED)
end

-- Deletes a key of so many entries. What takes long to be freed is freed in the background, where that is allowed.
local function drop(key, entries)
  if entries == 0 then return end
  if entries > MAX_LISTED and type(redis.pcall('UNLINK', key)) == 'number' then return end
  redis.call('DEL', key)
end
local function drop_holders() drop(holders, redis.call('ZCARD', holders)) end

-- The holder as holder_of_lock() has it. Where several hold: the marker, their mode, and how many they are; without their
-- number where that cannot be said before the move is over.
local function who_holds()
  local holder = holder_of_lock()
  local several = mode_of_marker(holder)
  if not several then return holder end
  if is_elsewhere(holders) then return holder, several end
  local count = redis.call('ZCOUNT', holders, '(' .. integer(now_ms()), '+inf')
  if count == 0 then return false end
  return holder, several, count
end

-- Redisson's lock is a hash: "UUID:THREAD" -> count, and "mode" where it is one for readers and writers.
local function is_redisson()
  local fields = redis.pcall('HLEN', lock)
  if type(fields) == 'table' or fields > 1000 then return false end
  for _, field in ipairs(redis.call('HKEYS', lock)) do
    if field ~= 'mode' and not string.match(field, '^%x+%-%x+%-%x+%-%x+%-%x+:%d+') then return false end
  end
  return true
end

-- A lock of this or another library: a string that can be a token.
local function is_string()
  local value = redis.pcall('GETRANGE', lock, 0, MAX_TOKEN)
  return type(value) == 'string' and #value <= MAX_TOKEN
end

-- Whether a FOREIGN holder is a lock as the other set of scripts has it.
local function is_of_other_form()
  if IS_REDISSON then return is_string() end
  return is_redisson()
end

-- Whether what stands under the name of the lock is other data, and no lock of anybody.
local function is_other_data(holder) return holder == FOREIGN and not is_string() and not is_redisson() end

-- When the lease of one of several holders ends; false: it does not hold.
local function end_of(token)
  local ends = tonumber(redis.call('ZSCORE', holders, token) or 0)
  return ends > now_ms() and ends
end

-- Whether token holds the lock, as who_holds() has found it.
local function is_holder(token, holder, several)
  return holder == token or several ~= nil and end_of(token) ~= false
end

-- Whether modes can wait for each other: exclusive and shared can, a number of slots only with the same number. Else the
-- users of the lock do not agree on what it is.
local function can_mix(mode, other) return mode == other or not (tonumber(mode) or tonumber(other)) end

-- Whether one more may hold, beside `count` holders in the mode `several`, or beside nobody (nil).
local function may_enter(mode, several, count)
  return not several or mode ~= 'x' and mode == several and (mode == 's' or count < tonumber(mode))
end

-- Lets the lease of one of several holders, and the lock, last for ms from now at least. The first write is one that a full
-- server accepts.
local function prolong(token, ms)
  extend_lock(ms)
  redis.call('ZADD', holders, integer(math.max(end_of(token) or 0, math.ceil(now() / 1000) + ms)), token)
  extend_key(holders, ms + QUEUE_MS)
end

-- Makes token one of several holders for ms. several: nil where nobody holds. The first write of a free lock is one that a
-- full server refuses; beside others it is the caller's.
local function add_holder(token, ms, mode, several)
  if several then
    for _, gone in ipairs(redis.call('ZRANGEBYSCORE', holders, '-inf', integer(now_ms()), 'LIMIT', 0, MAX_WALK)) do
      redis.call('ZREM', holders, gone)
      redis.call('HDEL', info, gone)
    end
  else
    write_lock('rlock:holders:' .. mode, ms)
    drop_holders()
  end
  prolong(token, ms)
end

-- The lock ends with the last of its holders. A write in any case: it tells those who watch the key.
local function end_with(last)
  if redis.call('PTTL', lock) >= 0 then redis.call('PEXPIRE', lock, integer(tonumber(last) - now_ms())) end
end

-- Lets the place of one of several holders be held for ms by nobody, as hold_lock does with the lock of one.
local function hold_place(token, ms)
  redis.call('ZREM', holders, token)
  prolong('hold:' .. token, ms)
  end_with(redis.call('ZRANGE', holders, -1, -1, 'WITHSCORES')[2])
  return 'hold:' .. token
end

-- Takes a token from several holders. Returns the mode and the number of those who are left; nil: nobody, the lock is free.
local function remove_holder(token, several)
  redis.call('ZREM', holders, token)
  local last = redis.call('ZRANGE', holders, -1, -1, 'WITHSCORES')[2]
  if not last or tonumber(last) <= now_ms() then
    delete_lock()
    drop_holders()
    return
  end
  end_with(last)
  return several, redis.call('ZCOUNT', holders, '(' .. integer(now_ms()), '+inf')
end

-- What those who wait for several have to know: when one of them, or all, may have ended, in milliseconds, and the record
-- of that one. A slot is free when the first has ended; a shared lock when the last has, and more readers need not wait.
local function next_end(several)
  local found = several == 's' and redis.call('ZRANGE', holders, -1, -1, 'WITHSCORES') or
                redis.call('ZRANGEBYSCORE', holders, '(' .. integer(now_ms()), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  return tonumber(found[2]) - now_ms(), not is_elsewhere(info) and text_of(found[1]) or ''
end
