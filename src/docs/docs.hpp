#pragma once

#include <string>

namespace rlock::docs {

/// The man page and the completions, written from the tables of cli/option_table and base/exit_status. They are
/// committed under man/ and completions/; a test compares.
std::string man_page();
std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

}  // namespace rlock::docs
