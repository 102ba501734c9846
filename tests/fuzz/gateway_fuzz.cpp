#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/text/bounds.hpp"
#include "stores/etcd/address.hpp"
#include "stores/etcd/answers.hpp"
#include "stores/etcd/client/answer.hpp"
#include "stores/etcd/keys.hpp"
#include "stores/ordered/record.hpp"

namespace {

using namespace rlock::etcd;

void use(const Answer& answer) {
  if (!answer) {
    for (const char c : answer.error().message) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) std::abort();
    }
    (void)needs_token(answer.error());
    return;
  }
  (void)read_range(*answer);
  (void)read_news(*answer);
  const auto seconds = read_seconds(*answer);
  if (seconds && std::chrono::seconds(*seconds) > rlock::base::max_span) std::abort();
  const auto outcome = read_transaction(*answer);
  if (!outcome) return;
  for (const auto& step : outcome->steps) {
    for (const auto& found : step.found) {
      (void)read_entry_name(found.key);
      (void)Keys("/rlock").wire_key(found.key);
      (void)rlock::ordered::Record::decode(found.value);
    }
  }
}

// However the bytes come: all at once, or one by one.
std::string read_by(std::size_t step, std::string_view bytes) {
  rlock::net::HttpReader reader;
  std::string seen;
  std::string unread;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(step, bytes.size()))) {
    unread += bytes.substr(0, step);
    while (!unread.empty()) {
      const auto taken = reader.feed(unread);
      if (!taken) return seen;
      unread.erase(0, *taken);
      if (!reader.is_complete()) continue;
      const auto http = reader.take();
      seen += std::to_string(http.status) + http.date + http.body;
      if (const auto date = read_date(http.date); date && *date < 0) std::abort();
      if (const auto answer = read_answer(http, "it")) use(*answer);
    }
  }
  return seen;
}

}  // namespace

// Bytes of a gateway, and a line of a stream.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (read_by(size + 1, bytes) != read_by(1, bytes)) std::abort();
  if (const auto message = read_message(bytes, "it")) use(*message);
  return 0;
}
