#include "stores/ordered/ordered_store.hpp"

#include <algorithm>

namespace rlock::ordered {

bool Watched::is_same(const Watched& other) const {
  return whom == other.whom && is_of_writes == other.is_of_writes &&
         (whom != Whom::one || entry.order == other.entry.order);
}

base::Duration at_least(base::Duration ttl, base::Instant until) {
  return std::max(ttl, std::chrono::ceil<base::Duration>(until - base::BootClock::now()));
}

std::optional<lock::Record> lock_record(const Listed& listed) {
  if (!listed.record) return std::nullopt;
  const auto& record = *listed.record;
  return lock::Record{.since_us = record.since_us,
                      .fence = record.state == Record::State::waits ? 0 : listed.fence,
                      .mode = listed.entry.mode,
                      .who = record.who,
                      .has_ended = record.state == Record::State::ended};
}

}  // namespace rlock::ordered
