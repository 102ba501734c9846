#include "show/log_json.hpp"

#include <nlohmann/json.hpp>

#include "base/log.hpp"
#include "base/text/text.hpp"
#include "base/text/time_text.hpp"

namespace rlock::show {
namespace {

using json = nlohmann::ordered_json;

std::string_view name_of(base::LogLevel level) {
  switch (level) {
    case base::LogLevel::error:
      return "error";
    case base::LogLevel::note:
      return "warning";
    case base::LogLevel::info:
      return "info";
    case base::LogLevel::debug:
      break;
  }
  return "debug";
}

json to_json(const base::LogFields& fields) {
  auto object = json::object();
  for (const auto& field : fields) {
    const auto set = [&object, name = std::string(field.name)](const auto& known) {
      if constexpr (std::is_same_v<std::decay_t<decltype(known)>, base::LogFields>) {
        object[name] = to_json(known);
      } else {
        object[name] = known;
      }
    };
    std::visit(set, field.value);
  }
  return object;
}

// ASCII only, whatever the bytes are: it may be shown on a terminal (R24 of tests/PROOFS.md).
std::string encode(base::LogLevel level, std::string_view message, const base::LogEvent& event) {
  const std::string_view unnamed = level == base::LogLevel::error ? "error" : "message";
  json line{
      {"time", base::rfc3339_now()}, {"level", name_of(level)}, {"event", event.name.empty() ? unnamed : event.name}};
  line.update(to_json(event.fields));
  line["message"] = base::printable(message);
  return line.dump(-1, ' ', true, json::error_handler_t::replace);
}

}  // namespace

void set_log_format(LogFormat format) { base::set_log_encoder(format == LogFormat::json ? encode : nullptr); }

}  // namespace rlock::show
