#include "docs/mdoc.hpp"

namespace rlock::docs {

std::string plain(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (result.empty() && (c == '.' || c == '\'')) result += "\\&";
    result += c == '\\' ? std::string("\\e") : c == '-' ? "\\-" : c == '\'' ? "\\(aq" : std::string(1, c);
  }
  return result;
}

std::string argument(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const auto word = text.substr(i, text.find(' ', i) - i);
    result += (result.empty() ? "" : " ") + ("\"" + plain(word) + "\"");
    i += word.size() + 1;
  }
  return result;
}

}  // namespace rlock::docs
