#include "docs/fill.hpp"

namespace rlock::docs {

std::expected<std::string, std::string> fill(std::string_view text, const Parts& parts) {
  std::string result;
  while (true) {
    const auto at = text.find('@');
    if (at == text.npos) return result += text;
    const auto end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", at + 1);
    if (end == text.npos || end == at + 1 || text[end] != '@') {
      result += text.substr(0, at + 1);
      text.remove_prefix(at + 1);
      continue;
    }
    const auto name = text.substr(at + 1, end - at - 1);
    const auto part = parts.find(name);
    if (part == parts.end()) return std::unexpected(std::string(name));
    result += text.substr(0, at);
    result += part->second;
    text.remove_prefix(end + 1);
    // A part of whole lines brings its own end.
    if (part->second.ends_with('\n') && text.starts_with('\n')) text.remove_prefix(1);
  }
}

}  // namespace rlock::docs
