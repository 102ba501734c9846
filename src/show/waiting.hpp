#pragma once

#include <optional>
#include <string>

#include "base/wait/poller.hpp"
#include "lock/observer.hpp"

namespace rlock::show {

/// Tells people and programs what a waiter knows. Where standard error is a terminal that can redraw a line, one
/// line of it shows that from the first second on, anew each second, and is gone when the wait is over; on another
/// terminal, or where the line is not ours to draw, it is said once. In the log of a CI job (the environment variable
/// CI is set) it is said after a second, and then once a minute. It asks the server for nothing: a waiter asks every
/// few seconds anyway. A lock that is acquired at once costs it nothing, not even the look whether there is a terminal.
///
/// To be waited with: it waits as `inner` does, and draws meanwhile.
class Waiting final : public base::Poller, public lock::Observer {
 public:
  /// key: which is waited for first.
  Waiting(std::string key, base::Poller& inner);
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() override;

  base::Readiness wait(std::span<pollfd> fds, base::Instant until) override;
  bool may_spin() const override { return inner_.may_spin(); }

  void busy(const lock::Request& request, const std::string& server, const lock::Busy& busy) override;
  void unserved(const lock::Request& request, const std::string& server, const base::Error& error,
                base::Instant since) override;
  void served(const lock::Request& request, const std::string& server, base::Instant since) override;

 private:
  void is_for(const std::string& key);
  void look(base::Instant now);
  void say_once(base::Instant now);
  std::string line(base::Instant now, std::size_t columns) const;
  std::string held(base::Instant now) const;

  base::Poller& inner_;
  base::Instant since_;
  base::Instant next_look_;
  std::string key_;
  bool is_announced_ = false;  ///< of the wait for this key
  bool told_people_ = false;   ///< by a line that they see or saw
  enum class Screen { none, log, plain, redrawn };
  base::Instant told_at_;           ///< when they were told, or the wait began
  std::optional<Screen> screen_;    ///< nullopt: not looked for yet
  std::optional<lock::Busy> busy_;  ///< of this key
  std::string server_;
  struct Outage {
    base::Error error;
    base::Instant since;
  };
  std::optional<Outage> outage_;
  std::int64_t queued_us_ = 0;  ///< our ticket, server microseconds; 0: none yet
  base::Instant queued_at_{};   ///< the same by our clock
};

}  // namespace rlock::show
