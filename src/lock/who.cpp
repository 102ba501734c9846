#include "lock/who.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>

#include "base/text/bounds.hpp"
#include "base/text/number.hpp"
#include "base/text/text.hpp"

namespace rlock::lock {

using base::take_word;

namespace {

// Bytes. What another program has written may be of any length, and a waiter would print it each second.
constexpr std::size_t max_name = 255;
constexpr std::size_t max_command = 500;
constexpr char before_label = '\x1f';  // the unit separator of ASCII

std::string at_most(std::size_t max, std::string_view text) { return std::string(base::whole_characters(text, max)); }

std::string one_word(std::string text) {
  std::ranges::replace(text, ' ', '_');
  return text.empty() ? "?" : text;
}

// From the environment: asking the user database would open files or a network for each short job.
std::string user_name() {
  for (const char* variable : {"USER", "LOGNAME"}) {
    if (const char* name = std::getenv(variable); name != nullptr && *name != '\0') return name;
  }
  return ::geteuid() == 0 ? "root" : "uid:" + std::to_string(::geteuid());
}

}  // namespace

Who Who::describe(pid_t pid, std::string command, std::string_view label) {
  std::array<char, HOST_NAME_MAX + 1> host{};
  ::gethostname(host.data(), host.size() - 1);
  command = at_most(max_command, command);
  std::ranges::replace(command, before_label, ' ');
  return {host.data(), pid, at_most(max_name, user_name()), std::move(command), at_most(max_label, label)};
}

std::string Who::summary() const { return user + "@" + host + " pid " + std::to_string(pid); }

std::string Who::encode() const {
  return std::to_string(pid) + " " + one_word(host) + " " + one_word(user) + " " + command +
         (label.empty() ? "" : before_label + label);
}

Who Who::decode(std::string_view text) {
  Who who;
  who.pid = base::parse_number<pid_t>(take_word(text)).value_or(0);
  who.host = at_most(max_name, take_word(text));
  who.user = at_most(max_name, take_word(text));
  const auto end = std::min(text.find(before_label), text.size());
  who.command = at_most(max_command, text.substr(0, end));
  if (end < text.size()) who.label = at_most(max_label, text.substr(end + 1));
  return who;
}

std::optional<Record> Record::decode(std::string_view text) {
  const auto version = take_word(text);
  if (version != "1" && version != "2") return std::nullopt;
  Record record;
  record.has_ended = take_word(text) == "h";  // else how it is woken
  take_word(text);                            // when it was last seen
  record.since_us = base::time_us_of(base::number_in(take_word(text)));
  record.fence = base::fence_of(base::number_in(take_word(text))).value_or(0);
  if (version == "2") {
    const auto mode = Mode::decode(take_word(text));
    if (!mode) return std::nullopt;
    record.mode = *mode;
  }
  record.who = Who::decode(text);
  return record;
}

}  // namespace rlock::lock
