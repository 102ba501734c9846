#pragma once

#include <string>
#include <string_view>

namespace rlock::base {

/// Text that came from elsewhere, made safe to print on a terminal (R24 of tests/PROOFS.md): printable characters stay,
/// UTF-8 ones too; control bytes, broken UTF-8, and the code points that hide or turn text around
/// stand as `\xNN`, a byte at a time.
std::string printable(std::string_view text);

/// Two lower case hexadecimal digits behind text.
void append_hex(std::string& text, unsigned char byte);

/// text without what stands between a `://` and the last `@` behind it: the password of a URL, which may stand anywhere
/// in a message that quotes what a user typed (R23 of tests/PROOFS.md).
std::string without_credentials(std::string_view text);

/// Whether text that was given where none such belongs may be a URL with a password in it, or a piece of one: it has a
/// ':' or an '@'. Messages do not repeat it (R44 of tests/PROOFS.md).
bool may_hold_password(std::string_view text);

/// How many bytes a character of UTF-8 has, as the first of them says; 1 for a byte that begins none.
constexpr std::size_t character_size(char first) {
  const auto lead = static_cast<unsigned char>(first);
  return lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

/// As much of text as fits into max bytes, without a character of UTF-8 that is cut off.
std::string_view whole_characters(std::string_view text, std::size_t max);

/// Whether text has a byte below 0x20 or 0x7f.
bool has_control(std::string_view text);

/// Takes what stands before the first `mark` out of text, and the mark with it; all of text where there is none.
std::string_view take_until(std::string_view& text, char mark);
inline std::string_view take_word(std::string_view& text) { return take_until(text, ' '); }

/// With the letters of ASCII in lower case, whatever the locale.
std::string lowered(std::string_view text);

/// Text for a shell to read as one word: 'it'\''s'.
std::string shell_quoted(std::string_view text);

/// Text as one word of a command line, for a message from which somebody pastes it: without quotes where none are
/// needed, and what printable() would change as bash, zsh and ksh read it, $'\302\205'. All of it is printable.
std::string shell_word(std::string_view text);

}  // namespace rlock::base
