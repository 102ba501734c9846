#pragma once

namespace rlock::process {

/// On a machine whose cores are all busy, a process that wakes up waits for its turn, perhaps until after the end of
/// the lease. A guard sleeps nearly all the time, so it may go first: as a realtime process if it has that right, else
/// with a short time slice, which is scheduled sooner (Linux 6.12 and later; older kernels ignore it).
void be_prompt();

/// For the rest of its life the process, and the session that it leads, gets a tenth of an ordinary share: hundreds of
/// guards may search and release at once, and the server that all others renew at must not wait for them.
void step_back();

/// While it lives, the process is ordinary, if it was prompt: realtime is for the kill of what is known at a deadline,
/// not for searches.
class Ordinary {
 public:
  Ordinary();
  Ordinary(const Ordinary&) = delete;
  Ordinary& operator=(const Ordinary&) = delete;
  ~Ordinary();

 private:
  bool was_prompt_;
};

}  // namespace rlock::process
