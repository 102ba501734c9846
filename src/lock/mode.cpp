#include "lock/mode.hpp"

#include "base/number.hpp"

namespace rlock::lock {

std::string Mode::option() const {
  switch (kind) {
    case Kind::exclusive:
      break;
    case Kind::shared:
      return "--shared";
    case Kind::slots:
      return "--slots " + std::to_string(slots);
  }
  return "--exclusive";
}

std::string Mode::encode() const {
  switch (kind) {
    case Kind::exclusive:
      break;
    case Kind::shared:
      return "s";
    case Kind::slots:
      return std::to_string(slots);
  }
  return "x";
}

std::optional<Mode> Mode::decode(std::string_view text) {
  if (text == "x") return Mode{};
  if (text == "s") return Mode{.kind = Kind::shared};
  const auto slots = base::parse_number<int>(text);
  if (!slots || *slots < 1) return std::nullopt;
  return Mode{.kind = Kind::slots, .slots = *slots};
}

}  // namespace rlock::lock
