#include "lock/ownership.hpp"

#include "base/log.hpp"

namespace rlock::lock {

base::Error released_before() { return {base::ErrorCode::internal, "the token was released before"}; }

void report_reclaimed(const std::string& server, const std::string& key) {
  base::log_note(server + " restarted and had forgotten " + key + "; reclaimed it", {"reclaimed", {{"key", key}}});
}

}  // namespace rlock::lock
