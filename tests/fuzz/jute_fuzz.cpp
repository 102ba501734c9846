#include <cstdint>
#include <cstdlib>
#include <string>

#include "stores/zookeeper/jute.hpp"
#include "stores/zookeeper/names.hpp"
#include "stores/zookeeper/session.hpp"

namespace {

namespace zookeeper = rlock::zookeeper;

void use(const zookeeper::Answer& answer) {
  (void)zookeeper::read_stat(answer.body);
  (void)zookeeper::read_event(answer.body);
  (void)zookeeper::read_multi(answer);
  if (const auto created = zookeeper::read_created(answer.body)) (void)zookeeper::EntryName::decode(created->path);
  if (const auto node = zookeeper::read_node(answer.body)) (void)zookeeper::SessionId::decode(node->data);
  const auto names = zookeeper::read_children(answer.body);
  if (!names) return;
  std::size_t size = 0;
  for (const auto& name : *names) {
    size += name.size() + 4;
    const auto entry = zookeeper::EntryName::decode(name);
    if (entry && !zookeeper::EntryName::decode(entry->encode())) std::abort();
  }
  if (size > answer.body.size()) std::abort();
}

}  // namespace

// The first byte says in pieces of which size the rest arrives.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = static_cast<std::size_t>(data[0]) + 1;
  const std::string all(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::string received;
  bool is_broken = false;
  for (std::size_t at = 0; at < all.size() && !is_broken; at += piece) {
    received += all.substr(at, piece);
    while (const auto frame = zookeeper::take_frame(received, is_broken)) {
      (void)zookeeper::read_welcome(*frame);
      if (const auto message = zookeeper::read_message(*frame)) use(message->answer);
    }
  }
  std::size_t whole = 0;
  if (const auto frame = zookeeper::in_place_of_too_long(received, whole)) (void)zookeeper::read_message(*frame);
  return 0;
}
