#include "stores/zookeeper/jute.hpp"

#include <algorithm>
#include <utility>

namespace rlock::zookeeper {

namespace {

constexpr std::int32_t all_rights = 31;

class Writer {
 public:
  Writer& number(std::int32_t value) { return put(static_cast<std::uint32_t>(value), 4); }
  Writer& wide(std::int64_t value) { return put(static_cast<std::uint64_t>(value), 8); }
  Writer& flag(bool value) { return put(value ? 1 : 0, 1); }
  Writer& text(std::string_view value) {
    number(static_cast<std::int32_t>(value.size()));
    bytes_ += value;
    return *this;
  }
  Writer& raw(std::string_view value) {
    bytes_ += value;
    return *this;
  }
  std::string done() { return std::move(bytes_); }

 private:
  Writer& put(std::uint64_t value, int size) {
    while (size-- > 0) bytes_ += static_cast<char>(value >> (8 * size) & 0xffU);
    return *this;
  }

  std::string bytes_;
};

// Where something is missing, all that is read from there on is zero, and ok() false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  std::int32_t number() { return static_cast<std::int32_t>(take(4)); }
  std::int64_t wide() { return static_cast<std::int64_t>(take(8)); }
  bool flag() { return take(1) != 0; }
  std::string text() {
    const auto length = number();
    if (length < 0) return "";  // null
    if (static_cast<std::size_t>(length) > bytes_.size()) {
      fail();
      return "";
    }
    std::string result(bytes_.substr(0, static_cast<std::size_t>(length)));
    bytes_.remove_prefix(result.size());
    return result;
  }
  bool ok() const { return is_ok_; }
  bool is_at_end() const { return bytes_.empty(); }
  std::string_view rest() const { return bytes_; }

 private:
  std::uint64_t take(std::size_t size) {
    if (bytes_.size() < size) {
      fail();
      return 0;
    }
    std::uint64_t value = 0;
    for (const char c : bytes_.substr(0, size)) value = value << 8U | static_cast<unsigned char>(c);
    bytes_.remove_prefix(size);
    return value;
  }
  void fail() {
    is_ok_ = false;
    bytes_ = {};
  }

  std::string_view bytes_;
  bool is_ok_ = true;
};

Stat stat_in(Reader& reader) {
  Stat stat;
  stat.created_in = reader.wide();
  reader.wide();  // the transaction that modified it
  stat.created_ms = reader.wide();
  stat.modified_ms = reader.wide();
  stat.version = reader.number();
  reader.number();  // version of the children
  reader.number();  // version of the ACL
  stat.owner = reader.wide();
  reader.number();  // length of the data
  stat.children = reader.number();
  reader.wide();  // the transaction that modified the children
  return stat;
}

template <class T>
std::optional<T> if_ok(const Reader& reader, T value) {
  return reader.ok() ? std::optional(std::move(value)) : std::nullopt;
}

std::string framed(const std::string& bytes) {
  return Writer().number(static_cast<std::int32_t>(bytes.size())).raw(bytes).done();
}

Request of_path(Request::Op op, std::string_view path, Notify notify) {
  return {op, Writer().text(path).flag(notify == Notify::yes).done()};
}

}  // namespace

Request create(std::string_view path, std::string_view data, Owner owner, Lifetime lifetime) {
  Writer body;
  body.text(path).text(data).number(1).number(all_rights);
  if (owner == Owner::creator) {
    body.text("auth").text("");
  } else {
    body.text("world").text("anyone");
  }
  body.number(static_cast<std::int32_t>(lifetime));
  return {lifetime == Lifetime::container ? Request::Op::create_container : Request::Op::create, body.done()};
}

Request remove(std::string_view path, std::int32_t version) {
  return {Request::Op::remove, Writer().text(path).number(version).done()};
}

Request set_data(std::string_view path, std::string_view data, std::int32_t version) {
  return {Request::Op::set_data, Writer().text(path).text(data).number(version).done()};
}

Request get_data(std::string_view path) { return of_path(Request::Op::get_data, path, Notify::no); }
Request get_children(std::string_view path, Notify notify) { return of_path(Request::Op::get_children, path, notify); }
Request exists(std::string_view path, Notify notify) { return of_path(Request::Op::exists, path, notify); }
Request sync(std::string_view path) { return {Request::Op::sync, Writer().text(path).done()}; }
Request ping() { return {Request::Op::ping}; }
Request close_session() { return {Request::Op::close_session}; }

Request digest_auth(std::string_view user, std::string_view password) {
  const auto credentials = std::string(user) + ":" + std::string(password);
  return {Request::Op::auth, Writer().number(0).text("digest").text(credentials).done()};
}

Request multi(std::span<const Request> requests) {
  Writer body;
  for (const auto& request : requests) {
    body.number(static_cast<std::int32_t>(request.op)).flag(false).number(-1).raw(request.body);
  }
  body.number(-1).flag(true).number(-1);
  return {Request::Op::multi, body.done()};
}

std::optional<Stat> read_stat(std::string_view body) {
  Reader reader(body);
  const auto stat = stat_in(reader);
  return if_ok(reader, stat);
}

std::optional<Node> read_node(std::string_view body) {
  Reader reader(body);
  Node node;
  node.data = reader.text();
  node.stat = stat_in(reader);
  return if_ok(reader, std::move(node));
}

std::optional<std::vector<std::string>> read_children(std::string_view body) {
  Reader reader(body);
  std::vector<std::string> names;
  for (auto left = reader.number(); left > 0 && reader.ok(); --left) names.push_back(reader.text());
  return if_ok(reader, std::move(names));
}

std::optional<Created> read_created(std::string_view body) {
  Reader reader(body);
  Created created;
  created.path = reader.text();
  created.stat = stat_in(reader);
  return if_ok(reader, std::move(created));
}

// Where one fails, each result is an error: ok of those before it, another one of those behind it.
std::optional<Outcome> read_multi(const Answer& answer) {
  constexpr std::int32_t error = -1;
  Reader reader(answer.body);
  for (std::size_t i = 0; !reader.is_at_end(); ++i) {
    const auto type = reader.number();
    const bool is_end = reader.flag();
    reader.number();  // the code once more
    if (!reader.ok()) return std::nullopt;
    if (is_end || type != error) break;
    const auto code = static_cast<Code>(reader.number());
    if (reader.ok() && code != Code::ok) return Outcome{code, i};
  }
  return if_ok(reader, Outcome{answer.code});
}

std::string frame_of(const Greeting& greeting) {
  Writer body;
  body.number(0).wide(greeting.last_seen).number(greeting.timeout_ms).wide(greeting.id).text(greeting.password);
  return framed(body.flag(false).done());  // not of a member that may be read alone
}

std::string frame_of(std::int32_t number, const Request& request) {
  return framed(Writer().number(number).number(static_cast<std::int32_t>(request.op)).raw(request.body).done());
}

std::optional<Welcome> read_welcome(std::string_view frame) {
  Reader reader(frame);
  reader.number();  // version of the protocol
  Welcome welcome;
  welcome.timeout_ms = reader.number();
  welcome.id = reader.wide();
  welcome.password = reader.text();
  welcome.is_read_only = !reader.is_at_end() && reader.flag();
  return if_ok(reader, std::move(welcome));
}

std::optional<Message> read_message(std::string_view frame) {
  Reader reader(frame);
  Message message;
  message.number = reader.number();
  message.seen = reader.wide();
  message.answer.code = static_cast<Code>(reader.number());
  message.answer.body = reader.rest();
  return if_ok(reader, std::move(message));
}

std::optional<Event> read_event(std::string_view body) {
  Reader reader(body);
  Event event;
  event.type = static_cast<Event::Type>(reader.number());
  reader.number();  // the state of the session
  event.path = reader.text();
  return if_ok(reader, std::move(event));
}

bool is_too_long(std::string_view bytes) {
  constexpr std::int32_t least_text = ' ' << 24;
  const auto length = Reader(bytes).number();
  return length > static_cast<std::int32_t>(max_frame) && length < least_text;
}

std::optional<std::string> in_place_of_too_long(std::string_view bytes, std::size_t& size) {
  Reader reader(bytes);
  size = sizeof(std::int32_t) + static_cast<std::size_t>(reader.number());
  const auto number = reader.number();
  const auto seen = reader.wide();
  if (!reader.ok()) return std::nullopt;
  return Writer().number(number).wide(seen).number(static_cast<std::int32_t>(Code::too_long)).done();
}

std::optional<std::string> take_frame(std::string& bytes, bool& is_broken) {
  Reader reader(bytes);
  const auto length = reader.number();
  if (!reader.ok()) return std::nullopt;
  is_broken = length < 0 || static_cast<std::size_t>(length) > max_frame;
  const auto size = static_cast<std::size_t>(length);
  if (is_broken || reader.rest().size() < size) return std::nullopt;
  std::string frame(reader.rest().substr(0, size));
  bytes.erase(0, bytes.size() - reader.rest().size() + size);
  return frame;
}

}  // namespace rlock::zookeeper
