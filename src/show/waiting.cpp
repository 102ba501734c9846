#include "show/waiting.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "base/log.hpp"
#include "base/terminal/display.hpp"
#include "base/terminal/live_line.hpp"
#include "base/terminal/screen.hpp"
#include "base/text/duration.hpp"
#include "base/text/time_text.hpp"
#include "show/messages.hpp"

namespace rlock::show {

using namespace std::chrono_literals;
using base::BootClock;
using base::Instant;
using base::Readiness;

namespace {

constexpr auto look_every = 1s;
constexpr auto log_every = 1min;
// A key of the longest kind leaves room for the rest.
constexpr std::size_t min_key_columns = 16;
constexpr std::size_t max_columns = 200;

// GitHub, GitLab and others set it for their jobs, whose log is a file that people read meanwhile.
bool is_ci_job() {
  const char* ci = std::getenv("CI");
  return ci != nullptr && *ci != '\0';
}

std::string ahead_text(std::int64_t rank) {
  return std::to_string(rank) + (rank == 1 ? " waiter ahead" : " waiters ahead");
}

}  // namespace

Waiting::Waiting(std::string key, base::Poller& inner)
    : inner_(inner),
      since_(BootClock::now()),
      next_look_(since_ + look_every),
      key_(std::move(key)),
      told_at_(since_) {}

Waiting::~Waiting() { base::clear_live_line(); }

Readiness Waiting::wait(std::span<pollfd> fds, Instant until) {
  while (true) {
    const auto now = BootClock::now();
    if (now >= next_look_) look(now);
    const auto readiness = inner_.wait(fds, std::min(until, next_look_));
    if (readiness == Readiness::interrupted) base::clear_live_line();
    if (readiness != Readiness::timed_out || BootClock::now() >= until) return readiness;
  }
}

void Waiting::look(Instant now) {
  if (!screen_) {
    const bool is_for_people = base::is_logged(base::LogLevel::note) && !base::is_log_for_programs();
    const bool is_terminal = is_for_people && ::isatty(STDERR_FILENO) == 1;
    screen_ = !is_terminal                     ? (is_for_people && is_ci_job() ? Screen::log : Screen::none)
              : base::is_screen(STDERR_FILENO) ? Screen::redrawn
                                               : Screen::plain;
  }
  if (screen_ == Screen::log) {
    if (now >= told_at_ + log_every) told_people_ = false;
    say_once(now);
    next_look_ = told_at_ + log_every;
    return;
  }
  if (screen_ != Screen::redrawn) {
    if (screen_ == Screen::plain) say_once(now);
    next_look_ = base::never;
    return;
  }
  const auto drawn = base::draw_live_line("rlock: " + line(now, base::screen_size(STDERR_FILENO).columns));
  if (drawn == base::LiveLine::drawn) told_people_ = true;
  if (drawn == base::LiveLine::not_ours) say_once(now);
  next_look_ = since_ + std::chrono::floor<std::chrono::seconds>(now - since_) + look_every;
}

void Waiting::say_once(Instant now) {
  if (std::exchange(told_people_, true)) return;
  told_at_ = now;
  base::log_without_blocking();
  base::log_note(line(now, max_columns));
}

std::string Waiting::line(Instant now, std::size_t columns) const {
  auto text = "waiting " + base::age_text(now - since_) + " for " +
              base::cut_to_width(key_, std::max(columns / 3, min_key_columns));
  if (outage_) {
    return text + "; no server for " + base::age_text(now - outage_->since) + ": " + outage_->error.message;
  }
  if (!busy_) return text;
  if (busy_->rank >= 0) text += busy_->rank == 0 ? ", next" : ", " + std::to_string(busy_->rank) + " ahead";
  return text + (busy_->young_for ? ", " : "; ") + held(now);
}

// As held_text() says it, in the order of what may be cut off.
std::string Waiting::held(Instant now) const {
  if (busy_->young_for || !busy_->holder) return held_text(*busy_, server_);
  const auto& holder = *busy_->holder;
  std::string text = holder.mode.is_for_several() ? "held by several, one of them " : "held by ";
  text += holder.who.user + "@" + holder.who.host + " since " + base::local_time_text(holder.since_us);
  if (queued_us_ > 0 && holder.since_us > 0) {
    // By the server's clock, which gave us both times.
    const auto at_queueing =
        std::chrono::floor<std::chrono::seconds>(std::chrono::microseconds(queued_us_ - holder.since_us));
    text += " (" + base::age_text(at_queueing + std::chrono::floor<std::chrono::seconds>(now - queued_at_)) + ")";
  }
  if (holder.has_ended) text += ", kept by --hold";
  if (!holder.who.label.empty()) text += ": " + holder.who.label;
  return text;
}

void Waiting::is_for(const std::string& key) {
  if (key_ == key) return;
  key_ = key;
  is_announced_ = false;
  busy_.reset();
  queued_us_ = 0;
}

void Waiting::busy(const lock::Request& request, const std::string& server, const lock::Busy& busy) {
  is_for(request.name.key);
  busy_ = busy;
  server_ = server;
  if (queued_us_ == 0 && busy.ticket > 0) {
    queued_us_ = busy.ticket;
    queued_at_ = BootClock::now();
  }
  if (std::exchange(is_announced_, true)) return;
  told_people_ = told_people_ || busy.is_of_other_form || base::is_logged(base::LogLevel::debug);
  if (busy.is_of_other_form || base::is_logged(base::LogLevel::info)) base::log_without_blocking();
  if (busy.is_of_other_form) {
    base::log_note("waiting for " + key_ +
                       ", which another program holds as the other kind of lock: give --compat redisson to all of its "
                       "users, or to none",
                   {"waiting", busy_fields(key_, busy)});
  } else if (base::is_logged(base::LogLevel::info)) {
    base::log_info(
        "waiting for " + key_ + ", " + held_text(busy, server) + (busy.rank > 0 ? "; " + ahead_text(busy.rank) : ""),
        {"waiting", busy_fields(key_, busy)});
  }
}

void Waiting::unserved(const lock::Request& request, const std::string& server, const base::Error& error,
                       Instant since) {
  is_for(request.name.key);
  const bool is_news = !outage_;  // what else is wrong with it while it comes back is not
  outage_ = {error, since};
  if (is_news && base::is_logged(base::LogLevel::info)) {
    base::log_without_blocking();
    base::log_info(error.message + "; trying again", {"server_lost", {{"key", key_}, {"server", server}}});
  }
}

void Waiting::served(const lock::Request& request, const std::string& server, Instant since) {
  is_for(request.name.key);
  outage_.reset();
  const auto lost = BootClock::now() - since;
  base::log_info(server + " answers again, after " + base::age_text(lost),
                 {"server_back", {{"key", key_}, {"server", server}, {"lost_ms", ms_of(lost)}}});
}

}  // namespace rlock::show
