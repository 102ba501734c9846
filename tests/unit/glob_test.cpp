#include "base/text/glob.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

namespace rlock::base {
namespace {

struct Pair {
  std::string_view pattern;
  std::string_view text;
};

void expect_matches(std::initializer_list<Pair> pairs) {
  for (const auto& [pattern, text] : pairs) EXPECT_TRUE(matches(pattern, text)) << pattern << " and " << text;
}

void expect_none_matches(std::initializer_list<Pair> pairs) {
  for (const auto& [pattern, text] : pairs) EXPECT_FALSE(matches(pattern, text)) << pattern << " and " << text;
}

TEST(Glob, KnowsWhatTheShellKnows) {
  expect_matches({{"", ""},
                  {"deploy*", "deploy"},
                  {"*-?-*", "a-b-c-d"},
                  {"a**b*", "ab"},
                  {"[a-c][!a-c][^x]", "bzz"},
                  {"[]x]", "]"},
                  {"[!]x]", "a"},
                  {"[!!]", "a"},
                  {"job[[:digit:]]", "job7"},
                  {"[\\]]", "]"},
                  {"\\*\\[\\\\", "*[\\"}});
  expect_none_matches({{"", "a"}, {"*-?", "a-bc"}, {"[!a]", "a"}, {"job[[:digit:]]", "jobs"}, {"\\*", "a"}});
}

TEST(Glob, TakesABracketThatNothingClosesAsItStands) {
  expect_matches({{"[", "["}, {"[a", "[a"}, {"[!", "[!"}, {"[]*", "[]x"}, {"a\\", "a\\"}});
}

TEST(Glob, ReadsCharactersNotBytes) {
  expect_matches({{"t?r", "tür"}, {"t[ä-ü]r", "tür"}, {"*[日月]?", "七日本"}, {"\\日*", "日本"}});
  expect_none_matches({{"t??r", "tür"}, {"t[!ä-ü]r", "tür"}});
}

TEST(Glob, TakesAByteThatIsNotUtf8ForACharacter) {
  expect_matches({{"t?r", "t\xffr"}, {"t??", "t\xe6\x97"}, {"*\xff", "a\xff"}});
  expect_none_matches({{"?", "\xff\xff"}});
}

TEST(Glob, IsDoneSoonWithManyStars) { EXPECT_FALSE(matches("*a*a*a*a*a*a*a*a*a*a*a*a*b", std::string(1024, 'a'))); }

}  // namespace
}  // namespace rlock::base
