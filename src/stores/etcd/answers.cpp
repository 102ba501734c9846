#include "stores/etcd/answers.hpp"

#include <string_view>

#include "base/text/base64.hpp"
#include "base/text/bounds.hpp"
#include "base/text/text.hpp"

namespace rlock::etcd {

namespace {

using Json = nlohmann::json;

constexpr int not_found = 5;
constexpr int failed_precondition = 9;
constexpr std::size_t max_reason = 200;

// nullptr: left out.
const Json* at(const Json& object, const char* name) {
  const auto field = object.find(name);
  return field == object.end() ? nullptr : &*field;
}

std::optional<std::int64_t> integer_at(const Json& object, const char* name) {
  const Json* const field = at(object, name);
  if (field == nullptr) return 0;
  const auto* const text = field->get_ptr<const std::string*>();
  if (text != nullptr) return base::parse_number<std::int64_t>(*text);
  if (!field->is_number_integer()) return std::nullopt;
  return field->get<std::int64_t>();
}

std::optional<std::uint64_t> revision_at(const Json& object, const char* name) {
  const auto number = integer_at(object, name);
  return number ? base::fence_of(*number) : std::nullopt;
}

std::optional<std::string> bytes_at(const Json& object, const char* name) {
  const Json* const field = at(object, name);
  if (field == nullptr) return "";
  const auto* const text = field->get_ptr<const std::string*>();
  return text == nullptr ? std::nullopt : base::from_base64(*text);
}

// nullopt: it is not true or false.
std::optional<bool> flag_at(const Json& object, const char* name) {
  const Json* const field = at(object, name);
  if (field == nullptr) return false;
  if (!field->is_boolean()) return std::nullopt;
  return field->get<bool>();
}

std::optional<KeyValue> read_key_value(const Json& object) {
  auto key = bytes_at(object, "key");
  auto value = bytes_at(object, "value");
  const auto created = revision_at(object, "create_revision");
  const auto version = revision_at(object, "mod_revision");
  const auto lease = integer_at(object, "lease");
  if (!key || !value || !created || !version || !lease) return std::nullopt;
  return KeyValue{std::move(*key), std::move(*value), *created, *version, *lease};
}

// Each element as `read` has it. Left out: none.
template <class T, class Read>
std::optional<std::vector<T>> list_at(const Json& object, const char* name, Read read) {
  std::vector<T> list;
  const Json* const field = at(object, name);
  if (field == nullptr) return list;
  if (!field->is_array()) return std::nullopt;
  for (const Json& element : *field) {
    auto one = read(element);
    if (!one) return std::nullopt;
    list.push_back(std::move(*one));
  }
  return list;
}

std::optional<StepResult> read_step(const Json& step) {
  const Json* const range = at(step, "response_range");
  if (range != nullptr) return read_range(*range);
  const Json* const ended = at(step, "response_delete_range");
  if (ended != nullptr) {
    auto found = list_at<KeyValue>(*ended, "prev_kvs", read_key_value);
    return found ? std::optional(StepResult{.found = std::move(*found)}) : std::nullopt;
  }
  return step.is_object() ? std::optional(StepResult{}) : std::nullopt;
}

struct Event {
  bool is_end = false;
  std::string key;
};

std::optional<Event> read_event(const Json& event) {
  const Json* const type = at(event, "type");
  const Json* const key_value = at(event, "kv");
  if (key_value == nullptr) return std::nullopt;
  auto key = bytes_at(*key_value, "key");
  if (!key) return std::nullopt;
  return Event{type != nullptr && *type == "DELETE", std::move(*key)};
}

std::string reason_of(const Json& message) {
  const Json* const reason = at(message, "cancel_reason");
  const auto* const text = reason == nullptr ? nullptr : reason->get_ptr<const std::string*>();
  if (text == nullptr || text->empty()) return "it gave no reason";
  return base::printable(base::whole_characters(*text, max_reason));
}

}  // namespace

std::optional<StepResult> read_range(const Json& answer) {
  if (!answer.is_object()) return std::nullopt;
  auto found = list_at<KeyValue>(answer, "kvs", read_key_value);
  const auto count = integer_at(answer, "count");
  if (!found || !count || *count < 0) return std::nullopt;
  return StepResult{std::move(*found), base::count_of(*count)};
}

std::optional<Outcome> read_transaction(const Json& answer) {
  const Json* const header = at(answer, "header");
  if (header == nullptr) return std::nullopt;
  const auto revision = revision_at(*header, "revision");
  const auto held = flag_at(answer, "succeeded");
  auto steps = list_at<StepResult>(answer, "responses", read_step);
  if (!revision || *revision == 0 || !held || !steps) return std::nullopt;
  return Outcome{*held, *revision, std::move(*steps)};
}

std::optional<std::int64_t> read_seconds(const Json& answer) {
  // The answer to keep_alive() is one message of a stream.
  const Json* const message = at(answer, "result");
  const Json& lease = message == nullptr ? answer : *message;
  if (at(lease, "header") == nullptr) return std::nullopt;
  const auto seconds = integer_at(lease, "TTL");
  return seconds ? std::optional(base::count_of(*seconds)) : std::nullopt;
}

bool is_idle_lease(const Json& answer) {
  const auto seconds = read_seconds(answer);
  const Json* const keys = at(answer, "keys");
  return seconds && *seconds > 0 && (keys == nullptr || keys->empty());
}

std::optional<News> read_news(const Json& message) {
  const auto canceled = flag_at(message, "canceled");
  const auto compacted = integer_at(message, "compact_revision");
  const auto events = list_at<Event>(message, "events", read_event);
  if (!message.is_object() || !canceled || !compacted || !events) return std::nullopt;
  News news{.is_compacted = *compacted > 0};
  for (const Event& event : *events) {
    if (event.is_end) news.gone.push_back(event.key);
    news.has_writes |= !event.is_end;
  }
  if (*canceled && !news.is_compacted) news.ended = reason_of(message);
  return news;
}

bool is_no_lease(const Refusal& refusal) {
  return refusal.code == not_found && refusal.message.find("lease not found") != std::string::npos;
}

bool is_too_long(const Answer& answer) { return !answer && answer.error().code == Refusal::too_long; }

bool is_lease_there(const Refusal& refusal) {
  return refusal.code == failed_precondition && refusal.message.find("lease already exists") != std::string::npos;
}

}  // namespace rlock::etcd
