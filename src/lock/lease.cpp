#include "lock/lease.hpp"

#include <algorithm>

#include "base/text/duration.hpp"

namespace rlock::lock {

using namespace std::chrono_literals;
using base::Duration;
using base::Instant;
using std::chrono::nanoseconds;

namespace {

constexpr nanoseconds max_kill_time = 1s;

LeaseTerms terms_for(Duration ttl, std::optional<Duration> kill_after, nanoseconds min_kill_time) {
  const nanoseconds third = nanoseconds(ttl) / 3;
  return {ttl, kill_after ? nanoseconds(*kill_after) : std::min<nanoseconds>(default_kill_after, third),
          std::min(std::max(max_kill_time, min_kill_time), nanoseconds(ttl) / 10)};
}

// Before TERM there must be time for one try, or with renewal for a third of the ttl and two tries.
bool has_room(const LeaseTerms& terms, Renewing renewing) {
  const auto before_term = terms.usable() - terms.kill_after - terms.kill_time;
  const auto a_try = std::max<nanoseconds>(nanoseconds(terms.ttl) / 20, 5ms);
  return before_term >= (renewing == Renewing::yes ? nanoseconds(terms.ttl) / 3 + 2 * a_try : a_try);
}

}  // namespace

Instant vote_deadline(Duration ttl, Instant sent) {
  const nanoseconds whole = ttl;
  const nanoseconds slack = ttl < 2s ? 2ms + whole / 100 : nanoseconds(50ms);
  return sent + (whole - whole / 100 - slack);
}

nanoseconds LeaseTerms::usable() const { return deadline({}) - Instant{}; }

nanoseconds LeaseTerms::max_try() const { return std::max<nanoseconds>(ttl / 6, 5ms); }

nanoseconds LeaseTerms::retry_pause() const { return std::clamp<nanoseconds>(nanoseconds(ttl) / 100, 2ms, 250ms); }

base::Result<LeaseTerms> LeaseTerms::make(Duration ttl, std::optional<Duration> kill_after, Renewing renewing,
                                          nanoseconds min_kill_time) {
  const auto terms = terms_for(ttl, kill_after, min_kill_time);
  const auto fits = [&](Duration::rep ms) {
    const auto other = terms_for(Duration(ms), kill_after, min_kill_time);
    return other.kill_time >= min_kill_time && has_room(other, renewing);
  };
  if (fits(ttl.count())) return terms;
  auto low = ttl.count();
  auto high = ttl.count();
  while (!fits(high)) high *= 2;
  while (high - low > 1) {
    const auto middle = low + (high - low) / 2;
    (fits(middle) ? high : low) = middle;
  }
  const auto smallest = "; use --ttl " + base::format_duration(Duration(high)) + " or more";
  if (terms.kill_time < min_kill_time) {
    return base::fail(base::ErrorCode::usage, "--ttl " + base::format_duration(ttl) +
                                                  " leaves no time to kill the command on this machine, whose kernel "
                                                  "lists no children, so that all processes have to be searched" +
                                                  smallest);
  }
  return base::fail(base::ErrorCode::usage,
                    "--ttl " + base::format_duration(ttl) +
                        " leaves no room to renew and then to kill after --kill-after " +
                        base::format_duration(std::chrono::duration_cast<Duration>(terms.kill_after)) + smallest);
}

}  // namespace rlock::lock
