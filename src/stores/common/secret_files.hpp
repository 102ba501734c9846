#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/named_file.hpp"

namespace rlock::stores {

/// Files with passwords and keys, by the rule of base::NamedFile; what others can read is told of once. Failures are of
/// configuration, and name the option (`what`) and no file: a password may stand in its place.
class SecretFiles {
 public:
  base::Result<base::NamedFile> open(const std::string& what, const std::string& path, std::string_view secret);
  /// The password on the first line.
  base::Result<std::string> read(const std::string& what, const std::string& path);

 private:
  std::vector<std::string> advised_;
};

}  // namespace rlock::stores
