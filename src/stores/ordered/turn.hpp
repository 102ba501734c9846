#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "lock/mode.hpp"
#include "stores/ordered/ordered_store.hpp"

/// Whose turn it is follows from the order of a queue and the modes of its entries alone.
namespace rlock::ordered {

/// Whether an entry of this mode holds the lock, with these ahead of it.
bool holds(const lock::Mode& mode, std::span<const Entry> ahead);

/// How many entries hold: the first ones of a queue, or of a part that begins where it does.
std::size_t holders_in(std::span<const Entry> queue);
std::size_t holders_in(std::span<const Listed> queue);

/// The first of them whose mode does not go together with this one; nullptr: none.
const Entry* conflicting(const lock::Mode& mode, std::span<const Entry> queue);

/// How many of those ahead wait, too.
std::int64_t rank_behind(std::span<const Entry> ahead);

/// So many of the first waiters watch all of their queue: one that was called may be dead (Claims).
inline constexpr std::int64_t watchers = 3;

/// What an entry that does not hold waits for, so that each end of another wakes few.
Watched whom_to_watch(const lock::Mode& mode, std::span<const Entry> ahead);

}  // namespace rlock::ordered
