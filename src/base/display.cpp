#include "base/display.hpp"

#include <locale.h>

#include <algorithm>
#include <clocale>
#include <cwchar>

#include "base/text.hpp"

namespace rlock::base {
namespace {

constexpr std::string_view ellipsis = "\xe2\x80\xa6";

// libc's own table, whatever the locale of the process: for this thread, and as long as this stands.
class Utf8 {
 public:
  Utf8() : before_(locale() != nullptr ? ::uselocale(locale()) : nullptr) {}
  Utf8(const Utf8&) = delete;
  Utf8& operator=(const Utf8&) = delete;
  ~Utf8() {
    if (before_ != nullptr) ::uselocale(before_);
  }

  // Of a character that prints; newer ones than libc knows count as one.
  std::size_t width(char32_t code) const {
    const int columns = before_ != nullptr ? ::wcwidth(static_cast<wchar_t>(code)) : 1;
    return columns < 0 ? 1 : static_cast<std::size_t>(columns);
  }

 private:
  static ::locale_t locale() {
    static const ::locale_t utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    return utf8;
  }

  ::locale_t before_;
};

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
  const std::size_t bytes = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
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
  const Utf8 utf8;
  std::size_t bytes = 0;
  while (bytes < text.size()) {
    const auto character = first_of(text.substr(bytes));
    const auto width = utf8.width(character.code);
    if (width > columns) break;
    columns -= width;
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
