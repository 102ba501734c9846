#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "stores/common/ensemble.hpp"

namespace rlock::zookeeper {

constexpr std::uint16_t default_port = 2181;
constexpr std::uint16_t default_tls_port = 2281;

constexpr stores::EnsembleWords words{
    .name = "ZooKeeper",
    .several = "ensembles of ZooKeeper",
    .schemes = {.plain = "zookeeper", .tls = "zookeepers"},
};

/// The members of an ensemble, the credentials for it, and where in it rlock keeps its locks.
struct Address : stores::Ensemble {
  std::string root = "/rlock";   ///< the node below which all is; empty: there is none above
  bool has_default_root = true;  ///< nobody has named the root: it is made where it is missing

  /// Reads a URL: one of those of rlock help. Percent escapes are undone. An empty password is none. A failure (usage)
  /// names what is wrong with the URL, but not its user or password.
  static base::Result<Address> parse(std::string_view url);

  /// The URL without its password, for parse() again.
  std::string display() const;
};

}  // namespace rlock::zookeeper
