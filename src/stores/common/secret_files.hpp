#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/named_file.hpp"

namespace rlock::stores {

/// Where a password came from.
struct SecretSource {
  std::string name;  ///< for messages; empty: nobody gave one
  /// Reads it again; nullopt where that cannot be. Any thread may call it. Empty: it cannot change.
  std::function<std::optional<std::string>()> read_again;

  /// Reads it again: whether it is another than `password` now, which becomes that.
  bool has_changed(std::optional<std::string>& password) const;
};

struct Secret {
  std::string text;
  SecretSource source;
};

/// Files with passwords and keys, by the rule of base::NamedFile; what others can read is told of once. Failures are of
/// configuration, and name the option (`what`) and no file: a password may stand in its place.
class SecretFiles {
 public:
  base::Result<base::NamedFile> open(const std::string& what, const std::string& path, std::string_view secret);
  /// The password on the first line.
  base::Result<Secret> read(const std::string& what, const std::string& path);

 private:
  std::vector<std::string> advised_;
};

}  // namespace rlock::stores
