#pragma once

#include <vector>

#include "stores/redis/client/session.hpp"
#include "stores/redis/scripts/script_call.hpp"

namespace rlock::redis {

/// Whether the reply is that another node of a Cluster has the key, or is getting it.
bool is_elsewhere(const Reply& reply);

/// Runs scripts over a session: by their hash, in full where the server does not know them, and on the node of a
/// Cluster that has the lock.
class ScriptRunner {
 public:
  ScriptRunner(Session session, const Scripts& scripts) : session_(std::move(session)), scripts_(scripts) {}

  /// One round trip; two while the server has not cached the script, more while a Cluster moves the lock.
  base::Result<Reply> run(ScriptCall call, base::Wait wait);
  /// Runs it behind other commands, in one flight. What these are answered does not matter.
  base::Result<Reply> run_behind(std::vector<Command> first, const ScriptCall& call, base::Wait wait);

  /// Fills in the grace, and for how long the server is young under it as far as its locator knows; without a grace,
  /// for how long those who held locks before it was away come first. Only a session that is connected knows which
  /// server that is, so this comes before each flight; run() does it.
  base::Result<void> fill_in_grace(ScriptCall& call, base::Wait wait);
  /// What to do about the reply of a script that was sent behind other commands.
  enum class Next {
    read,        ///< it is an answer
    send_again,  ///< all of it: it goes to another server now, over a new connection
    run,         ///< the script alone
    fail,
  };
  /// redirections: counted here, from 0 for each request.
  Next after(const Reply& reply, const Script& script, int& redirections);
  /// The server has restarted, and has lost the scripts that it had cached.
  void send_in_full(const Script& script) { unknown_ = &script; }
  base::Error error_of(const Reply& reply);

  /// Whether the last script was served by a Cluster that is moving the keys of the lock.
  bool is_moving() const { return is_moving_; }
  /// Where the last script was carried out.
  Session& served_by() { return was_asked_ ? session_.asked() : session_; }
  const Scripts& scripts() const { return scripts_; }
  Session& session() { return session_; }
  const Session& session() const { return session_; }

 private:
  base::Duration courtesy_left() const;
  /// Its reply may be an error.
  base::Result<Reply> run_while_moving(const ScriptCall& call, base::Wait wait);
  bool follow(const Reply& reply, int& redirections);

  Session session_;
  const Scripts& scripts_;
  const Script* unknown_ = nullptr;  ///< the script that the server does not know, until it was sent in full
  bool is_moving_ = false;
  bool was_asked_ = false;  ///< the last answer came from session_.asked()
};

}  // namespace rlock::redis
