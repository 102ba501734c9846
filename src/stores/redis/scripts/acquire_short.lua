-- The short ways of acquire, in front of all that they do not need, for one who is to hold the lock alone: nothing is there of
-- it, or it was handed to this token. What a script defines costs as much with each call as what it does.

if not moving and ARGV[6] == '' and ARGV[7] == 'x' and (ARGV[8] or '') == '' then
  local token, ttl = ARGV[1], tonumber(ARGV[2])
  if ARGV[3] == '' then
    -- The second look finds nothing new, but who is denied it could not release the lock.
    if redis.call('EXISTS', lock, tombstone, queue, info) == 0 and redis.call('GETRANGE', lock, 0, 0) == '' then
      local fence = next_fence()
      write_lock(token, ttl)
      redis.call('HSET', info, token, pack(ARGV[4], now(), fence, ARGV[5], 'x'))
      redis.call('PEXPIRE', info, ttl + QUEUE_MS)
      return {1, fence, ''}
    end
  elseif holder_of_lock() == token then
    local record = redis.pcall('HGET', info, token)
    local fence = type(record) == 'string' and tonumber(string.match(record, '^' .. VERSION .. ' %a %d+ %d+ (%d+) '))
    if fence and fence > 0 then
      extend_lock(ttl)
      confirm_lock()
      redis.call('ZREM', queue, token)
      extend_key(info, ttl + QUEUE_MS)
      return {1, fence, ''}
    end
  end
end
