#include "stores/redis/client/reply_reader.hpp"

#include "stores/redis/client/reply.hpp"

namespace rlock::redis {
namespace {

constexpr int max_depth = 8;
// The map of a Cluster in thousands of pieces has fewer. In memory an item takes up to thirty times its bytes.
constexpr std::int64_t max_items = 1 << 17;

// Where the object of a task goes: a new root, or the next item of the parent. nullptr, which hiredis
// reports as an error, where it lies too deep, or is one of too many; the root counts those below it.
//
// The address of an item stays good for as long as it is needed: a parent gets its next item only when
// the one before it, and all below that, is complete.
Reply* place(const redisReadTask* task) {
  int depth = 0;
  const auto* top = task;
  for (; top->parent != nullptr; top = top->parent) {
    if (++depth > max_depth) return nullptr;
  }
  if (top == task) return new Reply;
  if (++static_cast<Reply*>(top->obj)->integer > max_items) return nullptr;
  return &static_cast<Reply*>(task->parent->obj)->items.emplace_back();
}

void* create_string(const redisReadTask* task, char* text, std::size_t size) {
  auto* reply = place(task);
  if (reply == nullptr) return nullptr;
  reply->kind = task->type == REDIS_REPLY_ERROR ? Reply::Kind::error : Reply::Kind::text;
  reply->text.assign(text, size);
  return reply;
}

void* create_array(const redisReadTask* task, std::size_t) {
  auto* reply = place(task);
  if (reply == nullptr) return nullptr;
  reply->kind = task->type == REDIS_REPLY_PUSH ? Reply::Kind::push : Reply::Kind::array;
  return reply;
}

void* create_integer(const redisReadTask* task, long long value) {
  auto* reply = place(task);
  if (reply == nullptr) return nullptr;
  reply->kind = Reply::Kind::integer;
  reply->integer = value;
  return reply;
}

void* create_double(const redisReadTask* task, double, char* text, std::size_t size) {
  return create_string(task, text, size);
}

void* create_nil(const redisReadTask* task) { return place(task); }

void* create_bool(const redisReadTask* task, int value) { return create_integer(task, value); }

void free_object(void* object) { delete static_cast<Reply*>(object); }

}  // namespace

redisReplyObjectFunctions* reply_functions() {
  static redisReplyObjectFunctions functions{create_string, create_array, create_integer, create_double,
                                             create_nil,    create_bool,  free_object};
  return &functions;
}

}  // namespace rlock::redis
