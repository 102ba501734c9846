#include "base/text/text.hpp"

#include <gtest/gtest.h>

namespace rlock::base {
namespace {

TEST(Text, KeepsWhatIsPrintable) {
  EXPECT_EQ(printable("nightly backup ~ 'x'"), "nightly backup ~ 'x'");
  EXPECT_EQ(printable("caf\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x94\x92"), "caf\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x94\x92");
}

TEST(Text, EscapesEveryByteThatCouldSteerATerminal) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text(1, static_cast<char>(byte));
    const bool plain = byte >= 0x20 && byte < 0x7f;
    EXPECT_EQ(printable(text) == text, plain) << byte;
  }
  EXPECT_EQ(printable("\x1b[31m"), "\\x1b[31m");
  EXPECT_EQ(printable("\x1b]0;t\x07"), "\\x1b]0;t\\x07");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");                             // C1 CSI
  EXPECT_EQ(printable("\xe2\x80\xae"), "\\xe2\\x80\\xae");                    // right-to-left override
  EXPECT_EQ(printable("\xe3\x85\xa4\xcd\x8f"), "\\xe3\\x85\\xa4\\xcd\\x8f");  // Hangul filler, grapheme joiner
  EXPECT_EQ(printable("\xc0\x9b\xed\xa0\x80\xf4\x90\x80\x80\xe2\x80"),        // overlong, surrogate, too high, cut
            "\\xc0\\x9b\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80\\xe2\\x80");
}

TEST(Text, IsCutBetweenCharacters) {
  EXPECT_EQ(whole_characters("label", 5), "label");
  EXPECT_EQ(whole_characters("label", 4), "labe");
  EXPECT_EQ(whole_characters("a\xe6\x97\xa5", 4), "a\xe6\x97\xa5");
  EXPECT_EQ(whole_characters("a\xe6\x97\xa5", 3), "a");
  EXPECT_EQ(whole_characters("\x97\x97\x97\x97\x97\x97", 5), "\x97\x97\x97\x97\x97");
}

TEST(Text, IsPastedIntoAShellAsOneWord) {
  EXPECT_EQ(shell_word("deploy-1"), "deploy-1");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word("*"), "'*'");
  EXPECT_EQ(shell_word("=ls"), "'=ls'");
  EXPECT_EQ(shell_word("--name=value"), "--name=value");
  EXPECT_EQ(shell_word("\xc3\xa9"), "'\xc3\xa9'");
  EXPECT_EQ(shell_word("a\n\xff"
                       "1 '\\"),
            "$'a\\012\\3771 \\047\\134'");
}

TEST(Text, KnowsControlBytes) {
  EXPECT_FALSE(has_control("key \xc3\xa9"));
  EXPECT_TRUE(has_control("a\nb"));
  EXPECT_TRUE(has_control("\x7f"));
  EXPECT_TRUE(has_control(std::string_view("\0", 1)));
}

TEST(Text, LosesThePasswordOfAUrlWhereverItStands) {
  EXPECT_EQ(without_credentials("'--server=redis://:hunter2@h' stands behind KEY"),
            "'--server=redis://***@h' stands behind KEY");
  EXPECT_EQ(without_credentials("redis://a b'c@d:hunter2@h is wrong"), "redis://***@h is wrong");
  EXPECT_EQ(without_credentials("'redis://:a://[hunter2@b' is wrong"), "'redis://***@b' is wrong");
  for (const auto* harmless : {"", "a@b", "redis://h is wrong", "@ redis://h"}) {
    EXPECT_EQ(without_credentials(harmless), harmless);
  }
}

}  // namespace
}  // namespace rlock::base
