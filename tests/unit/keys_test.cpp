#include "process/keys.hpp"

#include <gtest/gtest.h>

namespace rlock::process {
namespace {

using base::Scroll;
using base::ScrollKey;

// A letter for each key: u d U D t b, and q.
std::string names(std::string& bytes) {
  constexpr std::string_view letters = "udUDtb";
  std::string text;
  for (const auto& key : take_keys(bytes)) {
    const auto* const scroll = std::get_if<ScrollKey>(&key);
    text += scroll == nullptr ? 'q' : letters[static_cast<std::size_t>(*scroll)];
  }
  return text;
}

TEST(Keys, AreThoseOfLessAndOfEachTerminal) {
  std::string bytes = "kj bgGq\x1b[A\x1b[B\x1b[5~\x1b[6~\x1b[H\x1b[F\x1bOA\x1bOB\x1b[1~\x1b[4~";
  EXPECT_EQ(names(bytes), "udDUtbqudUDtbudtb");
  EXPECT_TRUE(bytes.empty());
}

TEST(Keys, OthersAreDropped) {
  std::string bytes =
      "xyz\x1b[1;5A\x1b[200~\x1b[Z\x1bOq\x01\xc3\xa9"
      "j";
  EXPECT_EQ(names(bytes), "d");
  EXPECT_TRUE(bytes.empty());
}

TEST(Keys, OneThatComesInPiecesIsOne) {
  std::string bytes = "\x1b";
  EXPECT_EQ(names(bytes), "");
  bytes += "[";
  EXPECT_EQ(names(bytes), "");
  bytes += "Bj";
  EXPECT_EQ(names(bytes), "dd");
  // The key Esc is one of its own.
  bytes = "\x1bq";
  EXPECT_EQ(names(bytes), "q");
  // One that does not end is none.
  bytes = "\x1b[" + std::string(100, '1');
  EXPECT_EQ(names(bytes), "");
  EXPECT_TRUE(bytes.empty());
}

TEST(Scroll, ShowsAllThatFit) {
  Scroll scroll;
  scroll.press(ScrollKey::bottom);
  const auto window = scroll.window(10, 10);
  EXPECT_EQ(window.first, 0U);
  EXPECT_EQ(window.count, 10U);
}

TEST(Scroll, LeavesARowAndNoLineUnseen) {
  Scroll scroll;
  const auto at = [&](std::size_t total, std::size_t rows) { return scroll.window(total, rows).first; };
  EXPECT_EQ(scroll.window(40, 10).count, 9U);
  scroll.press(ScrollKey::page_down);
  EXPECT_EQ(at(40, 10), 8U);
  scroll.press(ScrollKey::down);
  EXPECT_EQ(at(40, 10), 9U);
  scroll.press(ScrollKey::page_up);
  EXPECT_EQ(at(40, 10), 1U);
  scroll.press(ScrollKey::up);
  scroll.press(ScrollKey::up);
  EXPECT_EQ(at(40, 10), 0U);
  scroll.press(ScrollKey::bottom);
  EXPECT_EQ(at(40, 10), 31U);
  scroll.press(ScrollKey::down);
  EXPECT_EQ(at(40, 10), 31U);
  // Fewer, and a smaller screen.
  EXPECT_EQ(at(20, 10), 11U);
  EXPECT_EQ(scroll.window(20, 1).count, 0U);
  EXPECT_EQ(scroll.window(20, 0).count, 0U);
  EXPECT_EQ(at(0, 0), 0U);
  scroll.press(ScrollKey::top);
  EXPECT_EQ(at(40, 10), 0U);
}

}  // namespace
}  // namespace rlock::process
