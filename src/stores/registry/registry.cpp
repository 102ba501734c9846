#include "stores/registry/registry.hpp"

#include <algorithm>
#include <array>

#include "base/text/text.hpp"
#include "net/url.hpp"
#include "stores/etcd/store.hpp"
#include "stores/redis/store.hpp"
#include "stores/zookeeper/store.hpp"

namespace rlock::stores {

using base::Result;

namespace {

// The first is that of the default URL, and says what is wrong with a URL that none knows.
const std::array kinds{&redis::store_kind, &etcd::store_kind, &zookeeper::store_kind};

const Kind& kind_of(std::string_view url) {
  const auto scheme = url.substr(0, url.find("://"));
  const auto knows = [&](const Kind* kind) {
    for (auto left = kind->schemes; !left.empty();) {
      if (base::take_word(left) == scheme) return true;
    }
    return false;
  };
  const auto* const found = std::ranges::find_if(kinds, knows);
  return found == kinds.end() ? *kinds.front() : **found;
}

}  // namespace

Result<std::unique_ptr<Store>> open(const Settings& settings) {
  const auto& kind = kind_of(settings.urls.empty() ? "" : settings.urls.front());
  if (std::ranges::any_of(settings.urls, [&](const std::string& url) { return &kind_of(url) != &kind; })) {
    return base::fail(settings.are_urls_from_file ? base::ErrorCode::configuration : base::ErrorCode::usage,
                      settings.urls_source + " names servers of several kinds; a lock is kept by one kind");
  }
  return kind.open(settings);
}

Result<std::vector<std::string>> read_urls(std::string_view list) {
  if (list.empty()) {
    return base::fail(base::ErrorCode::usage, "the URL is empty; write redis://HOST or another form of rlock help");
  }
  std::vector<std::string> urls;
  const auto split = net::split_list(list);
  for (const auto& part : split) {
    std::string url(part);
    if (const auto checked = kind_of(url).check_url(url); !checked) {
      const auto which = split.size() == 1
                             ? std::string("the URL ")
                             : "URL " + std::to_string(urls.size() + 1) + " of " + std::to_string(split.size()) + " ";
      return base::fail(checked.error().code, which + checked.error().message);
    }
    urls.push_back(std::move(url));
  }
  return urls;
}

bool has_password(std::string_view list, bool is_elsewhere) {
  return std::ranges::any_of(net::split_list(list), [&](std::string_view url) {
    return kind_of(url).has_password(std::string(url), is_elsewhere);
  });
}

bool may_hold_password(const std::string& url) { return kind_of(url).may_hold_password(url); }

bool is_reserved(std::string_view wire_key) {
  return std::ranges::any_of(kinds, [&](const Kind* kind) { return kind->is_reserved(wire_key); });
}

std::vector<UrlForm> url_forms() {
  std::vector<UrlForm> forms;
  for (const auto* kind : kinds) forms.insert(forms.end(), kind->forms.begin(), kind->forms.end());
  return forms;
}

std::vector<std::string> url_starts() {
  std::vector<std::string> starts;
  for (const auto* kind : kinds) {
    for (auto left = kind->schemes; !left.empty();) {
      const std::string scheme(base::take_word(left));
      const bool is_whole = std::ranges::find(kind->forms, scheme, &UrlForm::url) != kind->forms.end();
      starts.push_back(scheme + (is_whole ? "" : "://"));
    }
  }
  return starts;
}

std::string libraries() {
  std::string text;
  for (const auto* kind : kinds) {
    const auto more = kind->libraries();
    text += (text.empty() || more.empty() ? "" : ", ") + more;
  }
  return text;
}

}  // namespace rlock::stores
