#include "base/syslog.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <string>

#include "base/fd.hpp"
#include "base/text/text.hpp"

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

// True: handed over, or lost.
bool send_by(int type, std::string_view text) {
  const Fd socket(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::ranges::copy(std::string_view(_PATH_LOG), address.sun_path);
  if (!socket) return true;
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return errno != EPROTOTYPE;
  }
  (void)!::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
  return true;
}

}  // namespace

void send_to_syslog(LogLevel level, std::string_view message) {
  if (message.ends_with('\n')) message.remove_suffix(1);
  const auto text = "<" + std::to_string(LOG_USER | priority_of(level)) + ">" + time_now() + " rlock[" +
                    std::to_string(::getpid()) + "]: " + printable(message);
  // In a stream a NUL ends a message, as that of syslog(3) does.
  if (!send_by(SOCK_DGRAM, text)) send_by(SOCK_STREAM, {text.c_str(), text.size() + 1});
}

}  // namespace rlock::base
