#include "base/terminal/display.hpp"

#include <algorithm>
#include <cwchar>

#include "base/terminal/utf8_locale.hpp"
#include "base/text/text.hpp"

namespace rlock::base {
namespace {

constexpr std::string_view ellipsis = "\xe2\x80\xa6";

// In columns, of a character that prints, by libc's own table; newer ones than libc knows count as one.
std::size_t width(const Utf8Locale& utf8, char32_t code) {
  const int columns = utf8.is_there() ? ::wcwidth(static_cast<wchar_t>(code)) : 1;
  return columns < 0 ? 1 : static_cast<std::size_t>(columns);
}

bool is_ascii(std::string_view text) {
  return std::ranges::none_of(text, [](unsigned char c) { return c >= 0x80; });
}

struct Character {
  std::size_t bytes;
  char32_t code;
};

// The first one of text that printable() has returned: well-formed.
Character first_of(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const auto bytes = character_size(text.front());
  char32_t code = bytes == 1 ? lead : lead & (0x7fU >> bytes);
  for (const char c : text.substr(1, bytes - 1)) code = (code << 6U) | (static_cast<unsigned char>(c) & 0x3fU);
  return {bytes, code};
}

// The bytes at the front of text that take at most so many columns; `columns` is then what is left of these.
std::size_t fitting(std::string_view text, std::size_t& columns) {
  if (is_ascii(text)) {
    const auto bytes = std::min(text.size(), columns);
    columns -= bytes;
    return bytes;
  }
  const Utf8Locale utf8;
  std::size_t bytes = 0;
  while (bytes < text.size()) {
    const auto character = first_of(text.substr(bytes));
    const auto wanted = width(utf8, character.code);
    if (wanted > columns) break;
    columns -= wanted;
    bytes += character.bytes;
  }
  return bytes;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  const auto shown = printable(text);
  std::size_t left = std::string::npos;
  fitting(shown, left);
  return std::string::npos - left;
}

std::string cut_to_width(std::string_view text, std::size_t columns) {
  auto shown = printable(text);
  auto left = columns;
  if (fitting(shown, left) == shown.size()) return shown;
  if (columns == 0) return {};
  left = columns - 1;
  shown.resize(fitting(shown, left));
  return shown.append(ellipsis);
}

}  // namespace rlock::base
