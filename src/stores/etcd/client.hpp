#pragma once

#include <poll.h>

#include <cstdint>
#include <expected>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/wait/wait.hpp"

namespace rlock::etcd {

/// A request to the gateway: "/v3/kv/txn" and its body.
struct Call {
  std::string path;
  nlohmann::json body;
};

/// What the gateway says in place of an answer.
struct Refusal {
  static constexpr int too_long = -2;  ///< our own code: the answer had more than 8 MiB, and was passed over

  int code = 0;         ///< of gRPC: 5 not found, 9 failed precondition ...
  std::string message;  ///< bounded and printable
};

using Answer = std::expected<nlohmann::json, Refusal>;

/// The members of one cluster, and a connection to one of them, which is made when needed. After a failure the next
/// member is asked.
class Client {
 public:
  virtual ~Client() = default;

  /// Sends the calls together and returns their answers in order; the member carries them out one after the other.
  /// Refusals that another member or a later time may change (no leader, timed out, too many requests, no space) are a
  /// failure with unreachable or unready, those of rights one with refused, and what the gateway cannot do is one with
  /// configuration. Members that cannot be connected to are passed over; one that is silent fails after 2 s.
  virtual base::Result<std::vector<Answer>> flight(std::span<const Call> calls, base::Wait wait) = 0;
  /// When the last flight was about to be sent; of a flight that was sent again as a whole, the last time.
  virtual base::Instant sent_at() const = 0;
  /// The clock of the members as of the last answer (its Date), and what has passed since; microseconds.
  virtual std::int64_t now_us() const = 0;

  /// Asks for a stream over a connection of its own, in place of the one before; drain() has what it says.
  virtual base::Result<void> stream(const Call& call, base::Wait wait) = 0;
  virtual std::vector<pollfd> wait_fds() const = 0;
  /// The messages that have come since ("result" of each), without waiting. Fails once with unreachable where the
  /// stream broke, ended, or says an error.
  virtual base::Result<std::vector<nlohmann::json>> drain() = 0;

  virtual base::Duration timeout() const = 0;
  /// "etcd at HOST:PORT": of the member that is asked now. Holds no password.
  virtual const std::string& name() const = 0;
};

}  // namespace rlock::etcd
