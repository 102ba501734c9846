#include "docs/mdoc.hpp"

#include "base/text/text.hpp"

namespace rlock::docs {

std::string plain(std::string_view text) {
  std::string result;
  for (const char c : text) {
    // Characters that a typesetter shows as others, which could not be copied into a shell.
    if (result.empty() && (c == '.' || c == '\'')) result += "\\&";
    result += c == '\\'   ? "\\e"
              : c == '-'  ? "\\-"
              : c == '\'' ? "\\(aq"
              : c == '`'  ? "\\(ga"
              : c == '~'  ? "\\(ti"
              : c == '^'  ? "\\(ha"
                          : std::string(1, c);
  }
  return result;
}

std::string prose(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto word = text.substr(0, text.find(' '));
    if (word.find("://") != word.npos) result += "\\%";
    result += plain(word);
    text.remove_prefix(word.size());
    if (!text.empty()) result += ' ';
    text.remove_prefix(text.empty() ? 0 : 1);
  }
  return result;
}

std::string argument(std::string_view text) {
  std::string result;
  while (!text.empty()) result += (result.empty() ? "\"" : " \"") + plain(base::take_word(text)) + "\"";
  return result;
}

std::string verbatim(std::string_view text, std::size_t width) {
  std::string result;
  while (!text.empty()) {
    auto line = base::take_until(text, '\n');
    std::string indent;
    while (indent.size() + line.size() > width) {
      const auto end = line.rfind(' ', width - indent.size());
      if (end == line.npos) break;
      result += plain(indent + std::string(line.substr(0, end))) + "\n";
      line.remove_prefix(end + 1);
      indent = "  ";
    }
    result += plain(indent + std::string(line)) + "\n";
  }
  return result;
}

}  // namespace rlock::docs
