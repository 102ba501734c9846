-- What may be denied and can be done without. The build puts this file in front of all others.

-- Does a command that is allowed, and returns its reply or the error. What is denied is not tried: the server would log it
-- each time, and nothing of it may stop a release. Before Redis 7 all is tried.
local function try(...) return (not redis.acl_check_cmd or redis.acl_check_cmd(...)) and redis.pcall(...) end
