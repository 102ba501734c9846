#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "net/http.hpp"
#include "stores/etcd/client.hpp"

namespace rlock::etcd {

/// JSON that a server has sent. nullopt: it is none, too deep, or has too many values: those would take more memory
/// than their text.
std::optional<nlohmann::json> read_json(std::string_view text);

/// What an answer comes to. Of errors, those that Client::flight() is to fail with are failures here; `name` stands for
/// the member in their messages. Repeats nothing but what etcd itself says (R33 of tests/PROOFS.md).
base::Result<Answer> read_answer(const net::HttpAnswer& http, const std::string& name);
/// What one message of a stream comes to: its "result", or an error as of read_answer().
base::Result<Answer> read_message(std::string_view line, const std::string& name);

/// Whether the gateway of the member could not connect to the member itself: it shows a certificate that is for servers
/// alone, or the member is about to end.
bool is_cut_off(const net::HttpAnswer& http);

/// Whether it is refused because it needs a token, or another one.
bool needs_token(const Refusal& refusal);
/// Whether it is refused because the cluster knows no users: none is needed.
bool is_auth_off(const Refusal& refusal);

/// A Date of HTTP in microseconds since 1970; nullopt: it is none.
std::optional<std::int64_t> read_date(std::string_view text);

}  // namespace rlock::etcd
