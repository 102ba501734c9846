#include "cli/option_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "base/exit_status.hpp"
#include "base/text/duration.hpp"
#include "cli/help.hpp"
#include "lock/lease.hpp"
#include "stores/redis/locate/address.hpp"

namespace rlock::cli {
namespace {

TEST(OptionTable, NamesNothingTwice) {
  std::set<std::string_view> names, variables;
  std::set<char> letters;
  for (const auto& row : option_table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    if (row.letter != '\0') {
      EXPECT_TRUE(letters.insert(row.letter).second) << row.letter;
    }
    if (!row.environment.empty()) {
      EXPECT_TRUE(variables.insert(row.environment).second) << row.environment;
    }
  }
  EXPECT_FALSE(letters.contains('h') || letters.contains('V'));
  EXPECT_LT(option_table().size(), 64U);  // Settings has a bit for each
  std::set<std::string_view> verbs;
  for (const auto& verb : verb_table()) EXPECT_TRUE(verbs.insert(verb.name).second) << verb.name;
}

TEST(OptionTable, EachRowIsWhole) {
  for (const auto& row : option_table()) {
    EXPECT_FALSE(row.help.empty()) << row.name;
    EXPECT_LE(row.help.size(), 104U) << row.name << ": two lines of --help; the rest belongs in more";
    EXPECT_EQ(row.value.empty(), row.kind == Kind::flag) << row.name;
    EXPECT_FALSE(std::holds_alternative<std::monostate>(row.target)) << row.name;
    if (!row.needs.empty()) {
      EXPECT_NE(find_option(row.needs), nullptr) << row.name;
    }
    std::istringstream names{std::string(row.excludes)};
    for (std::string name; names >> name;) {
      const auto* other = find_option(name);
      ASSERT_NE(other, nullptr) << row.name;
      EXPECT_TRUE(excludes(*other, row.name)) << row.name;
    }
  }
  for (const auto& verb : verb_table()) {
    EXPECT_NE(verb.handler, nullptr);
    EXPECT_FALSE(verb.examples.front().command.empty()) << verb.name;
    std::istringstream statuses{std::string(verb.exits)};
    for (std::string status; statuses >> status;) {
      EXPECT_NE(std::ranges::find(base::exit_table, status, &base::ExitRow::status), base::exit_table.end()) << status;
    }
  }
}

TEST(OptionTable, EachDefaultIsOneThatItsOptionTakes) {
  for (const auto& row : option_table()) {
    commands::Options options;
    if (!row.default_text.empty()) {
      EXPECT_EQ(set_value(row, options, row.default_text), std::nullopt) << row.name;
    }
  }
  EXPECT_EQ(find_option("conflict-exit-code")->default_text, std::to_string(base::exit_busy));
  EXPECT_EQ(find_option("ttl")->default_text, base::format_duration(lock::default_ttl));
}

TEST(OptionTable, HelpNamesTheValuesThatStandElsewhere) {
  const auto help_has = [](std::string_view option, std::string_view text) {
    return find_option(option)->help.find(text) != std::string_view::npos;
  };
  EXPECT_TRUE(help_has("kill-after", "without it " + base::format_duration(lock::default_kill_after) + ","));
  EXPECT_TRUE(help_has("server", "without it " + redis::Address{}.display()));
  EXPECT_TRUE(help_has("ttl", "at least " + base::format_duration(lock::min_ttl)));
}

TEST(OptionTable, RefusesWhatItsKindIsNot) {
  commands::Options options;
  for (const auto& row : option_table()) {
    if (row.kind == Kind::text || row.kind == Kind::file) continue;
    for (const char* text : {"", "nonsense", "-1", "kill|warn"}) {
      EXPECT_NE(set_value(row, options, text), std::nullopt) << row.name << " " << text;
    }
  }
}

TEST(OptionTable, HelpFitsIn80Columns) {
  std::string all = overview(Help::whole);
  for (const auto& verb : verb_table()) all += help_of(verb, Help::whole);
  std::size_t begin = 0;
  for (auto end = all.find('\n'); end != std::string::npos; begin = end + 1, end = all.find('\n', begin)) {
    EXPECT_LE(end - begin, 80U) << all.substr(begin, end - begin);
  }
}

}  // namespace
}  // namespace rlock::cli
