#pragma once

#include <hiredis/hiredis.h>

namespace rlock::redis {

/// Functions with which hiredis builds a Reply instead of its own tree. A reply nested deeper than
/// eight levels is an error: hiredis itself goes on to any depth, and overflows the stack when it frees
/// what it built. Sizes that a reply announces are not believed; memory grows with what has arrived.
redisReplyObjectFunctions* reply_functions();

}  // namespace rlock::redis
