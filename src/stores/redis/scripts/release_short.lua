-- The short ways of release, in front of all that they do not need: the holder has held alone, and nobody waits, or the
-- first in the queue is subscribed and wants it alone. What a script defines costs as much with each call as what it does.
-- Nothing is swept out here: records are left over where a lease has lapsed, and then the next one is granted by acquire.

local exit, once = string.match(ARGV[7] or '', '^(%-?%d+) %d+ (%d+) ')

-- Of the run that ends, before anything of it is deleted: its fence has to stay for as long as the last run, but that of the first
-- run of a name is gone where the run was long. Nothing that is refused here or below may stop the release. No key is made that
-- may be on another node.
local fence_left = exit and not is_elsewhere(fences) and redis.pcall('PTTL', fences)
local fence_of_run = fence_left == -2 and not is_elsewhere(info) and select(4, record_of(ARGV[1]))

local function remember_fence(ms)
  if not fence_left or fence_left >= ms then return end
  if fence_left ~= -2 then
    redis.pcall('PEXPIRE', fences, ms)
  elseif (fence_of_run or 0) > 0 then
    redis.pcall('SET', fences, integer(fence_of_run), 'PX', ms)
  end
end

local function write_last_run(run, exit, once)
  if is_elsewhere(last) then return end
  local succeeded = '= ='
  local before = redis.pcall('GETRANGE', last, 0, MAX_LAST)
  if type(before) == 'string' and before ~= '' then
    local longest, of_before, ended = string.match(before, '^1 (%d+) (%S+ %S+) (%d+ %d+) ')
    if longest and tonumber(longest) > tonumber(once) then once = longest end
    if exit ~= '0' then succeeded = of_before == '= =' and ended or of_before or '0 0' end
  elseif exit ~= '0' then
    succeeded = '0 0'
  end
  local ms = math.max(tonumber(once), tonumber(ARGV[8] or '') or 0)
  if ms == 0 then return redis.pcall('DEL', last) end
  remember_fence(ms)
  local ended = time()
  local text = '1 ' .. once .. ' ' .. succeeded .. ' ' .. ended[1] .. ' ' .. ended[2] .. ' ' .. run
  redis.pcall('SET', last, text, 'PX', ms)
end

-- Whether the lock is surely not to be left free for libraries now (window.lua).
local function is_due_to_none()
  local they_wait = do_libraries_wait()
  if they_wait ~= nil then return not they_wait end
  local value = redis.pcall('GETRANGE', window, 0, 32)
  local since, after = string.match(type(value) == 'string' and value or '', '^(%d+) (%d+)$')
  local elapsed = since and now() / 1000 - since
  return elapsed and elapsed >= 0 and elapsed < tonumber(after)
end

local MAX_LEFT = 100           -- records that are deleted with the lock; of more the long way knows how long they take

if not moving and ARGV[3] == '' and (ARGV[6] or '') == '' and holder_of_lock() == ARGV[1] then
  local heads = redis.pcall('ZRANGE', queue, 0, WATCHERS)
  local first = heads[1]
  local is_last = not first and not heads.err and (tonumber(redis.pcall('HLEN', info)) or 0) <= MAX_LEFT
  local record = first and redis.pcall('HGET', info, first)
  local wake, seen, with_once, who =
    string.match(type(record) == 'string' and #record <= MAX_RECORD and record or '', '^' .. VERSION .. ' ([cs]) (%d+) %d+ (%d+) (.*)$')
  -- Nobody else has a say, and nothing that is asked here fails later.
  local hands_over = wake and ARGV[5] ~= '1' and not (exit == '0' and tonumber(with_once) == HAS_ONCE) and
                     now() - seen < SILENT_US and is_due_to_none() and
                     redis.pcall('PUBSUB', wake == 'c' and 'SHARDNUMSUB' or 'NUMSUB', channel_of(first))[2] == 1

  if is_last then redis.call('DEL', lock, info) end  -- what is left there belongs to dead clients
  if hands_over then
    delete_lock()
    redis.call('HDEL', info, ARGV[1])
  end
  if is_last or hands_over then
    if exit then write_last_run(ARGV[7], exit, once) end
    if ARGV[2] ~= '0' then redis.pcall('SET', tombstone, '', 'PX', ARGV[2]) end
    if is_last then
      notify_libraries()
      return {1, ''}
    end
    local fence = next_fence()
    write_lock(first, CLAIM_MS, true)
    redis.call('ZREM', queue, first)
    redis.call('HSET', info, first, pack(wake, now(), fence, who, 'x'))
    -- The server sends first what was published last, and the next holder is not to wait for it.
    if heads[WATCHERS + 1] then notify_watcher(heads[WATCHERS + 1], WATCHERS - 1) end
    if type(publish(channel_of(first), wake, 'g')) == 'table' then redis.call('PEXPIRE', lock, UNHEARD_MS) end
    return {1, ''}
  end
end
