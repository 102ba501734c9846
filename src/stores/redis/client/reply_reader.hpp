#pragma once

#include <hiredis/hiredis.h>

namespace rlock::redis {

/// Functions with which hiredis builds a Reply instead of its own tree. A reply nested deeper than eight levels, or
/// with more than some 100,000 items, is an error: hiredis accepts any depth, and overflows the stack when it frees
/// such a reply. Memory is allocated for the bytes that have arrived, not for the size that a reply announces.
redisReplyObjectFunctions* reply_functions();

}  // namespace rlock::redis
