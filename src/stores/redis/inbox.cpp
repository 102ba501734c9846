#include "stores/redis/inbox.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/text/bounds.hpp"

namespace rlock::redis {

Inbox::Inbox(const Names& names, const std::string& token)
    : lock_(names.lock),
      holders_(names.holders()),
      channel_(names.channel(token)),
      channel_of_all_(names.channel_of_all()) {}

// Messages about side keys, which the scripts read too, are ignored: they change at each heartbeat of a waiter.
void Inbox::hear(const Reply& push) {
  const auto& items = push.items;
  if (items.size() == 2 && items[0].text == "invalidate") {
    const auto& keys = items[1].items;  // none: everything was flushed
    heard_.flushed |= keys.empty();
    heard_.touched |=
        std::ranges::any_of(keys, [&](const Reply& key) { return key.text == lock_ || key.text == holders_; });
    return;
  }
  if (items.size() != 3 || (items[1].text != channel_ && items[1].text != channel_of_all_)) return;
  if (items[0].text == "sunsubscribe") {
    heard_.moved = true;
  } else if (items[0].text == "message" || items[0].text == "smessage") {
    const std::string_view text = items[2].text;
    heard_.granted |= text == "g";
    heard_.queue_lost |= text == "r";
    if (!text.starts_with("h ")) return;
    if (const auto ms = base::parse_number<std::int64_t>(text.substr(2))) heard_.look_in = base::span_of(*ms);
  }
}

}  // namespace rlock::redis
