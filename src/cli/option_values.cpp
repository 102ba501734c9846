#include <algorithm>

#include "base/text/duration.hpp"
#include "base/text/number.hpp"
#include "base/text/text.hpp"
#include "cli/nearest.hpp"
#include "cli/option_table.hpp"

namespace rlock::cli {

using base::Duration;
using commands::Options;

std::string in_quotes(std::string_view text) {
  constexpr std::size_t max_quoted = 80;  // bytes
  if (base::may_hold_password(text)) return "'***'";
  const auto quoted = base::whole_characters(text, max_quoted);
  return "'" + std::string(quoted) + (quoted.size() < text.size() ? "...'" : "'");
}

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
      return in_quotes(text) + " is not a number from " + std::to_string(row.min) + " to " + std::to_string(row.max);
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
    if (!duration && duration.error() == base::BadDuration::too_long) {
      return in_quotes(text) + " is too long; at most " + base::format_duration(base::max_duration);
    }
    if (!duration) return in_quotes(text) + " is not a duration; write 500ms, 30s, 5m or 1h30m";
    if (duration->count() < row.min) {
      return in_quotes(text) + " is too short; at least " + base::format_duration(Duration(row.min));
    }
    field = *duration;
    return std::nullopt;
  }
};

}  // namespace

bool is_off(const OptionRow& row, std::string_view text) { return row.kind == Kind::flag && parse_flag(text) == false; }

std::vector<std::string_view> choices(const OptionRow& row) {
  std::vector<std::string_view> all;
  if (row.kind != Kind::choice) return all;
  for (auto left = row.value; !left.empty();) all.push_back(base::take_until(left, '|'));
  return all;
}

Complaint set_value(const OptionRow& row, Options& to, std::string_view text) {
  if (row.kind == Kind::file && text.empty()) return "the name of the file is empty; name it, or leave the option out";
  if (row.kind == Kind::flag) {
    const auto flag = parse_flag(text);
    if (!flag) return in_quotes(text) + " is not true or false";
    text = *flag ? "true" : "false";
  }
  if (const auto all = choices(row); !all.empty() && std::ranges::find(all, text) == all.end()) {
    return in_quotes(text) + " is unknown; write " + listed(all, " or ");
  }
  return std::visit(Assignment{row, to, text}, row.target);
}

}  // namespace rlock::cli
