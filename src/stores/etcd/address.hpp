#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "stores/common/ensemble.hpp"

namespace rlock::etcd {

constexpr std::uint16_t default_port = 2379;

constexpr stores::EnsembleWords words{
    .name = "etcd", .several = "clusters of etcd", .schemes = {.plain = "etcd", .tls = "etcds"}};

/// The members of a cluster, the credentials for it, and where in it rlock keeps its locks.
struct Address : stores::Ensemble {
  std::string prefix = "/rlock";  ///< of all keys; begins with a slash, and does not end with one

  /// Reads a URL: one of those of rlock help. Percent escapes are undone. An empty password is none. A failure (usage)
  /// names what is wrong with the URL, but not its user or password.
  static base::Result<Address> parse(std::string_view url);

  /// The URL without its password, for parse() again.
  std::string display() const;
};

}  // namespace rlock::etcd
