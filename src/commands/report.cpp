#include "commands/report.hpp"

#include <algorithm>
#include <array>

#include "base/exit_status.hpp"
#include "base/log.hpp"
#include "base/text/duration.hpp"
#include "base/text/text.hpp"
#include "commands/terms.hpp"
#include "show/messages.hpp"

namespace rlock::commands {

using namespace std::chrono_literals;
using base::ErrorCode;
using base::Result;

namespace {

std::string busy_text(const Options& options, const std::string& key, const std::optional<lock::Busy>& met) {
  if (met && met->is_other_data) return "busy: " + not_a_lock(key, options);
  if (met && met->is_for_libraries) return "busy: others wait for " + key + ", and one of them is about to get it";
  std::string message = "busy: " + key + " is held";
  if (met && met->holder && met->holder->mode.kind == lock::Mode::Kind::slots) {
    const auto slots = met->holder->mode.slots;
    message = "busy: all " + std::to_string(slots) + " slots of " + key + " are held" + (slots > 1 ? ", one" : "");
  } else if (met && met->holder && met->holder->mode.is_for_several()) {
    message += ", shared,";
  }
  if (met && met->holder) message += " by " + show::holder_text(*met->holder);
  if (met && met->holder && met->holder->has_ended) message += ", whose command has ended (--hold)";
  if (met && met->holder_is_foreign) message += " by a program other than rlock";
  if (met && met->is_of_other_form) {
    if (!met->holder_ttl) message += "; it never expires";
    message += "; " + other_form(options);
  } else if (met && !met->holder_ttl) {
    message += "; it never expires: " + how_to_end(key, options);
  } else if (const auto waited = wait_of(options); waited && *waited > 0s) {
    message += "; waited for " + base::format_duration(*waited) + " (--wait)";
  } else {
    message += "; --wait D waits for it";
  }
  return message;
}

}  // namespace

int report(const base::Error& error, const Options& options, const process::Signals* signals,
           std::optional<base::Instant> since) {
  if (error.code == ErrorCode::interrupted) {
    return base::exit_signal_base + (signals != nullptr ? signals->first_ending().value_or(0) : 0);
  }
  std::string message = error.message;
  base::LogFields fields;
  if (!options.key.empty()) fields.emplace_back("key", options.key);
  fields.emplace_back("exit_status", std::int64_t{base::exit_status_of(error.code)});
  const bool is_of_user = error.code == ErrorCode::usage || error.code == ErrorCode::configuration;
  if (!is_of_user && !options.key.empty()) message.insert(0, options.key + ": ");
  if (error.code == ErrorCode::refused) message += "; see SECURITY in rlock(1)";
  if (base::may_pass(error) && since) {
    const auto tried = base::BootClock::now() - *since;
    fields.emplace_back("tried_ms", show::ms_of(tried));
    using Hundredths = std::chrono::duration<std::int64_t, std::centi>;
    const auto rounded = tried < 500ms ? base::format_duration(std::chrono::round<Hundredths>(tried))
                                       : base::age_text(std::chrono::round<std::chrono::seconds>(tried));
    message += options.nonblock ? "; tried once (--nonblock)"
               : options.wait   ? "; tried for " + rounded + " (--wait)"
                                : "; tried for " + rounded + ", --connect-timeout D tries for longer";
    const auto asked_for = wait_of(options).value_or(base::max_duration);
    if (options.connect_timeout_source.empty() && tried >= asked_for + lock::Patience::last_answer) {
      message += "; --connect-timeout D gives it longer to answer";
    }
  }
  if (error.code == ErrorCode::unreachable && options.servers.empty()) {
    message += "; name your server with --server URL or RLOCK_SERVER, or use --server local for locks on this machine";
  }
  base::log_error(message, {"error", std::move(fields)});
  return base::exit_status_of(error.code);
}

int report_end(int status, const std::string& message, const Options& options) {
  base::LogFields fields;
  if (!options.key.empty()) fields.emplace_back("key", options.key);
  fields.emplace_back("exit_status", std::int64_t{status});
  base::log_error(message, {"error", std::move(fields)});
  return status;
}

int report_done(const Options& options, const lock::AlreadySucceeded& done) {
  const auto ago = done.ago < std::chrono::seconds(1) ? done.ago : std::chrono::floor<std::chrono::seconds>(done.ago);
  const bool is_last = done.last_run && done.last_run->exit_status == base::exit_success;
  base::log_info("nothing to do: a run of " + options.key + " succeeded " + base::age_text(ago) + " ago" +
                     (is_last ? ", that of " + done.last_run->who.summary() : "") + " (--once)",
                 {"nothing_to_do", {{"key", options.key}, {"succeeded_ms_ago", show::ms_of(done.ago)}}});
  return base::exit_success;
}

int report_busy(const Options& options, const std::string& key, const std::optional<lock::Busy>& met,
                const std::string& server) {
  if (met && met->young_for) {
    // Whole seconds: the server counts no others.
    const auto left = std::chrono::ceil<std::chrono::seconds>(*met->young_for);
    if (options.servers.size() > 1) {
      return report_end(base::exit_unavailable,
                        "too few servers vote: others restarted a moment ago, their holders may come back; " + key +
                            " is kept for them for " + base::format_duration(left) + " more (--grace)",
                        options);
    }
    if (options.grace == base::Duration::zero()) {
      return report_end(base::exit_unavailable,
                        server + " was away until a moment ago, and the holder of " + key + " may come back", options);
    }
    const auto ago = std::max(std::chrono::ceil<std::chrono::seconds>(options.grace) + std::chrono::seconds(1) - left,
                              std::chrono::seconds(0));
    return report_end(base::exit_unavailable,
                      server + " restarted " + base::format_duration(ago) + " ago, its holders may come back; " + key +
                          " is kept for them for " + base::format_duration(left) + " more (--grace)",
                      options);
  }
  const auto message = busy_text(options, key, met);
  auto fields = met ? show::busy_fields(key, *met) : base::LogFields{{"key", key}};
  fields.emplace_back("waited_ms", std::int64_t{wait_of(options).value_or(base::Duration(0)).count()});
  fields.emplace_back("exit_status", std::int64_t{options.conflict_exit_code});
  base::log(options.conflict_exit_code == 0 ? base::LogLevel::info : base::LogLevel::note, message,
            {"busy", std::move(fields)});
  return options.conflict_exit_code;
}

int report_not_held(const Options& options, lock::Backend& backend, const lock::Name& name,
                    lock::Ownership::Holder holder) {
  if (holder != lock::Ownership::Holder::other) {
    auto lost = show::Lost::to_nobody(options.key, base::exit_lost);
    if (options.key.find_first_of("*?[") != std::string::npos) {
      lost.message += "; KEY is not a pattern here: rlock status --format keys " + base::shell_quoted(options.key) +
                      " prints those that match, one a line, for xargs";
    }
    lost.report();
    return base::exit_lost;
  }
  base::PlainPoller plain;
  const std::array keys{name.wire_key};
  const auto snapshots = backend.inspect(keys, 1, {base::BootClock::now() + backend.timeout(), plain});
  const bool is_seen = snapshots && snapshots->size() == 1;
  const auto record =
      is_seen && !snapshots->front().holders.empty() ? snapshots->front().holders.front().record : std::nullopt;
  auto lost = show::Lost::to_other(options.key, base::exit_lost, record ? &*record : nullptr);
  if (is_seen && snapshots->front().is_other_data) lost.message = "lost: " + not_a_lock(options.key, options);
  lost.report();
  return base::exit_lost;
}

std::string not_a_lock(const std::string& key, const Options& options) {
  return key + " on the server is other data, not a lock" +
         (options.compat == stores::Compat::redisson ? " of Redisson; leave out --compat redisson, or is --prefix "
                                                     : "; is --prefix ") +
         base::shell_quoted(options.prefix) + " right?";
}

std::string other_form(const Options& options) {
  return options.compat == stores::Compat::redisson ? "it is not a lock of Redisson: leave out --compat redisson"
                                                    : "it is a lock of Redisson: use --compat redisson";
}

std::string how_to_end(const std::string& key, const Options& options) {
  const std::string until = "it stays held until its holder releases it";
  if (key.size() > lock::max_key || base::has_control(key))
    return until + "; no KEY can have its name, so rlock cannot";
  std::string command = "rlock release --force";
  const auto add = [&](std::string_view name, const std::string& value) {
    command.append(" ").append(name).append(value.starts_with('-') ? "=" : " ").append(base::shell_word(value));
  };
  // Where somebody pastes it the environment and the files say the same as here.
  if (options.config_file_source == "--config") add("--config", options.config_file);
  if (options.servers_source == "--server") {
    for (const auto& url : options.servers) add("--server", base::without_credentials(url));
  }
  if (options.password_file_source == "--password-file") add("--password-file", options.password_file);
  // The default too, where it was said against one of these.
  if (options.prefix != "rlock:" || options.prefix_source == "--prefix") add("--prefix", options.prefix);
  const bool is_redisson = options.compat == stores::Compat::redisson;
  if (is_redisson || options.compat_source == "--compat") add("--compat", is_redisson ? "redisson" : "none");
  return until + ", or someone runs: " + command + (key.starts_with('-') ? " -- " : " ") + base::shell_word(key);
}

}  // namespace rlock::commands
