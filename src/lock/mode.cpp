#include "lock/mode.hpp"

#include "base/text/number.hpp"

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

std::string Mode::how() const { return is_for_several() ? "with " + option() : "alone"; }

std::string clash(const std::string& key, const Mode& in_use, const Mode& asked) {
  if (in_use.kind != Mode::Kind::slots) {
    return key + " is in use " + (in_use.is_for_several() ? in_use.how() : "without --slots") + "; leave out " +
           asked.option() + ", or choose another KEY";
  }
  return key + " is in use " + in_use.how() + (asked.is_for_several() ? ", not " + asked.option() : "") + "; give " +
         in_use.option() + " too, or choose another KEY";
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
