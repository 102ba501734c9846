#include "commands/run_messages.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "base/exit_status.hpp"
#include "base/log.hpp"
#include "base/text/duration.hpp"
#include "base/text/text.hpp"

namespace rlock::commands {

using namespace std::chrono_literals;

show::Lost RunMessages::lost(const std::string& why, const std::string& then) const {
  auto lost = show::Lost::after(keys_.lost_key(), keys_.fence(keys_.lost_key()), end_.held_for(), why, then);
  lost.event.fields.emplace_back("exit_status", std::int64_t{base::exit_lost});
  return lost;
}

void RunMessages::not_started(const std::string& why, int exit_status) const {
  base::log_error(why, {"error", {{"key", options_.key}, {"exit_status", std::int64_t{exit_status}}}});
}

void RunMessages::stopping(base::Instant kill_at) const {
  const auto left = kill_at - base::BootClock::now();
  if (keys_.leases().empty() || left <= 0s) return;
  const bool kills = options_.on_lost == OnLost::kill;
  base::log_note("stopped (Ctrl-Z), and " + options_.key + " is not renewed meanwhile: without fg within " +
                     base::age_text(left) + (kills ? " its command is killed and the lock lost" : " the lock is lost"),
                 {"stopped", {{"key", options_.key}, {"left_ms", show::ms_of(left)}}});
}

void RunMessages::timed_out() const {
  base::log_error("stopping the command of " + options_.key + ": it has run for " +
                      base::format_duration(options_.timeout) + " (--timeout)",
                  {"timed_out",
                   {{"key", options_.key},
                    {"held_ms", show::ms_of(end_.held_for())},
                    {"exit_status", std::int64_t{base::exit_timed_out}}}});
}

void RunMessages::killed() const {
  const auto held = end_.held_for();
  base::LogEvent event{"killed", {{"key", options_.key}, {"held_ms", show::ms_of(held)}}};
  std::ranges::move(show::ending_fields(end_.run()), std::back_inserter(event.fields));
  base::log_note("rlock was killed, and nothing of its command is left; releasing " + options_.key + " after " +
                     base::age_text(held) + ": " + show::ending_text(end_.run()),
                 event);
}

void RunMessages::going_on(int processes) const {
  if (processes == 0) return;
  base::log_debug("the command has ended; " + std::to_string(processes) + " of the processes that it started " +
                  (processes == 1 ? "goes on" : "go on"));
}

void RunMessages::no_renewal(const base::Error& error, base::Duration ttl) const {
  base::log_error("cannot renew " + options_.key + ", whose lease ends in " + base::age_text(ttl) + ": " +
                  error.message + "; trying again");
}

void RunMessages::release_failing(const std::string& key, const base::Error& error, base::Duration ttl,
                                  const std::string& then) const {
  base::log_note(
      "could not release " + key + ": " + error.message + then + "; its lease expires within " + base::age_text(ttl),
      {"release_failing", {{"key", key}, {"ttl_ms", std::int64_t{ttl.count()}}}});
}

// ENOENT has three reasons: there is no such program, the interpreter of the script is not there, or a whole line for a
// shell was given, as flock -c takes it.
std::string cannot_execute(const std::vector<std::string>& command, int error) {
  constexpr std::size_t max_quoted = 200;  // bytes
  const std::string program(base::whole_characters(command.front(), max_quoted));
  const auto message = "cannot execute '" + program + (program.size() < command.front().size() ? "...': " : "': ");
  if (error == ENOENT && program.contains('/') && ::access(command.front().c_str(), F_OK) == 0) {
    return message + "the interpreter that it names is not there; look at its #! line, and for CRLF at its end";
  }
  const bool is_line = error == ENOENT && command.size() == 1 && program.contains(' ');
  return message + std::strerror(error) + (is_line ? "; for a line of shell write -- sh -c 'COMMAND'" : "");
}

}  // namespace rlock::commands
