#include "commands/watch.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <ctime>

#include "base/duration.hpp"
#include "base/exit_status.hpp"
#include "base/log.hpp"
#include "commands/report.hpp"
#include "process/live_screen.hpp"
#include "show/status_table.hpp"

namespace rlock::commands {

using namespace std::chrono_literals;
using base::BootClock;
using base::Instant;

namespace {

constexpr auto look_every = 1s;
// Behind a look at many locks the server has so many times as long for others.
constexpr int rest_per_look = 4;
// But no more than this for each lock: a server that was away for a while had not been busy with the look.
constexpr auto max_rest_per_lock = 1ms;

std::string time_of_day() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::localtime_r(&now, &parts);
  std::array<char, 16> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%H:%M:%S", &parts)};
}

std::string counts(const std::vector<show::ListedLock>& sights) {
  std::int64_t waiting = 0;
  for (const auto& sight : sights) waiting += sight.lock.waiting;
  const auto held = std::ranges::count_if(sights, [](const show::ListedLock& sight) { return sight.lock.is_held(); });
  return std::to_string(sights.size()) + (sights.size() == 1 ? " lock, " : " locks, ") + std::to_string(held) +
         " held, " + std::to_string(waiting) + " waiting";
}

// What was seen last, and since when nothing was.
struct Scene {
  std::vector<show::ListedLock> sights;
  std::string time;
  Instant seen_at{};
  std::string trouble;  ///< why the server does not answer; empty: it does
  std::vector<lock::Unseen> unseen;

  std::vector<std::string> lines(const show::View& view, const std::string& server, base::ScreenSize size) const;
};

std::vector<std::string> Scene::lines(const show::View& view, const std::string& server, base::ScreenSize size) const {
  const auto layout = show::Layout::of(STDOUT_FILENO);
  show::Table head;
  show::Row row{{view.key().empty() ? "rlock status" : "rlock status " + view.key(), show::Style::strong}, {time}};
  if (!view.is_of_one()) row.push_back({counts(sights)});
  row.push_back({server, show::Style::faint});
  head.add(std::move(row));
  auto lines = head.lines(layout);
  const auto warn = [&](std::string text) {
    show::Table line;
    line.add({{std::move(text), show::Style::bad}});
    lines.push_back(line.lines(layout).front());
  };
  if (!trouble.empty()) {
    warn("no answer for " + base::age_text(std::chrono::floor<base::Duration>(BootClock::now() - seen_at)) +
         ", trying again: " + trouble);
  } else if (!unseen.empty()) {
    const auto others = unseen.size() - 1;
    warn("not shown: the locks at " + unseen.front().server +
         (others > 0 ? " and " + std::to_string(others) + " more" : "") + ": " + unseen.front().error.message);
  } else {
    lines.emplace_back();
  }
  const auto room = size.rows - std::min(size.rows, lines.size());
  if (room == 0) return lines;
  if (view.is_of_one()) {
    auto detail = show::detail_lines(sights.front(), layout);
    if (detail.size() > room) {
      const auto hidden = detail.size() - room + 1;
      detail.resize(room - 1);
      detail.push_back("... and " + std::to_string(hidden) + " more lines");
    }
    lines.insert(lines.end(), detail.begin(), detail.end());
    return lines;
  }
  if (sights.empty()) return lines;
  // The heading takes a line, and what tells of the rest.
  const bool all_fit = sights.size() + 1 <= room;
  const auto shown = all_fit ? sights.size() : room - std::min<std::size_t>(room, 2);
  const auto list = show::list_lines(std::span(sights).first(shown), layout);
  lines.insert(lines.end(), list.begin(), list.end());
  if (!all_fit) lines.push_back("... and " + std::to_string(sights.size() - shown) + " more");
  return lines;
}

}  // namespace

int watch(show::View& view, lock::Backend& backend, const Options& options) {
  Scene scene;
  const auto saw = [&](std::vector<show::ListedLock> sights) {
    scene = {.sights = std::move(sights),
             .time = time_of_day(),
             .seen_at = BootClock::now(),
             .trouble = {},
             .unseen = backend.unseen()};
  };
  base::PlainPoller plain;
  auto first = base::until_served(BootClock::now() + options.connect_timeout, plain,
                                  [&](Instant) { return view.look(backend, {base::never, plain}); });
  if (!first) return report(first.error(), options);
  saw(std::move(*first));

  // What others have to say would stand in the middle of the screen.
  base::set_log_level(base::LogLevel::error);
  process::LiveScreen screen([&](base::ScreenSize size) { return scene.lines(view, backend.name(), size); });
  BootClock::duration rest = look_every;
  while (screen.wait({}, BootClock::now() + rest) != base::Readiness::interrupted) {
    if (!screen.is_shown()) continue;
    const auto began = BootClock::now();
    auto look = view.look(backend, {base::never, screen});
    rest = look_every;
    if (look) {
      const BootClock::duration max_rest = look_every + look->size() * max_rest_per_lock;
      if (!view.is_of_one()) rest = std::clamp(rest_per_look * (BootClock::now() - began), rest, max_rest);
      saw(std::move(*look));
    } else {
      scene.trouble = look.error().message;
    }
    screen.draw();
  }
  // Ctrl-C is how one leaves it, as watch(1).
  const int signal = screen.ending();
  return signal == 0 || signal == SIGINT ? base::exit_success : base::exit_signal_base + signal;
}

}  // namespace rlock::commands
