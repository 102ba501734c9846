#include "base/text/glob.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <string>

#include "base/terminal/utf8_locale.hpp"
#include "base/text/text.hpp"

namespace rlock::base {
namespace {

std::string_view first_character(std::string_view text) {
  const auto size = character_size(text.front());
  const auto character = text.substr(0, size);
  const bool is_whole = character.size() == size &&
                        std::ranges::all_of(character.substr(1), [](unsigned char c) { return (c & 0xc0U) == 0x80; });
  return is_whole ? character : text.substr(0, 1);
}

// With its brackets; empty where the [ stands for itself.
std::string_view bracket_expression(std::string_view pattern) {
  std::size_t at = pattern.starts_with("[!") || pattern.starts_with("[^") ? 2 : 1;
  if (at < pattern.size() && pattern[at] == ']') ++at;
  while (at < pattern.size() && pattern[at] != ']') {
    const auto end = pattern.substr(at).starts_with("[:") ? pattern.find(":]", at + 2) : pattern.npos;
    at = end != pattern.npos ? end + 2 : at + (pattern[at] == '\\' ? 2 : 1);
  }
  return at < pattern.size() ? pattern.substr(0, at + 1) : std::string_view();
}

// What stands for one character at the front of a pattern, which is not a *.
std::string_view first_element(std::string_view pattern) {
  if (pattern.front() == '[') {
    if (const auto bracket = bracket_expression(pattern); !bracket.empty()) return bracket;
  }
  if (pattern.front() == '\\' && pattern.size() > 1) {
    return pattern.substr(0, 1 + first_character(pattern.substr(1)).size());
  }
  return first_character(pattern);
}

bool is_meant(std::string_view element, std::string_view character) {
  if (element == "?") return true;
  if (element.front() == '[' && element.size() > 1) {
    return ::fnmatch(std::string(element).c_str(), std::string(character).c_str(), 0) == 0;
  }
  if (element.front() == '\\' && element.size() > 1) element.remove_prefix(1);
  return element == character;
}

}  // namespace

bool matches(std::string_view pattern, std::string_view text) {
  const Utf8Locale utf8;
  // Behind the last *, and what it has left over of the text: only this one has to be tried anew.
  std::string_view behind_star;
  std::string_view left_over;
  bool has_star = false;
  while (!pattern.empty() || !text.empty()) {
    if (pattern.starts_with('*')) {
      pattern.remove_prefix(1);
      behind_star = pattern;
      left_over = text;
      has_star = true;
      continue;
    }
    if (!pattern.empty() && !text.empty()) {
      const auto element = first_element(pattern);
      const auto character = first_character(text);
      if (is_meant(element, character)) {
        pattern.remove_prefix(element.size());
        text.remove_prefix(character.size());
        continue;
      }
    }
    if (!has_star || left_over.empty()) return false;
    left_over.remove_prefix(first_character(left_over).size());
    pattern = behind_star;
    text = left_over;
  }
  return true;
}

}  // namespace rlock::base
