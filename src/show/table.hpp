#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace rlock::show {

enum class Style { plain, strong, faint, good, notable, bad };
enum class Colours { no, yes };

/// How lines are to be fitted to where they are shown.
struct Layout {
  std::size_t columns = 200;  ///< a longer line is cut: what others wrote may have any length
  Colours colours = Colours::no;

  /// As the descriptor is now: a terminal has its width, and colours if they are wanted there; anything else
  /// the default.
  static Layout of(int fd);
};

struct Cell {
  std::string text;  ///< of anybody: it is made harmless
  Style style = Style::plain;
};

using Row = std::vector<Cell>;

/// Text in columns, each as wide as its widest cell. Where the layout is narrower, those that may shrink do, the widest
/// first, and what still does not fit is cut at the end of the line. No blanks at the ends of lines.
class Table {
 public:
  /// The headings are the first row. shrinking: the columns that may shrink.
  explicit Table(const std::vector<std::string>& headings, std::vector<std::size_t> shrinking = {});
  /// Without a heading.
  Table() = default;

  void add(Row row);
  std::vector<std::string> lines(const Layout& layout) const;

 private:
  void shrink(std::vector<std::size_t>& widths, std::size_t columns) const;

  std::vector<std::size_t> shrinking_;
  std::vector<Row> rows_;
  std::vector<std::vector<std::size_t>> widths_;  ///< of the cells
};

}  // namespace rlock::show
