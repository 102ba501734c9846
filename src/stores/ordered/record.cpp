#include "stores/ordered/record.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/text/bounds.hpp"
#include "base/text/text.hpp"

namespace rlock::ordered {

namespace {

constexpr std::string_view version = "1";
constexpr std::array<std::string_view, 3> states{"waits", "holds", "ended"};

}  // namespace

std::string Record::encode() const {
  return std::string(version) + " " + std::string(states[static_cast<std::size_t>(state)]) + " " +
         std::to_string(since_us) + " " + std::to_string(ttl.count()) + " " + (session.empty() ? "-" : session) + " " +
         who.encode();
}

std::optional<Record> Record::decode(std::string_view text) {
  if (base::take_word(text) != version) return std::nullopt;
  const auto* const state = std::ranges::find(states, base::take_word(text));
  if (state == states.end()) return std::nullopt;
  Record record{.state = static_cast<State>(std::distance(states.begin(), state))};
  record.since_us = base::time_us_of(base::number_in(base::take_word(text)));
  record.ttl = base::span_of(base::number_in(base::take_word(text)));
  const auto session = base::take_word(text);
  if (session != "-") record.session = session;
  record.who = lock::Who::decode(text);
  return record;
}

}  // namespace rlock::ordered
