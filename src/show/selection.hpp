#pragma once

namespace rlock::show {

/// Of the locks in a list.
enum class Order {
  state,    ///< held and waited for, held, the rest
  key,      ///< job2 before job10
  held,     ///< held for longest
  waiting,  ///< most waiters
  last_run  ///< ended last
};

/// Which of many locks status shows, and in what order. Those that are alike in it stand in the order of their keys.
struct Selection {
  Order order = Order::key;
  bool is_in_use = false;  ///< only what is held or waited for
};

}  // namespace rlock::show
