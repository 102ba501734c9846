#include "cli/versions.hpp"

#include <cstdlib>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#include "cli/command_line.hpp"
#include "show/json.hpp"
#include "stores/registry/registry.hpp"
#include "version.hpp"

namespace rlock::cli {
namespace {

std::string cpp_library() {
#ifdef _LIBCPP_VERSION
  constexpr int number = _LIBCPP_VERSION;  // 220108 is 22.1.8
  return "libc++ " + std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." +
         std::to_string(number % 100);
#else
  return "libstdc++ " + std::to_string(_GLIBCXX_RELEASE);
#endif
}

#define RLOCK_TEXT_OF(x) #x
#define RLOCK_TEXT(x) RLOCK_TEXT_OF(x)

std::string libc() {
#if defined(__GLIBC__)
  return std::string("glibc ") + ::gnu_get_libc_version();
#elif defined(RLOCK_MUSL_VERSION)  // packaging/release.sh: musl itself does not say
  return "musl " RLOCK_TEXT(RLOCK_MUSL_VERSION);
#else
  return "musl";
#endif
}

}  // namespace

std::string versions() {
  return "rlock " + std::string(version) + "\nwith " + stores::libraries() + ", CLI11 " + std::string(cli11_version()) +
         ", nlohmann-json " + show::json_library_version() + ", " + cpp_library() + ", " + libc() + "\n";
}

}  // namespace rlock::cli
