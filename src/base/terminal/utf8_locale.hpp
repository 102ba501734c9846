#pragma once

#include <locale.h>

namespace rlock::base {

/// libc takes text for UTF-8, whatever the locale of the process: in this thread, as long as one of these stands.
class Utf8Locale {
 public:
  Utf8Locale() : before_(locale() != nullptr ? ::uselocale(locale()) : nullptr) {}
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;
  ~Utf8Locale() {
    if (before_ != nullptr) ::uselocale(before_);
  }

  /// False where the machine has no locale C.UTF-8: then a character beyond ASCII is so many bytes.
  bool is_there() const { return before_ != nullptr; }

 private:
  static ::locale_t locale() {
    static const ::locale_t utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    return utf8;
  }

  ::locale_t before_;
};

}  // namespace rlock::base
