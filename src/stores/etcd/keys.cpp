#include "stores/etcd/keys.hpp"

#include "base/text/text.hpp"
#include "net/url.hpp"

namespace rlock::etcd {

namespace {

std::string escaped(std::string_view text) {
  static const std::string special = [] {
    std::string bytes = "%/-\x7f";
    for (char c = 0; c < ' '; ++c) bytes += c;
    return bytes;
  }();
  return net::escape(text, special);
}

}  // namespace

Range beginning_with(std::string prefix) {
  std::string end = prefix;
  while (!end.empty() && end.back() == '\xff') end.pop_back();
  if (!end.empty()) end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  // To etcd a zero byte is the end of all keys.
  if (end.empty()) end.assign(1, '\0');
  return {std::move(prefix), std::move(end)};
}

std::string Keys::below(char what, std::string_view wire_key) const {
  return prefix_ + "/" + what + "/" + escaped(wire_key);
}

Range Keys::queue(std::string_view wire_key) const { return beginning_with(below('q', wire_key) + "/"); }

std::string Keys::entry(std::string_view wire_key, std::string_view token, lock::Mode mode) const {
  return below('q', wire_key) + "/" + escaped(token) + "-" + mode.encode();
}

Range Keys::entries(std::string_view wire_key, std::string_view token) const {
  return beginning_with(below('q', wire_key) + "/" + escaped(token) + "-");
}

std::string Keys::last_run(std::string_view wire_key) const { return below('l', wire_key); }

std::string Keys::released(std::string_view wire_key, std::string_view token) const {
  return below('r', wire_key) + "/" + escaped(token);
}

Range Keys::queues(std::string_view wire_prefix) const { return beginning_with(below('q', wire_prefix)); }
Range Keys::last_runs(std::string_view wire_prefix) const { return beginning_with(below('l', wire_prefix)); }

std::optional<std::string> Keys::wire_key(std::string_view key) const {
  const std::size_t head = prefix_.size() + std::string_view("/q/").size();
  if (key.size() < head) return std::nullopt;
  key.remove_prefix(head);
  return net::unescape(base::take_until(key, '/'));
}

std::string Keys::behind(std::string_view key) const {
  const auto queue_end = key.find('/', prefix_.size() + std::string_view("/q/").size());
  if (queue_end == key.npos) return std::string(key) + '\0';
  return beginning_with(std::string(key.substr(0, queue_end + 1))).to;
}

EntryName read_entry_name(std::string_view key) {
  auto mode = key.substr(key.rfind('/') + 1);
  const auto token = net::unescape(base::take_until(mode, '-'));
  return {token.value_or("?"), lock::Mode::decode(mode).value_or(lock::Mode{})};
}

}  // namespace rlock::etcd
