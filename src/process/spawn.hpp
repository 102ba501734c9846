#pragma once

#include <sys/types.h>

#include <string>
#include <variant>
#include <vector>

#include "process/proc.hpp"
#include "process/signals.hpp"

namespace rlock::process {

/// The command runs. Its pid stays valid until it is reaped.
struct Spawned {
  pid_t pid;
  std::vector<Process> before;  ///< children that this process had already, from before an exec
  bool adopts;                  ///< orphans below it become children of this process
};
/// exec failed with this errno; nothing of the command ran.
struct ExecFailed {
  int error;
};
/// A signal came before the command could start; it was not started (R16 of tests/PROOFS.md).
struct SignalFirst {};
/// It was too late to start the command; it was not started (R2 of tests/PROOFS.md).
struct TooLate {};
/// No process could be made: errno.
struct NoProcess {
  int error;
};

/// Starts argv without a shell, found along PATH, in the caller's process group, with the caller's
/// signal mask and dispositions, and with none of our descriptors (all are close-on-exec). It is killed
/// when rlock dies, and orphans below it become children of rlock, unless the kernel refuses that.
/// `latest`: it does not start from then on, wherever rlock was held up on the way.
std::variant<Spawned, ExecFailed, SignalFirst, TooLate, NoProcess> spawn(const std::vector<std::string>& argv,
                                                                         Signals& signals, base::Instant latest);

}  // namespace rlock::process
