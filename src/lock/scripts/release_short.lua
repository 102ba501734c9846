-- The short way of release, in front of all that it does not need: the holder has held alone, and nobody waits. What a script
-- defines costs as much with each call as what it does.

-- Nothing that is refused here may stop the release. No key is made that may be on another node.
local function write_last_run(run, exit, once)
  if is_lost(last) then return end
  local ms = FENCE_FIRST_MS
  local succeeded = '= ='
  local before = redis.pcall('GETRANGE', last, 0, MAX_LAST)
  if type(before) == 'string' and before ~= '' then
    local longest, of_before, ended = string.match(before, '^1 (%d+) (%S+ %S+) (%d+ %d+) ')
    ms = FENCE_MS
    if longest and tonumber(longest) > tonumber(once) then once = longest end
    if exit ~= '0' then succeeded = of_before == '= =' and ended or of_before or '0 0' end
  elseif exit ~= '0' then
    succeeded = '0 0'
  end
  if once ~= '0' then ms = math.max(tonumber(once), ms) end
  local ended = time()
  local text = '1 ' .. once .. ' ' .. succeeded .. ' ' .. ended[1] .. ' ' .. ended[2] .. ' ' .. run
  redis.pcall('SET', last, text, 'PX', ms)
end

local exit, once = string.match(ARGV[7] or '', '^(%-?%d+) %d+ (%d+) ')

if not moving and ARGV[3] == '' and (ARGV[6] or '') == '' and redis.call('EXISTS', queue) == 0 and holder_of_lock() == ARGV[1] then
  redis.call('DEL', lock, info)  -- what is left there belongs to dead clients
  if exit then write_last_run(ARGV[7], exit, once) end
  if ARGV[2] ~= '0' then redis.pcall('SET', tombstone, '', 'PX', ARGV[2]) end
  tell_libraries()
  return {1, ''}
end
