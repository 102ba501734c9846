#include "base/duration.hpp"
#include "base/number.hpp"
#include "cli/option_table.hpp"

namespace rlock::cli {

using base::Duration;
using commands::Options;

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

namespace {

// As CLI11's own files have them.
std::optional<bool> parse_flag(std::string_view text) {
  for (const std::string_view yes : {"true", "on", "yes", "1"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"false", "off", "no", "0"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

struct Assignment {
  const OptionRow& row;
  Options& options;
  std::string_view text;

  Complaint operator()(std::monostate) const { return std::nullopt; }
  Complaint operator()(bool Options::* field) const {
    options.*field = parse_flag(text) == true;
    return std::nullopt;
  }
  Complaint operator()(std::string Options::* field) const {
    options.*field = text;
    return std::nullopt;
  }
  Complaint operator()(int Options::* field) const {
    const auto number = base::parse_number<int>(text);
    if (!number || *number < row.min || *number > row.max || text != std::to_string(*number)) {
      return quoted(text) + " is not a number from " + std::to_string(row.min) + " to " + std::to_string(row.max);
    }
    options.*field = *number;
    return std::nullopt;
  }
  Complaint operator()(Duration Options::* field) const { return set_duration(options.*field); }
  Complaint operator()(std::optional<Duration> Options::* field) const { return set_duration(options.*field); }
  Complaint operator()(OptionRow::Setter set) const { return set(options, text); }

  template <class Field>
  Complaint set_duration(Field& field) const {
    const auto duration = base::parse_duration(text);
    if (!duration) return quoted(text) + " is not a duration; write 500ms, 30s, 5m or 1h30m";
    if (duration->count() < row.min) {
      return quoted(text) + " is too short; at least " + base::format_duration(Duration(row.min));
    }
    field = *duration;
    return std::nullopt;
  }
};

bool is_choice(std::string_view choices, std::string_view text) {
  return !text.empty() && text.find('|') == std::string_view::npos &&
         ("|" + std::string(choices) + "|").find("|" + std::string(text) + "|") != std::string::npos;
}

}  // namespace

bool is_off(const OptionRow& row, std::string_view text) { return row.kind == Kind::flag && parse_flag(text) == false; }

Complaint set_value(const OptionRow& row, Options& to, std::string_view text) {
  if (row.kind == Kind::flag) {
    const auto flag = parse_flag(text);
    if (!flag) return quoted(text) + " is not true or false";
    text = *flag ? "true" : "false";
  }
  if (row.kind == Kind::choice && !is_choice(row.value, text)) {
    std::string choices(row.value);
    return quoted(text) + " is not one of " + choices;
  }
  return std::visit(Assignment{row, to, text}, row.target);
}

}  // namespace rlock::cli
