#include "stores/ordered/turn.hpp"

#include <algorithm>
#include <ranges>

namespace rlock::ordered {

using lock::Mode;

namespace {

bool is_shared(const Mode& mode) { return mode.kind == Mode::Kind::shared; }

bool go_together(const Mode& one, const Mode& other) {
  const bool is_counted = one.kind == Mode::Kind::slots || other.kind == Mode::Kind::slots;
  return !is_counted || one == other;
}

const Mode& mode_of(const Entry& entry) { return entry.mode; }
const Mode& mode_of(const Listed& listed) { return listed.entry.mode; }

template <class T>
std::size_t count_holders(std::span<const T> queue) {
  if (queue.empty()) return 0;
  const auto& mode = mode_of(queue.front());
  if (mode.kind == Mode::Kind::slots) return std::min(queue.size(), static_cast<std::size_t>(mode.slots));
  if (mode.kind == Mode::Kind::exclusive) return 1;
  const auto end = std::ranges::find_if(queue, [](const T& item) { return !is_shared(mode_of(item)); });
  return static_cast<std::size_t>(end - queue.begin());
}

}  // namespace

bool holds(const Mode& mode, std::span<const Entry> ahead) {
  switch (mode.kind) {
    case Mode::Kind::exclusive:
      break;
    case Mode::Kind::shared:
      return std::ranges::all_of(ahead, is_shared, &Entry::mode);
    case Mode::Kind::slots:
      return ahead.size() < static_cast<std::size_t>(mode.slots);
  }
  return ahead.empty();
}

std::size_t holders_in(std::span<const Entry> queue) { return count_holders(queue); }
std::size_t holders_in(std::span<const Listed> queue) { return count_holders(queue); }

const Entry* conflicting(const Mode& mode, std::span<const Entry> queue) {
  const auto found = std::ranges::find_if(queue, [&](const Entry& entry) { return !go_together(mode, entry.mode); });
  return found == queue.end() ? nullptr : &*found;
}

std::int64_t rank_behind(std::span<const Entry> ahead) {
  return static_cast<std::int64_t>(ahead.size() - holders_in(ahead));
}

// One who waits for a slot is concerned also by the one ahead becoming a holder: it may be the first waiter then.
Watched whom_to_watch(const Mode& mode, std::span<const Entry> ahead) {
  if (rank_behind(ahead) < watchers) return {};
  if (is_shared(mode)) {
    for (const auto& entry : std::views::reverse(ahead)) {
      if (!is_shared(entry.mode)) return {.whom = Watched::Whom::one, .entry = entry};
    }
  }
  return {.whom = Watched::Whom::one, .entry = ahead.back(), .is_of_writes = mode.kind == Mode::Kind::slots};
}

}  // namespace rlock::ordered
