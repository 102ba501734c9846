#include <cstdint>
#include <string>

#include "cli/config.hpp"

// Any file is either taken or refused with an error of its own.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rlock;
  commands::Options options;
  cli::Settings settings(options);
  const std::string file(reinterpret_cast<const char*>(data), size);
  (void)cli::read_configuration(settings, *cli::find_verb("run"), file, "rlock.conf");
  return 0;
}
