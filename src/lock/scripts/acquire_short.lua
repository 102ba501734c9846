-- The short way of acquire, in front of all that it does not need: nothing is there of the lock, for one who is to hold it
-- alone. What a script defines costs as much with each call as what it does. The second look finds nothing new, but who is
-- denied it could not release the lock.

if not moving and ARGV[3] == '' and ARGV[6] == '' and ARGV[7] == 'x' and (ARGV[8] or '') == '' and
   redis.call('EXISTS', lock, tombstone, queue, info) == 0 and redis.call('GETRANGE', lock, 0, 0) == '' then
  local token, ttl = ARGV[1], tonumber(ARGV[2])
  local fence = next_fence()
  write_lock(token, ttl)
  redis.call('HSET', info, token, pack(ARGV[4], now(), fence, ARGV[5], 'x'))
  redis.call('PEXPIRE', info, ttl + QUEUE_MS)
  return {1, fence, ''}
end
