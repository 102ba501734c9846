#include "show/table.hpp"

#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <string_view>

#include "base/terminal/display.hpp"
#include "base/terminal/screen.hpp"
#include "base/text/text.hpp"

namespace rlock::show {
namespace {

constexpr std::size_t gap = 2;        // columns between two cells
constexpr std::size_t min_width = 8;  // of a column that shrinks
constexpr std::string_view plain = "\x1b[0m";

std::string_view escape_of(Style style) {
  switch (style) {
    case Style::plain:
      break;
    case Style::strong:
      return "\x1b[1m";
    case Style::faint:
      return "\x1b[2m";
    case Style::good:
      return "\x1b[32m";
    case Style::notable:
      return "\x1b[33m";
    case Style::bad:
      return "\x1b[31m";
  }
  return "";
}

std::string styled(const std::string& text, Style style, Colours colours) {
  const auto escape = escape_of(style);
  if (colours == Colours::no || escape.empty() || text.empty()) return text;
  return std::string(escape).append(text).append(plain);
}

}  // namespace

Layout Layout::of(int fd) {
  if (::isatty(fd) == 0) return {};
  return {base::screen_size(fd).columns, base::wants_colour(fd) ? Colours::yes : Colours::no};
}

Table::Table(const std::vector<std::string>& headings, std::vector<std::size_t> shrinking)
    : shrinking_(std::move(shrinking)) {
  Row row;
  for (const auto& heading : headings) row.push_back({heading, Style::strong});
  add(std::move(row));
}

void Table::add(Row row) {
  auto& widths = widths_.emplace_back();
  for (auto& cell : row) {
    cell.text = base::printable(cell.text);
    widths.push_back(base::display_width(cell.text));
  }
  rows_.push_back(std::move(row));
}

void Table::shrink(std::vector<std::size_t>& widths, std::size_t columns) const {
  for (const auto i : shrinking_) widths[i] = std::min(widths[i], columns);  // a key may have millions
  auto total = std::accumulate(widths.begin(), widths.end(), gap * (widths.size() - 1));
  while (total > columns) {
    auto& widest = widths[*std::ranges::max_element(shrinking_, {}, [&](std::size_t i) { return widths[i]; })];
    if (widest <= min_width) return;
    --widest;
    --total;
  }
}

std::vector<std::string> Table::lines(const Layout& layout) const {
  std::vector<std::size_t> widths;
  for (const auto& cells : widths_) {
    widths.resize(std::max(widths.size(), cells.size()));
    for (std::size_t i = 0; i < cells.size(); ++i) {
      widths[i] = std::max(widths[i], cells[i]);
    }
  }
  if (!shrinking_.empty()) shrink(widths, layout.columns);

  std::vector<std::string> lines;
  lines.reserve(rows_.size());
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    auto& line = lines.emplace_back();
    std::size_t at = 0;       // the column where this cell begins
    std::size_t written = 0;  // columns
    for (std::size_t i = 0; i < rows_[r].size() && at < layout.columns; at += widths[i++] + gap) {
      const auto& cell = rows_[r][i];
      if (cell.text.empty()) continue;
      const auto width = std::min(widths[i], layout.columns - at);
      const bool fits = widths_[r][i] <= width;
      const auto text = fits ? cell.text : base::cut_to_width(cell.text, width);
      line.append(at - written, ' ').append(styled(text, cell.style, layout.colours));
      written = at + (fits ? widths_[r][i] : base::display_width(text));
    }
  }
  return lines;
}

}  // namespace rlock::show
