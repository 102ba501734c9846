-- check: does token hold the lock? Writes nothing: two clients that renew under one token are told of each change of
-- the lock. If each answered with a renewal, they would wake each other for ever.
--
-- ARGV[1] token
--
-- Returns {1, fence, record, mode}   it does; fence 0 and record '' when no record of it is left
--         {0, released}              somebody else holds it; released: 1 when this token has a tombstone, else 0
--         {-1, released}             nobody holds it

local token = ARGV[1]

local holder, several, count = who_holds()
if several and not count then return UNSTABLE end
if not is_holder(token, holder, several) then return not_held(holder) end
if is_elsewhere(info) then return {1, 0, '', several or 'x'} end
local _, _, _, fence = record_of(token)
return {1, fence or 0, text_of(token) or '', several or 'x'}
