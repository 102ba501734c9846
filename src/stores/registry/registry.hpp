#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stores/common/store.hpp"

/// Which stores there are: a row for each kind, found by the scheme of a URL. Whatever is not a store knows the stores
/// through these functions alone.
namespace rlock::stores {

/// The store that the settings name. Fails with usage or configuration, see Kind::open.
base::Result<std::unique_ptr<Store>> open(const Settings& settings);

/// The URLs of a list with commas between them, each as it was written. Fails with usage if one cannot be read, and
/// repeats none: there may be a password in it.
base::Result<std::vector<std::string>> read_urls(std::string_view list);

/// Whether one of the URLs of a list has a password in it; those that cannot be read have none. is_elsewhere: whether
/// --password-file is given.
bool has_password(std::string_view list, bool is_elsewhere);

/// Whether something in this URL may be a password, wherever the one that counts comes from.
bool may_hold_password(const std::string& url);

/// Whether no lock can have this wire key, since a store needs the name for its own data.
bool is_reserved(std::string_view wire_key);

/// The forms of URLs, as help shows them.
std::vector<UrlForm> url_forms();

/// What URLs begin with, as completions offer it: "redis://", "local".
std::vector<std::string> url_starts();

/// The libraries inside that speak to stores, and their versions.
std::string libraries();

}  // namespace rlock::stores
