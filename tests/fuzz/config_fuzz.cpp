#include <cstdint>
#include <sstream>

#include "cli/config.hpp"
#include "cli/tree.hpp"

// Any file is either taken or refused with an error of its own.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rlock;
  commands::Options options;
  cli::Tree tree(options, {});
  tree.add_verb(commands::Verb::run);
  tree.app().parse(std::vector<std::string>{"key"});
  std::istringstream file(std::string(reinterpret_cast<const char*>(data), size));
  (void)cli::read_configuration(tree, "run", file, "rlock.conf");
  return 0;
}
