#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace rlock::net {

/// The parts of `SCHEME://[[USER:]PASSWORD@]HOSTS[/PATH][?NAME=VALUE&...]`, percent escapes undone everywhere but in
/// hosts and path, whose separators the caller has to find first.
struct Url {
  std::string scheme;  ///< empty: there is none, and no other part either
  std::string user;
  std::optional<std::string> password;  ///< an empty one is none
  bool has_lone_word = false;           ///< no colon before the @: it is the password, or a user
  std::string hosts;
  std::string path;  ///< with the slash that it begins with; empty where there is none
  std::vector<std::pair<std::string, std::string>> query;

  /// A failure (usage) says what is wrong, and repeats neither user nor password.
  static base::Result<Url> split(std::string_view text);

  /// Whether all of it is a lone word, in place of which somebody may have written a password: `SCHEME://WORD`. What is
  /// more than a word is a host.
  bool host_may_be_secret() const;
  /// The path of a Unix socket, `SCHEME:///path`. Fails with usage.
  base::Result<std::string> socket_path() const;
};

/// What a failure to read this URL adds, where a password of it may have ended too soon; empty, or begins with "; ".
std::string_view advice_on(std::string_view text);

/// Puts name=value behind the query of a URL, with the ? or & in front of it; no value: nothing.
void add_to_query(std::string& query, std::string_view name, const std::string& value);

/// nullopt: an escape is broken.
std::optional<std::string> unescape(std::string_view text);

/// Undone by unescape. Only the special characters are escaped, so that paths stay readable.
std::string escape(std::string_view text, std::string_view special);

/// The URLs of a list with a comma between them. A comma inside of one (hosts, a password, a path) has no scheme behind
/// it. Each is as it was written; none is checked.
std::vector<std::string_view> split_list(std::string_view text);

}  // namespace rlock::net
