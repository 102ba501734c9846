#include "base/syslog.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <string>

#include "base/fd.hpp"
#include "base/text.hpp"

namespace rlock::base {
namespace {

int priority_of(LogLevel level) {
  switch (level) {
    case LogLevel::error:
      return LOG_ERR;
    case LogLevel::note:
      return LOG_WARNING;
    case LogLevel::info:
      return LOG_INFO;
    case LogLevel::debug:
      break;
  }
  return LOG_DEBUG;
}

// As RFC 3164 has it, in local time and in English: what syslog(3) writes. Listeners that know better go by their own
// clock.
std::string time_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::localtime_r(&now, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%b %e %H:%M:%S", &parts)};
}

}  // namespace

void send_to_syslog(LogLevel level, std::string_view message) {
  const Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return;
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::ranges::copy(std::string_view(_PATH_LOG), address.sun_path);
  if (message.ends_with('\n')) message.remove_suffix(1);
  const auto text = "<" + std::to_string(LOG_USER | priority_of(level)) + ">" + time_now() + " rlock[" +
                    std::to_string(::getpid()) + "]: " + printable(message);
  (void)!::sendto(socket.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                  reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

}  // namespace rlock::base
