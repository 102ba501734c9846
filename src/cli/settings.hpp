#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "cli/option_table.hpp"

namespace rlock::cli {

enum class Source { command_line, environment, file };

/// The options as they come together: the command line first, then the environment, then the files, then the defaults.
/// A value that one of these has set is not changed by a later one, nor is an option that it excludes.
class Settings {
 public:
  explicit Settings(commands::Options& options) : options_(options) {}

  /// Sets a row to text. A bad text fails (usage; configuration where it is from a file), and names the option and the
  /// place that the text is from: nothing, the variable, or "PATH line N".
  base::Result<void> set(const OptionRow& row, std::string_view text, Source source, std::string_view place = {});

  bool is_set(const OptionRow& row) const;
  /// The option that is set (and not to false) and excludes it; nullptr: none is.
  const OptionRow* rival(const OptionRow& row) const;
  /// Whether it is set, or has a rival.
  bool is_settled(const OptionRow& row) const;

  /// Fails (usage) where one is set that does nothing without another, which is not set. To be asked while only the
  /// command line has been read: files may say for all what only some runs need.
  base::Result<void> check_needs(const VerbRow& verb) const;

  /// From the variables of the verb's options. An empty one counts as none, but for RLOCK_PREFIX, which means
  /// something.
  base::Result<void> read_environment(const VerbRow& verb);

  /// Gives each option that is not set its default.
  void set_defaults();

  commands::Options& options() { return options_; }

  /// What base::log_advice is to say when it is known whether -q wants it said.
  void advise(std::string text) { advice_.push_back(std::move(text)); }
  const std::vector<std::string>& advice() const { return advice_; }

 private:
  commands::Options& options_;
  std::vector<std::string> advice_;
  unsigned long set_ = 0;  ///< a bit a row
  unsigned long off_ = 0;  ///< the flags that are set to false
};

/// Says which variables RLOCK_* mean nothing here, though they are named like an option or almost like a variable.
/// Others are passed over: they may be those of another version.
void note_strange_variables();

}  // namespace rlock::cli
