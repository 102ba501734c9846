#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rlock::zookeeper {

/// What ZooKeeper says of a request; numbers that are not here may come too.
enum class Code : std::int32_t {
  too_long = 1,  ///< our own: the answer is longer than max_frame, and was passed over
  ok = 0,
  connection_loss = -4,
  operation_timeout = -7,
  no_node = -101,
  no_auth = -102,
  bad_version = -103,
  ephemeral_on_local_session = -120,
  node_exists = -110,
  session_expired = -112,
  auth_failed = -115,
  session_moved = -118,
  not_read_only = -119,
  needs_sasl = -124,
  quota_exceeded = -125,
  throttled = -127
};

/// A request without its number. The answers to `auth` and `ping` have numbers of their own.
struct Request {
  enum class Op : std::int32_t {
    remove = 2,
    exists = 3,
    get_data = 4,
    set_data = 5,
    sync = 9,
    ping = 11,
    get_children = 12,
    multi = 14,
    create = 15,
    create_container = 19,
    auth = 100,
    close_session = -11
  };
  Op op;
  std::string body{};
};

struct Answer {
  Code code = Code::ok;
  std::string body{};
};

/// The state of a node.
struct Stat {
  std::int64_t created_in = 0;   ///< the transaction: czxid
  std::int64_t created_ms = 0;   ///< by the leader's clock, since 1970
  std::int64_t modified_ms = 0;  ///< ditto
  std::int32_t version = 0;      ///< of its data
  std::int64_t owner = 0;        ///< the session of an ephemeral node; 0: it is none
  std::int32_t children = 0;
};

struct Node {
  std::string data;
  Stat stat;
};

/// Who may do everything with a new node.
enum class Owner {
  world,
  creator  ///< whom the connection has authenticated as
};

enum class Lifetime : std::int32_t { persistent = 0, ephemeral = 1, ephemeral_sequential = 3, container = 4 };

/// Any version of a node's data.
inline constexpr std::int32_t any_version = -1;

enum class Notify { no, yes };

Request create(std::string_view path, std::string_view data, Owner owner, Lifetime lifetime);
Request remove(std::string_view path, std::int32_t version = any_version);
Request set_data(std::string_view path, std::string_view data, std::int32_t version = any_version);
Request get_data(std::string_view path);
Request get_children(std::string_view path, Notify notify = Notify::no);
Request exists(std::string_view path, Notify notify = Notify::no);
Request sync(std::string_view path);
Request ping();
Request close_session();
Request digest_auth(std::string_view user, std::string_view password);
/// All of them or none.
Request multi(std::span<const Request> requests);

/// These read the body of an answer whose code is ok. nullopt: it is not one of that kind.
std::optional<Stat> read_stat(std::string_view body);
std::optional<Node> read_node(std::string_view body);
std::optional<std::vector<std::string>> read_children(std::string_view body);

/// A node as `create` has made it.
struct Created {
  std::string path;
  Stat stat;
};
std::optional<Created> read_created(std::string_view body);

/// What has come of `multi`.
struct Outcome {
  Code code = Code::ok;
  std::size_t failed = 0;  ///< which of the requests has that code, where it is not ok
};
std::optional<Outcome> read_multi(const Answer& answer);

/// What opens a connection: for a new session (id 0), or again.
struct Greeting {
  std::int64_t id = 0;
  std::string password = std::string(16, '\0');
  std::int32_t timeout_ms = 0;
  std::int64_t last_seen = 0;  ///< the last transaction that was heard of: a member that lags behind refuses us
};
/// Its answer. A timeout of 0: there is no such session any more.
struct Welcome {
  std::int64_t id = 0;
  std::string password;
  std::int32_t timeout_ms = 0;
  bool is_read_only = false;
};

/// A whole frame with its length.
std::string frame_of(const Greeting& greeting);
std::string frame_of(std::int32_t number, const Request& request);
std::optional<Welcome> read_welcome(std::string_view frame);

/// What a member says behind the welcome.
struct Message {
  std::int32_t number = 0;  ///< of the request
  std::int64_t seen = 0;    ///< the last transaction that the member knows; 0 or less: it does not say
  Answer answer;
};
std::optional<Message> read_message(std::string_view frame);

inline constexpr std::int32_t number_of_event = -1;
inline constexpr std::int32_t number_of_ping = -2;
inline constexpr std::int32_t number_of_auth = -4;

/// What a watch has reported.
struct Event {
  enum class Type : std::int32_t { none = -1, created = 1, deleted = 2, changed = 3, children = 4 };
  Type type = Type::none;
  std::string path;
};
std::optional<Event> read_event(std::string_view body);

/// No honest answer comes near it: a hundred thousand waiters in one queue.
inline constexpr std::size_t max_frame = 8U << 20U;

/// The first frame of what has come, without its length, which is taken out of bytes; nullopt: more bytes are needed.
/// is_broken: they can never be one.
std::optional<std::string> take_frame(std::string& bytes, bool& is_broken);
/// Whether what is_broken is a frame that is longer than max_frame. What begins with text is none.
bool is_too_long(std::string_view bytes);
/// Of bytes that begin with such a frame: a frame to take in its place, a message of this number whose code is
/// too_long. size: of the frame with its length. nullopt: more bytes are needed.
std::optional<std::string> in_place_of_too_long(std::string_view bytes, std::size_t& size);

}  // namespace rlock::zookeeper
