#include "stores/common/ensemble.hpp"

#include <utility>

#include "stores/common/credentials.hpp"

namespace rlock::stores {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

ErrorCode wrong(const Settings& settings) {
  return settings.are_urls_from_file ? ErrorCode::configuration : ErrorCode::usage;
}

}  // namespace

std::string Ensemble::shown_user() const { return user.empty() ? "" : net::escape(user, "%:@/?#,") + ":@"; }

Result<void> read_user(const net::Url& url, const EnsembleWords& words, Ensemble& ensemble) {
  ensemble.user = url.user;
  ensemble.password = url.password;
  ensemble.has_lone_word = url.has_lone_word;
  if (url.has_lone_word) ensemble.user = *std::exchange(ensemble.password, std::nullopt);
  if (!ensemble.user.empty() || !ensemble.password) return {};
  return fail(ErrorCode::usage,
              "has a password without a user; write " + std::string(words.schemes.plain) + "://USER:PASSWORD@HOST");
}

std::unexpected<base::Error> wrong_url(const Settings& settings, const std::string& what) {
  return fail(wrong(settings), settings.urls_source + ": the URL " + what);
}

Result<std::string> only_url(const Settings& settings, const EnsembleWords& words) {
  if (settings.urls.size() > 1) {
    return fail(wrong(settings), settings.urls_source + " names several " + std::string(words.several) +
                                     "; one is a majority already: name all of its members in one URL, " +
                                     std::string(words.schemes.plain) + "://HOST,HOST,HOST");
  }
  return settings.urls.front();
}

// What only servers that forget need, or that libraries share with Redis alone.
Result<void> check_wishes(const Settings& settings, const EnsembleWords& words) {
  const std::string name(words.name);
  const auto refuse = [](const std::string& why) { return fail(ErrorCode::usage, why + "; leave it out"); };
  if (settings.compat != Compat::none) {
    return refuse("--compat is for Redis: no library shares the locks that rlock keeps in " + name);
  }
  if (settings.replicas > 0) {
    return refuse("--replicas is for Redis: with " + name +
                  " a majority of the members has each lock before it counts");
  }
  if (settings.grace > base::Duration::zero()) {
    return refuse("--grace is for Redis: " + name + " does not forget a lock when it restarts");
  }
  return {};
}

Result<void> add_password(const Settings& settings, const EnsembleWords& words, Ensemble& ensemble) {
  Credentials credentials(settings);
  RLOCK_TRY(credentials.check_key(ensemble.tls));
  auto secret = RLOCK_TRY(credentials.password(ensemble.password));
  if (ensemble.user.empty() && secret) {
    return wrong_url(settings, "names no user, and " + std::string(words.name) +
                                   " knows no password without one; write " + std::string(words.schemes.plain) +
                                   "://USER@HOST");
  }
  if (ensemble.user.empty()) return {};
  if (!secret) {
    return wrong_url(settings, "has a user without a password; name a file with it (--password-file)");
  }
  ensemble.password = std::move(secret->text);
  ensemble.password_source = std::move(secret->source);
  if (ensemble.tls) return {};
  const auto host = net::first_elsewhere(ensemble.endpoints);
  advise_encryption(!host.empty() && ensemble.host_may_be_secret ? "another host" : host,
                    std::string(words.schemes.tls));
  return {};
}

}  // namespace rlock::stores
