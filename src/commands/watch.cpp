#include "commands/watch.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <ctime>
#include <iterator>

#include "base/exit_status.hpp"
#include "base/log.hpp"
#include "base/text/duration.hpp"
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

std::string counts(const std::vector<show::ListedLock>& snapshots) {
  std::int64_t waiting = 0;
  for (const auto& snapshot : snapshots) waiting += snapshot.lock.waiting;
  const auto held =
      std::ranges::count_if(snapshots, [](const show::ListedLock& snapshot) { return snapshot.lock.is_held(); });
  return std::to_string(snapshots.size()) + (snapshots.size() == 1 ? " lock, " : " locks, ") + std::to_string(held) +
         " held, " + std::to_string(waiting) + " waiting";
}

// What was seen last, and since when nothing was.
struct Scene {
  std::vector<show::ListedLock> snapshots;
  std::string time;
  Instant seen_at{};
  std::string trouble;  ///< why the server does not answer; empty: it does
  std::vector<lock::Unseen> unseen;

  std::vector<std::string> lines(const show::View& view, const std::string& server, base::ScreenSize size,
                                 base::Scroll& scroll) const;
};

std::vector<std::string> Scene::lines(const show::View& view, const std::string& server, base::ScreenSize size,
                                      base::Scroll& scroll) const {
  const auto layout = show::Layout::of(STDOUT_FILENO);
  show::Table head;
  show::Row row{{view.key().empty() ? "rlock status" : "rlock status " + view.key(), show::Style::strong}, {time}};
  if (!view.is_of_one()) row.push_back({counts(snapshots)});
  row.push_back({server, show::Style::faint});
  head.add(std::move(row));
  auto lines = head.lines(layout);
  const auto add = [&](std::string text, show::Style style) {
    show::Table line;
    line.add({{std::move(text), style}});
    lines.push_back(line.lines(layout).front());
  };
  if (!trouble.empty()) {
    add("no answer for " + base::age_text(std::chrono::floor<base::Duration>(BootClock::now() - seen_at)) +
            ", trying again: " + trouble,
        show::Style::bad);
  } else if (!unseen.empty()) {
    const auto others = unseen.size() - 1;
    add("not shown: the locks at " + unseen.front().server +
            (others > 0 ? " and " + std::to_string(others) + " more" : "") + ": " + unseen.front().error.message,
        show::Style::bad);
  } else {
    lines.emplace_back();
  }
  const bool is_list = !view.is_of_one();
  if (is_list && snapshots.empty()) return lines;
  const auto taken = lines.size() + (is_list ? 1 : 0);  // the heading of the list
  const auto room = size.rows - std::min(size.rows, taken);
  if (room == 0) return lines;
  const auto detail = is_list ? std::vector<std::string>() : show::detail_lines(snapshots.front(), layout);
  const auto total = is_list ? snapshots.size() : detail.size();
  const auto [first, count] = scroll.window(total, room);
  const auto shown = is_list ? show::list_lines(std::span(snapshots).subspan(first, count), layout) : detail;
  std::ranges::copy(is_list ? std::span(shown) : std::span(shown).subspan(first, count), std::back_inserter(lines));
  if (count < total) {
    add("... " + std::to_string(first) + " above, " + std::to_string(total - first - count) +
            " below; arrows, PageUp and PageDown scroll, q ends",
        show::Style::faint);
  }
  return lines;
}

}  // namespace

int watch(show::View& view, lock::Backend& backend, const Options& options) {
  Scene scene;
  const auto saw = [&](std::vector<show::ListedLock> snapshots) {
    scene = {.snapshots = std::move(snapshots),
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
  process::LiveScreen screen(
      [&](base::ScreenSize size, base::Scroll& scroll) { return scene.lines(view, backend.name(), size, scroll); });
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
