#pragma once

#include <hiredis/hiredis.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "forged_socket.hpp"
#include "stores/redis/client/session.hpp"
#include "stores/redis/locate/fixed_locator.hpp"

namespace rlock {

/// Answers each command with the bytes that `answer` gives for it: what no real server would say.
class ForgedServer {
 public:
  using Answer = std::function<std::string(const std::vector<std::string>& command)>;

  explicit ForgedServer(Answer answer) : answer_(std::move(answer)) {}

  redis::Session session(base::Duration timeout) const {
    redis::Address address;
    address.transport = redis::Transport::unix_socket;
    address.path = socket_.path();
    return {std::make_unique<redis::FixedLocator>(address), {}, timeout, redis::Greet::first};
  }

 private:
  ForgedSocket::Conversation begin() const {
    const std::shared_ptr<redisReader> reader(::redisReaderCreate(), ::redisReaderFree);
    return [this, reader](std::string_view received) {
      ::redisReaderFeed(reader.get(), received.data(), received.size());
      ForgedSocket::Reply said;
      void* object = nullptr;
      while (::redisReaderGetReply(reader.get(), &object) == REDIS_OK && object != nullptr) {
        auto* reply = static_cast<redisReply*>(object);
        std::vector<std::string> command;
        for (std::size_t i = 0; i < reply->elements; ++i) {
          command.emplace_back(reply->element[i]->str, reply->element[i]->len);
        }
        ::freeReplyObject(reply);
        said.bytes += answer_(command);
      }
      return said;
    };
  }

  Answer answer_;
  ForgedSocket socket_{[this] { return begin(); }};
};

}  // namespace rlock
