#include "process/signals.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

namespace rlock::process {
namespace {

constexpr std::size_t kernel_mask_size = (NSIG - 1) / 8;  // bytes; libc's sigset_t may be longer

// Signals that rlock must see, or must not die of, whatever their disposition was at the start.
// SIGXFSZ: a message into a file that must not grow (ulimit -f) fails as on a full disk.
constexpr std::array needed{SIGCHLD, SIGCONT, SIGPIPE, SIGXFSZ};

// A poll that finds something ready lets no signal in, and a server that never stops sending has always something
// ready. After so many in a row they are let in.
constexpr int max_ready_in_row = 8;

// Written by the handler, which runs in the main thread only, one signal at a time (sa_mask), and in a
// child of vfork, which shares this memory while we are suspended.
constexpr std::size_t max_pending = 64;
std::array<ReceivedSignal, max_pending> received;
volatile std::sig_atomic_t received_count = 0;
std::size_t taken_count = 0;
volatile std::sig_atomic_t continued = 0;
volatile std::sig_atomic_t stop_asked = 0;

void note(int number, siginfo_t* info, void*) {
  if (number == SIGCONT) {
    continued = 1;
    return;
  }
  if (number == SIGTSTP) {
    stop_asked = 1;
    return;
  }
  if (number == SIGCHLD || number == SIGPIPE || number == SIGXFSZ) return;
  const int count = received_count;
  if (static_cast<std::size_t>(count) >= max_pending) return;
  // si_code > 0: made by the kernel; kill, sigqueue and tgkill are <= 0. Of what the kernel makes, as for an alarm that
  // the caller has set, only these come from the terminal.
  const bool by_kernel = info->si_code > 0;
  const bool from_terminal = by_kernel && (number == SIGINT || number == SIGQUIT || number == SIGHUP);
  received[static_cast<std::size_t>(count)] = {number, from_terminal, by_kernel ? 0 : info->si_pid};
  received_count = count + 1;
}

void handle(int number) {
  struct sigaction action{};
  action.sa_sigaction = note;
  action.sa_flags = SA_SIGINFO;
  sigfillset(&action.sa_mask);
  ::sigaction(number, &action, nullptr);
}

}  // namespace

bool is_ignored(int number) {
  struct sigaction action{};
  ::sigaction(number, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

Signals::Signals() {
  // Not by libc, here and in restore_in_child: musl keeps 34 for itself and leaves it out, which is glibc's first
  // SIGRTMIN.
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, nullptr, &original_mask_, kernel_mask_size);
  blocked_mask_ = original_mask_;
  sigemptyset(&handled_);
  sigemptyset(&ignored_);
  for (int number : ending_signals) {
    if (is_ignored(number)) continue;
    handle(number);
    sigaddset(&handled_, number);
    sigaddset(&blocked_mask_, number);
  }
  for (int number : needed) {
    if (is_ignored(number)) sigaddset(&ignored_, number);
    handle(number);
  }
  // A background job with `stty tostop` would be stopped by its own messages.
  sigaddset(&blocked_mask_, SIGTTOU);
  sigaddset(&blocked_mask_, SIGCHLD);
  sigaddset(&blocked_mask_, SIGCONT);
  ::sigprocmask(SIG_SETMASK, &blocked_mask_, nullptr);

  open_mask_ = original_mask_;
  sigaddset(&open_mask_, SIGTTOU);
  sigdelset(&open_mask_, SIGCHLD);
  sigdelset(&open_mask_, SIGCONT);
}

base::Readiness Signals::wait(std::span<pollfd> fds, base::Instant until) {
  // A short job needs no timer; without one, a suspended machine makes this a second late at most.
  const auto without_timer = std::min(until, base::BootClock::now() + std::chrono::seconds(1));
  while (true) {
    const int n = base::BootClock::now() < without_timer ? base::poll_until(fds, without_timer, &open_mask_)
                                                         : timer_.poll(fds, until, &open_mask_);
    ready_in_row_ = n > 0 ? ready_in_row_ + 1 : 0;
    if (ready_in_row_ >= max_ready_in_row) {
      ready_in_row_ = 0;
      open_window();
      close_window();
    }
    if (first_ending()) return base::Readiness::interrupted;
    if (n > 0) return base::Readiness::ready;
    if (base::BootClock::now() >= until) return base::Readiness::timed_out;
  }
}

bool Signals::asks_to_end(int number) { return std::ranges::find(ending_signals, number) != ending_signals.end(); }

void Signals::wait_event(std::span<pollfd> fds, base::Instant until) { timer_.poll(fds, until, &open_mask_); }

std::optional<int> Signals::first_ending() const {
  if (taken_count >= static_cast<std::size_t>(received_count)) return std::nullopt;
  return received[taken_count].number;
}

std::optional<ReceivedSignal> Signals::take() {
  // Signals are blocked here, so nothing is added meanwhile.
  if (!first_ending()) return std::nullopt;
  const auto signal = received[taken_count++];
  if (taken_count == static_cast<std::size_t>(received_count)) {
    taken_count = 0;
    received_count = 0;
  }
  return signal;
}

bool Signals::take_continued() {
  const bool result = continued != 0;
  continued = 0;
  return result;
}

void Signals::catch_stop() {
  if (is_ignored(SIGTSTP)) return;
  sigaddset(&blocked_mask_, SIGTSTP);
  close_window();
  handle(SIGTSTP);
}

void Signals::let_stop() {
  if (sigismember(&blocked_mask_, SIGTSTP) == 0) return;
  ::signal(SIGTSTP, SIG_DFL);
  // One that is still pending stops us here, unless the caller of rlock has blocked it.
  if (sigismember(&original_mask_, SIGTSTP) == 0) sigdelset(&blocked_mask_, SIGTSTP);
  close_window();
}

bool Signals::take_stop() {
  const bool result = stop_asked != 0;
  stop_asked = 0;
  return result;
}

void Signals::stop() {
  let_stop();
  ::raise(SIGTSTP);
  catch_stop();
}

void Signals::open_window() { ::sigprocmask(SIG_SETMASK, &open_mask_, nullptr); }
void Signals::close_window() { ::sigprocmask(SIG_SETMASK, &blocked_mask_, nullptr); }

void Signals::restore_in_child() const {
  // exec resets what is caught, but until then our handler would swallow a signal meant for the command.
  for (int number : ending_signals) {
    if (sigismember(&handled_, number) == 1) ::signal(number, SIG_DFL);
  }
  for (int number : needed) ::signal(number, sigismember(&ignored_, number) == 1 ? SIG_IGN : SIG_DFL);
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &original_mask_, nullptr, kernel_mask_size);
}

}  // namespace rlock::process
