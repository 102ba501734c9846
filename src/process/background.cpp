#include "process/background.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <vector>

#include "base/descriptors.hpp"
#include "base/fd.hpp"
#include "base/log.hpp"
#include "base/read.hpp"
#include "base/title.hpp"

namespace rlock::process {

using base::ErrorCode;
using base::Result;

namespace {

// What begin said: nothing, or an error's message. Behind it the end of the pipe.
constexpr char begun = '+';

void close_all_but(std::span<const int> left_open) {
  std::vector<int> sorted(left_open.begin(), left_open.end());
  std::ranges::sort(sorted);
  int from = STDERR_FILENO + 1;
  for (const int fd : sorted) {
    base::close_descriptors(from, fd - 1);
    from = std::max(from, fd + 1);
  }
  base::close_descriptors(from, base::max_descriptor);
}

// What it throws must not unwind through the stack of whoever forked it.
[[noreturn]] void live(const BackgroundProcess& process, base::Fd told) noexcept {
  auto left_open = process.left_open;
  left_open.push_back(told.get());
  become_background(process.name, process.title, left_open);
  const auto begin = process.begin();
  const auto text = begin ? std::string(1, begun) : begin.error().message;
  (void)!::write(told.get(), text.data(), text.size());
  told.reset();
  if (begin) process.run();
  ::_exit(0);
}

}  // namespace

void become_background(const char* name, const std::string& title, std::span<const int> left_open) {
  ::setsid();
  ::prctl(PR_SET_NAME, name);
  base::set_title(title);
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (null >= 0) ::dup2(null, standard);
  }
  close_all_but(left_open);
  base::log_without_standard_error();
}

Result<void> start_in_background(const BackgroundProcess& process) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return base::fail_errno(ErrorCode::internal, "pipe2");
  const base::Fd hears(ends[0]);
  base::Fd told(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return base::fail_errno(ErrorCode::internal, "fork");
  if (pid == 0) live(process, std::move(told));
  told.reset();
  const auto text = base::read_all(hears.get()).value_or("");
  if (text == std::string(1, begun)) return {};
  return base::fail(ErrorCode::internal, text.empty() ? "the process in the background was killed" : text);
}

}  // namespace rlock::process
