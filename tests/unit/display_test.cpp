#include "base/terminal/display.hpp"

#include <gtest/gtest.h>

#include <string>

namespace rlock::base {
namespace {

constexpr auto japanese = "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e";  // three characters, two columns each
constexpr auto ellipsis = "\xe2\x80\xa6";

TEST(Display, CountsColumnsNotBytes) {
  EXPECT_EQ(display_width(""), 0U);
  EXPECT_EQ(display_width("deploy"), 6U);
  EXPECT_EQ(display_width("caf\xc3\xa9"), 4U);
  EXPECT_EQ(display_width(japanese), 6U);
  EXPECT_EQ(display_width("e\xcc\x81"), 1U);           // e, combining acute
  EXPECT_EQ(display_width("\xf0\x9f\x94\x92 x"), 4U);  // a lock
}

TEST(Display, CountsWhatIsShownForWhatDoesNotPrint) {
  EXPECT_EQ(display_width("a\x1b[0m"), std::string("a\\x1b[0m").size());
  EXPECT_EQ(display_width("\xff"), 4U);
}

TEST(Display, CutsWithAnEllipsisAndNeverThroughACharacter) {
  EXPECT_EQ(cut_to_width("deploy", 6), "deploy");
  EXPECT_EQ(cut_to_width("deploy", 5), std::string("depl") + ellipsis);
  EXPECT_EQ(cut_to_width("deploy", 1), ellipsis);
  EXPECT_EQ(cut_to_width("deploy", 0), "");
  EXPECT_EQ(cut_to_width("", 0), "");
  EXPECT_EQ(cut_to_width(japanese, 6), japanese);
  EXPECT_EQ(cut_to_width(japanese, 5), std::string(japanese).substr(0, 6) + ellipsis);
  EXPECT_EQ(cut_to_width(japanese, 4), std::string(japanese).substr(0, 3) + ellipsis);
  // What combines stays with what it stands on.
  EXPECT_EQ(cut_to_width("e\xcc\x81", 1), "e\xcc\x81");
}

TEST(Display, CutsWhatIsHarmless) {
  EXPECT_EQ(cut_to_width("\x1b[31m", 80), "\\x1b[31m");
  EXPECT_EQ(cut_to_width("\x1b[31m", 4), std::string("\\x1") + ellipsis);
}

}  // namespace
}  // namespace rlock::base
