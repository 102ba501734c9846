#include <hiredis/hiredis.h>

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "lock/who.hpp"
#include "stores/redis/client/reply.hpp"
#include "stores/redis/client/reply_reader.hpp"
#include "stores/redis/scripts/names.hpp"

namespace {

using rlock::redis::Reply;

int depth_of(const Reply& reply) {
  int max_depth = 0;
  for (const auto& item : reply.items) max_depth = std::max(max_depth, depth_of(item));
  return max_depth + 1;
}

void use(const Reply& reply) {
  if (depth_of(reply) > 10) std::abort();
  (void)rlock::redis::error_of(reply, "server");
  (void)rlock::redis::lock_of_side_key(reply.text);
  if (const auto record = rlock::lock::Record::decode(reply.text)) (void)record->who.encode();
  for (const auto& item : reply.items) use(item);
}

}  // namespace

// The first byte says in pieces of which size the rest arrives.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = static_cast<std::size_t>(data[0]) + 1;
  std::unique_ptr<redisReader, void (*)(redisReader*)> reader(
      redisReaderCreateWithFunctions(rlock::redis::reply_functions()), redisReaderFree);
  for (std::size_t at = 1; at < size; at += piece) {
    if (redisReaderFeed(reader.get(), reinterpret_cast<const char*>(data) + at, std::min(piece, size - at)) !=
        REDIS_OK) {
      return 0;
    }
    while (true) {
      void* object = nullptr;
      if (redisReaderGetReply(reader.get(), &object) != REDIS_OK) return 0;
      if (object == nullptr) break;
      use(*std::unique_ptr<Reply>(static_cast<Reply*>(object)));
    }
  }
  return 0;
}
