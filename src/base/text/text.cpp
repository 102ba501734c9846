#include "base/text/text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace rlock::base {
namespace {

struct Range {
  char32_t first, last;
};

// C1 controls; soft hyphen; joiners and letters that show nothing; zero width, direction and line separators; tags and
// variation selectors; surrogates; what is not a character.
constexpr std::array hidden{
    Range{0x00, 0x1f},     Range{0x7f, 0x9f},       Range{0xad, 0xad},       Range{0x34f, 0x34f},
    Range{0x61c, 0x61c},   Range{0x115f, 0x1160},   Range{0x17b4, 0x17b5},   Range{0x180b, 0x180f},
    Range{0x200b, 0x200f}, Range{0x2028, 0x202e},   Range{0x2060, 0x206f},   Range{0x3164, 0x3164},
    Range{0xd800, 0xf8ff}, Range{0xfeff, 0xfeff},   Range{0xffa0, 0xffa0},   Range{0xfff0, 0xfffb},
    Range{0xfffe, 0xffff}, Range{0x1bca0, 0x1bca3}, Range{0x1d173, 0x1d17a}, Range{0xe0000, 0x1fffff},
};

// Length of the well-formed, printable character at the front of text; 0 where there is none.
std::size_t printable_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  std::size_t length = 1;
  char32_t code = lead;
  char32_t min_code = 0;
  if (lead >= 0xf0 && lead < 0xf8) {
    length = 4, code = lead & 0x07U, min_code = 0x10000;
  } else if (lead >= 0xe0) {
    length = 3, code = lead & 0x0fU, min_code = 0x800;
  } else if (lead >= 0xc0) {
    length = 2, code = lead & 0x1fU, min_code = 0x80;
  } else if (lead >= 0x80) {
    return 0;
  }
  if (lead >= 0xf8 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return 0;
    code = (code << 6U) | (byte(i) & 0x3fU);
  }
  const bool is_hidden = std::ranges::any_of(hidden, [&](Range r) { return code >= r.first && code <= r.last; });
  return code < min_code || is_hidden ? 0 : length;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    if (const auto length = printable_length(text)) {
      result += text.substr(0, length);
      text.remove_prefix(length);
    } else {
      result += "\\x";
      append_hex(result, static_cast<unsigned char>(text.front()));
      text.remove_prefix(1);
    }
  }
  return result;
}

void append_hex(std::string& text, unsigned char byte) {
  constexpr std::string_view digits = "0123456789abcdef";
  text += digits[byte >> 4U];
  text += digits[byte & 0x0fU];
}

std::string without_credentials(std::string_view text) {
  const auto scheme = text.find("://");
  const auto at = text.rfind('@');
  if (scheme == std::string_view::npos || at == std::string_view::npos || at < scheme) return std::string(text);
  return std::string(text.substr(0, scheme + 3)) + "***" + std::string(text.substr(at));
}

bool may_hold_password(std::string_view text) { return text.find_first_of(":@") != std::string_view::npos; }

std::string_view whole_characters(std::string_view text, std::size_t max) {
  if (text.size() <= max) return text;
  const auto is_continued = [&](std::size_t i) { return (static_cast<unsigned char>(text[i]) & 0xc0U) == 0x80; };
  auto end = max;
  while (end > 0 && max - end < 4 && is_continued(end)) --end;
  return text.substr(0, is_continued(end) ? max : end);
}

bool has_control(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

std::string_view take_until(std::string_view& text, char mark) {
  const auto part = text.substr(0, text.find(mark));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

std::string lowered(std::string_view text) {
  std::string result(text);
  for (auto& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  return result;
}

std::string shell_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? "'\\''" : std::string(1, c);
  return result + "'";
}

std::string shell_word(std::string_view text) {
  const auto is_bare = [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_./:@%+,").contains(static_cast<char>(c));
  };
  // zsh reads a = in front as the path of a program.
  const auto is_plain = [&](unsigned char c) { return is_bare(c) || c == '='; };
  if (!text.empty() && text.front() != '=' && std::ranges::all_of(text, is_plain)) return std::string(text);
  if (printable(text) == text) return shell_quoted(text);
  std::string result = "$'";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_bare(byte) || c == ' ') {
      result += c;
    } else {
      // Three octal digits end where they end, whatever comes next.
      result += '\\';
      for (const unsigned shift : {6U, 3U, 0U}) result += static_cast<char>('0' + ((byte >> shift) & 7U));
    }
  }
  return result + "'";
}

}  // namespace rlock::base
