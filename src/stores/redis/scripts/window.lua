-- The window for other libraries. A library that waits (SET NX, again and again) is in no queue and cannot be seen, and a
-- lock that is handed from waiter to waiter is never free. So once rlocks have handed the lock to each other for a while, a
-- release leaves it free for WINDOW_MS: no rlock acquires it, not even the first of the queue. The build puts this in front
-- of acquire and release.
--
-- The rule is the same for every key, also for those with rlock's own prefix: AFTER is SEEN_MS if a library was met as a
-- holder within MET_MS, else UNSEEN_MS.
--
-- KEYS[7] window  string "SINCE AFTER", where rlocks have handed the lock to each other, or have met a library
--                   SINCE  since when rlocks have it for themselves, server milliseconds. Neither an empty queue nor a
--                          library's turn starts that anew. In the future: the window is open until then
--                   AFTER  the window opens after so many milliseconds
--
-- Where the queue was lost, the lock is left free for the waiters in the same way (gather).
--
-- While a Cluster moves the slot there is no window. Nor is there one where several servers vote (release, ARGV[5]): they
-- would be free at different times, which is of no use to a library that wants most of them.
--
-- Of each form of the lock's key, in its file: WINDOW_MS; SEEN_MS, which is AFTER since a holder was seen that is no rlock;
-- and where it can be seen whether libraries wait, do_libraries_wait(): while none does there is no window, and while some do
-- AFTER is SEEN_MS.

local GATHER_MS = 100          -- so long a free lock whose queue was lost is left to nobody, for the waiters to come back
                               -- no more than any WINDOW_MS

-- SINCE, AFTER, the time in milliseconds, and for how many more the free lock is left to libraries; no SINCE where they are
-- not known. A clock that has stepped back opens no window.
local function libraries()
  local value = redis.pcall('GETRANGE', window, 0, 32)
  local since, after = string.match(type(value) == 'string' and value or '', '^(%d+) (%d+)$')
  local time = math.floor(now() / 1000)
  local left = since and since - time or 0
  return tonumber(since), tonumber(after), time, left > 0 and left <= WINDOW_MS and left or 0
end

-- The queue of a free lock was lost, and the first has come back to it: nobody has the lock until the others are back too, as
-- in the time of libraries. Returns for how many milliseconds.
local function gather()
  local since, after, time = libraries()
  redis.call('SET', window, integer(time + GATHER_MS) .. ' ' .. (after or UNSEEN_MS), 'PX',
             since and math.max(redis.call('PTTL', window), GATHER_MS) or GATHER_MS)
  return GATHER_MS
end
