#include "stores/etcd/requests.hpp"

#include <sys/random.h>

#include <chrono>
#include <utility>

#include "base/random_seed.hpp"
#include "base/text/base64.hpp"

namespace rlock::etcd {

namespace {

using Json = nlohmann::json;
using base::to_base64;

Json number(std::int64_t value) { return std::to_string(value); }
Json number(std::uint64_t value) { return std::to_string(value); }

Json request(const char* name, Json body) {
  Json step = Json::object();
  step[name] = std::move(body);
  return step;
}

Json over(const Range& range) {
  Json body = Json::object();
  body["key"] = to_base64(range.from);
  body["range_end"] = to_base64(range.to);
  return body;
}

Json only(const std::string& key) {
  Json body = Json::object();
  body["key"] = to_base64(key);
  return body;
}

Json in_order_of_creation(const Range& range) {
  Json body = over(range);
  body["sort_target"] = "CREATE";
  body["sort_order"] = "ASCEND";
  return body;
}

Json created(Json where, const char* result, std::uint64_t revision = 0) {
  where["target"] = "CREATE";
  where["result"] = result;
  where["create_revision"] = number(revision);
  return where;
}

Call about_lease(const char* path, LeaseId lease) {
  Json body = Json::object();
  body["ID"] = number(lease);
  return {path, std::move(body)};
}

Call watch_of(Json what, std::uint64_t from_revision, Writes writes) {
  what["start_revision"] = number(from_revision);
  if (writes == Writes::no) what["filters"] = Json::array({"NOPUT"});
  return {"/v3/watch", request("create_request", std::move(what))};
}

}  // namespace

LeaseId random_lease() {
  std::uint64_t bits = 0;
  // 63 bits from a seed of 32 would meet those of others.
  if (::getrandom(&bits, sizeof bits, 0) != sizeof bits) {
    bits = std::uint64_t{base::random_seed()} << 32 | base::random_seed();
  }
  return static_cast<LeaseId>(bits >> 1 | 1U);
}

std::int64_t lease_seconds(base::Duration ttl) { return std::chrono::ceil<std::chrono::seconds>(ttl).count(); }

Call grant(LeaseId lease, base::Duration ttl) {
  auto call = about_lease("/v3/lease/grant", lease);
  call.body["TTL"] = number(lease_seconds(ttl));
  return call;
}

Call revoke(LeaseId lease) { return about_lease("/v3/lease/revoke", lease); }
Call keep_alive(LeaseId lease) { return about_lease("/v3/lease/keepalive", lease); }
Call time_to_live(LeaseId lease) { return about_lease("/v3/lease/timetolive", lease); }

Call keys_under(LeaseId lease) {
  auto call = time_to_live(lease);
  call.body["keys"] = true;
  return call;
}

Json is_absent(const std::string& key) { return created(only(key), "EQUAL"); }
Json is_made_at(const std::string& key, std::uint64_t revision) { return created(only(key), "EQUAL", revision); }
Json is_present(const std::string& key) { return created(only(key), "GREATER"); }
Json is_empty(const Range& range) { return created(over(range), "EQUAL"); }

Json is_of_version(const std::string& key, std::uint64_t version) {
  Json condition = only(key);
  condition["target"] = "MOD";
  condition["result"] = "EQUAL";
  condition["mod_revision"] = number(version);
  return condition;
}

Json put(const std::string& key, const std::string& value, LeaseId lease) {
  Json body = only(key);
  body["value"] = to_base64(value);
  body["lease"] = number(lease);
  return request("request_put", std::move(body));
}

Json erase(const std::string& key) {
  Json body = only(key);
  body["prev_kv"] = true;
  return request("request_delete_range", std::move(body));
}

Json get(const std::string& key) { return request("request_range", only(key)); }

Json names_in(const Range& range, std::uint64_t before) {
  Json body = in_order_of_creation(range);
  body["keys_only"] = true;
  if (before > 0) body["max_create_revision"] = number(before - 1);
  return request("request_range", std::move(body));
}

Json last_names_in(const Range& range, std::int64_t most) {
  Json body = in_order_of_creation(range);
  body["sort_order"] = "DESCEND";
  body["keys_only"] = true;
  body["limit"] = number(most);
  return request("request_range", std::move(body));
}

Json local_name(const std::string& key) {
  Json body = only(key);
  body["keys_only"] = true;
  body["serializable"] = true;
  return request("request_range", std::move(body));
}

Json first_in(const Range& range, std::int64_t most) {
  Json body = in_order_of_creation(range);
  body["limit"] = number(most);
  return request("request_range", std::move(body));
}

Call transaction(std::vector<Json> conditions, std::vector<Json> then, std::vector<Json> otherwise) {
  Json body = Json::object();
  body["compare"] = std::move(conditions);
  body["success"] = std::move(then);
  body["failure"] = std::move(otherwise);
  return {"/v3/kv/txn", std::move(body)};
}

Call page_of(const Range& range, std::int64_t most, Reads reads) {
  Json body = over(range);
  body["keys_only"] = true;
  if (reads == Reads::local) body["serializable"] = true;
  body["limit"] = number(most);
  return {"/v3/kv/range", std::move(body)};
}

Call watch(const Range& range, std::uint64_t from_revision, Writes writes) {
  return watch_of(over(range), from_revision, writes);
}
Call watch(const std::string& key, std::uint64_t from_revision, Writes writes) {
  return watch_of(only(key), from_revision, writes);
}

}  // namespace rlock::etcd
