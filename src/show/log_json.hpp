#pragma once

namespace rlock::show {

enum class LogFormat { text, json };

/// LogFormat::json: from here on every message is an object of JSON on a line of its own: time, level, event, the
/// fields of the event, message.
void set_log_format(LogFormat format);

}  // namespace rlock::show
