#pragma once

#include <poll.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/wait/wait.hpp"
#include "lock/mode.hpp"
#include "lock/who.hpp"
#include "stores/ordered/record.hpp"

namespace rlock::ordered {

/// One who holds a lock or waits for it. All of one lock are its queue: who is ahead decides who holds.
struct Entry {
  std::uint64_t order = 0;  ///< grows with each entry of a queue; none has the same
  std::string token;
  lock::Mode mode;
  std::uint64_t version = 0;  ///< of its record: another one after each write
  std::string name{};         ///< as the store has it, where token and mode do not tell
};

/// An entry as status sees it.
struct Listed {
  Entry entry;
  std::uint64_t fence = 0;
  std::optional<Record> record;            ///< nullopt: none that can be read
  std::optional<base::Duration> ttl_left;  ///< nullopt: not known
};

/// What a step has found, and when.
struct View {
  std::uint64_t fence = 0;   ///< of our entry: grows with each entry of this store, whatever its lock
  std::vector<Entry> ahead;  ///< of us, in order; of a long queue enter() may give those right ahead alone
  std::int64_t further = 0;  ///< so many more are ahead of these: then we do not hold, whatever our mode
  /// Of enter() and confirm(): before their request was sent. What was asked for lasts for the ttl from here on, a
  /// majority says (R45 of tests/PROOFS.md). Of look(): none.
  base::Instant sent{};
  std::optional<Listed> head = {};  ///< the first of the queue; nullopt: it was not read along
};

/// The ttl to ask for: `ttl`, or more where another process has asked for a lease that lasts until `until`, which is
/// not cut short (a nested `renew --ttl 2s` asks for less).
base::Duration at_least(base::Duration ttl, base::Instant until);

/// As the rest of rlock knows it; nullopt: there is no record.
std::optional<lock::Record> lock_record(const Listed& listed);

/// Whether to ask how long leases last (Listed::ttl_left), which a store may keep apart from its entries.
enum class TimesLeft { no, yes };

/// The queue of one lock.
struct Queue {
  std::vector<Listed> first;            ///< in order; so many as were asked for
  std::int64_t size = 0;                ///< of all its entries
  std::optional<std::string> last_run;  ///< as leave() was given it
  std::optional<base::Error> unread{};  ///< why its entries could not be read, as those of others could: it is too long
};

/// What is left behind by an entry that goes.
struct LeaveOptions {
  base::Duration hold{};        ///< the entry stays for so long, with this record; zero: it goes
  Record ended{};               ///< that record
  std::string last_run{};       ///< of the lock, for Queue::last_run; empty: what is there stays
  base::Duration remembered{};  ///< for how long that is to be kept at least
  bool leaves_note = false;     ///< was_released() is to say so for a while
};

/// Whether to make an entry in a queue that others are in.
enum class Join { always, if_empty };

/// Whom a watch is of.
struct Watched {
  enum class Whom {
    all,  ///< each entry of the queue
    one,  ///< `entry`
    own   ///< ours
  };
  Whom whom = Whom::all;
  Entry entry{};
  bool is_of_writes = false;  ///< a new record counts too, not only an entry that goes

  /// Whoever watches the one hears all that the other asks for.
  bool is_same(const Watched& other) const;
};

/// What a watch has reported.
struct Changes {
  std::vector<std::string> gone;  ///< the tokens of entries that are no more
  bool is_unclear = false;        ///< something else has happened, or may have: look
};

/// A store that a majority of its members decides, and that orders what it keeps. An object is of one lock, and of one
/// entry of it. Only what is said to be a proof is one: a lease that some member keeps alive, a read or a ping shows
/// nothing of what the majority knows.
///
/// Each step may be repeated. One that fails with unreachable or interrupted may have been carried out all the same;
/// the next is then asked of the next member. No step takes much longer than 2 s at a member that is silent, so that
/// there is time for another one. Answers of an unexpected shape are an internal error.
class OrderedStore {
 public:
  virtual ~OrderedStore() = default;

  /// Makes our entry, or finds that an earlier try has made it; a proof. nullopt: it is not empty (Join::if_empty), and
  /// nothing was made; a store may join all the same. A record without since_us gets the time of the store. The lease
  /// lasts for record.ttl or longer; fails with usage where the store grants none as short as that, or none as long.
  /// One of a waiter (State::waits) may be as near to it as the store grants.
  virtual base::Result<std::optional<View>> enter(const std::string& token, lock::Mode mode, const Record& record,
                                                  Join join, base::Wait wait) = 0;
  /// Takes up the entry that another process has made under this token: all that follows is of it. nullopt: there is
  /// none. Not a proof.
  virtual base::Result<std::optional<Listed>> find(const std::string& token, base::Wait wait) = 0;
  /// Gives our entry a new lease of record.ttl, or of what another process has asked for, where that lasts longer, and
  /// this record; a proof. nullopt: the entry is gone, a majority says.
  virtual base::Result<std::optional<View>> confirm(const Record& record, base::Wait wait) = 0;
  /// Writes nothing. nullopt: the entry is gone, a majority says.
  virtual base::Result<std::optional<View>> look(base::Wait wait) = 0;
  /// Whether our entry and all of these are there, as far as the member that is asked knows: it may be behind the
  /// others, so that this decides only whether to look. Costs less than a look does.
  virtual base::Result<bool> stand(std::span<const Entry> entries, base::Wait wait) = 0;
  /// Keeps the entry of a waiter for another ttl of its last record. false: it is gone, as far as this member knows.
  virtual base::Result<bool> keep_alive(base::Wait wait) = 0;
  /// Ends our entry, and whatever of an earlier try may still make one. false: it was gone.
  virtual base::Result<bool> leave(const LeaveOptions& leaving, base::Wait wait) = 0;
  /// Whether an entry may be there: one was found, made, or asked for without an answer.
  virtual bool may_be_there() const = 0;
  /// How long our entry stays when nobody keeps it, where that is less than a record's ttl.
  virtual base::Duration max_lease() const { return base::Duration::max(); }

  /// Ends those of these entries of our lock that are still of this version; true: all of them were. As far as the
  /// store answers in time, it ends what else they have there too, which would last a while longer: nobody else knows.
  virtual base::Result<bool> remove(std::span<const Entry> entries, base::Wait wait) = 0;
  /// Whether an entry of this token has left a moment ago (LeaveOptions::leaves_note).
  virtual base::Result<bool> was_released(const std::string& token, base::Wait wait) = 0;

  /// From here on drain() tells of this, from the last view on: what has happened since counts too. One at a time;
  /// nothing is asked where the same is watched, and has not gone, already.
  virtual base::Result<void> watch(const Watched& watched, base::Wait wait) = 0;
  virtual std::vector<pollfd> wait_fds() const = 0;
  /// What has happened to what is watched. Never waits. Fails once with unreachable where the connection broke or its
  /// member is cut off; the watch is then over.
  virtual base::Result<Changes> drain() = 0;

  /// The first `most` entries of the queue of each of these wire keys, in this order; decided by the majority.
  virtual base::Result<std::vector<Queue>> read(std::span<const std::string> wire_keys, std::int64_t most,
                                                TimesLeft times, base::Wait wait) = 0;
  /// The wire keys with this prefix that have entries or a last run, sorted, each once.
  virtual base::Result<std::vector<std::string>> list(const std::string& prefix, base::Wait wait) = 0;

  /// The store's clock as of its last answer, and what has passed since; microseconds. 0: there was none.
  virtual std::int64_t now_us() const = 0;
  virtual base::Duration timeout() const = 0;
  /// For messages; holds no password.
  virtual const std::string& name() const = 0;
};

}  // namespace rlock::ordered
