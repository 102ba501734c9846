#include <cstdint>
#include <cstdlib>

#include "base/text/duration.hpp"

// What is read must come back from its own text.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rlock::base;
  const auto read = parse_duration({reinterpret_cast<const char*>(data), size});
  if (read && (read->count() < 0 || parse_duration(format_duration(*read)) != read)) std::abort();
  return 0;
}
