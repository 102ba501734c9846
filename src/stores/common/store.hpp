#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/wait/clock.hpp"
#include "lock/backend.hpp"

namespace rlock::stores {

/// Whose locks the lock's key is to be one of.
enum class Compat { none, redisson };

/// What the options say of the store. The sources are for messages: "--server", "RLOCK_SERVER in the environment
/// (--server)", "PATH line N: server".
struct Settings {
  std::vector<std::string> urls;  ///< empty: the default
  std::string urls_source = "--server";
  bool are_urls_from_file = false;
  std::string password_file;  ///< for servers whose URL has no password; empty: none
  std::string password_file_source;
  Compat compat = Compat::none;
  lock::Mode mode = {};    ///< in which locks are to be held
  base::Duration grace{};  ///< a server that started less than this ago keeps free locks for their holders; zero: no
  int replicas = 0;        ///< so many must have a lock before it counts as acquired or renewed; 0: none
};

/// What a backend is opened for.
enum class Purpose {
  acquire,  ///< to acquire a lock: credentials may travel together with the first request
  step,     ///< for another step of one lock
  list,     ///< to look at many locks, of every form
  held  ///< to go on with a lock that is held, in the background: a private server that is gone is not started again
};

/// The servers that keep the locks, with the credentials for them. Nothing is connected.
class Store {
 public:
  virtual ~Store() = default;

  /// A backend for one lock, or for many (Purpose::list). wire_key: prefix and KEY. timeout: for connecting, and for
  /// each answer.
  virtual std::unique_ptr<lock::Backend> open(const std::string& wire_key, base::Duration timeout,
                                              Purpose purpose) const = 0;
  /// The URLs for an rlock elsewhere on this machine, with commas between them: without passwords, and with absolute
  /// paths.
  virtual std::string urls() const = 0;
};

/// A form of URL, as help shows it.
struct UrlForm {
  std::string_view url;
  std::string_view what;
};

/// One kind of store: its row in the registry.
struct Kind {
  std::string_view schemes;  ///< what its URLs begin with up to ://, or are; with spaces between them
  std::span<const UrlForm> forms;
  /// Fails with usage, and names neither a user nor a password.
  base::Result<void> (*check_url)(const std::string& url);
  /// Whether this URL has a password in it. is_elsewhere: whether --password-file is given.
  bool (*has_password)(const std::string& url, bool is_elsewhere);
  /// Whether something in it may be a password, wherever the one that counts comes from.
  bool (*may_hold_password)(const std::string& url);
  /// Whether no lock can have this wire key, since the store needs the name for its own data.
  bool (*is_reserved)(std::string_view wire_key);
  /// All URLs are of this kind. Fails with usage, or with configuration where they come from a file or a secret cannot
  /// be read.
  base::Result<std::unique_ptr<Store>> (*open)(const Settings& settings);
  /// The libraries that speak to it and their versions: "OpenSSL 3.0.1, hiredis 1.2.0".
  std::string (*libraries)();
};

}  // namespace rlock::stores
