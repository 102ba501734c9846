#include "base/glob.hpp"

#include <gtest/gtest.h>

#include <string>

namespace rlock::base {
namespace {

TEST(Glob, KnowsWhatTheShellKnows) {
  EXPECT_TRUE(matches("", ""));
  EXPECT_FALSE(matches("", "a"));
  EXPECT_TRUE(matches("deploy*", "deploy"));
  EXPECT_TRUE(matches("*-?-*", "a-b-c-d"));
  EXPECT_FALSE(matches("*-?", "a-bc"));
  EXPECT_TRUE(matches("a**b*", "ab"));
  EXPECT_TRUE(matches("[a-c][!a-c][^x]", "bzz"));
  EXPECT_FALSE(matches("[!a]", "a"));
  EXPECT_TRUE(matches("[]x]", "]"));
  EXPECT_TRUE(matches("[!]x]", "a"));
  EXPECT_TRUE(matches("[!!]", "a"));
  EXPECT_TRUE(matches("job[[:digit:]]", "job7"));
  EXPECT_FALSE(matches("job[[:digit:]]", "jobs"));
  EXPECT_TRUE(matches("[\\]]", "]"));
  EXPECT_TRUE(matches("\\*\\[\\\\", "*[\\"));
  EXPECT_FALSE(matches("\\*", "a"));
}

TEST(Glob, TakesABracketThatNothingClosesAsItStands) {
  EXPECT_TRUE(matches("[", "["));
  EXPECT_TRUE(matches("[a", "[a"));
  EXPECT_TRUE(matches("[!", "[!"));
  EXPECT_TRUE(matches("[]*", "[]x"));
  EXPECT_TRUE(matches("a\\", "a\\"));
}

TEST(Glob, ReadsCharactersNotBytes) {
  EXPECT_TRUE(matches("t?r", "tür"));
  EXPECT_FALSE(matches("t??r", "tür"));
  EXPECT_TRUE(matches("t[ä-ü]r", "tür"));
  EXPECT_FALSE(matches("t[!ä-ü]r", "tür"));
  EXPECT_TRUE(matches("*[日月]?", "七日本"));
  EXPECT_TRUE(matches("\\日*", "日本"));
}

TEST(Glob, TakesAByteThatIsNotUtf8ForACharacter) {
  EXPECT_TRUE(matches("t?r", "t\xffr"));
  EXPECT_TRUE(matches("t??", "t\xe6\x97"));
  EXPECT_TRUE(matches("*\xff", "a\xff"));
  EXPECT_FALSE(matches("?", "\xff\xff"));
}

TEST(Glob, IsDoneSoonWithManyStars) { EXPECT_FALSE(matches("*a*a*a*a*a*a*a*a*a*a*a*a*b", std::string(1024, 'a'))); }

}  // namespace
}  // namespace rlock::base
