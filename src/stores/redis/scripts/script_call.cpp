#include "stores/redis/scripts/script_call.hpp"

#include <utility>

namespace rlock::redis {

Command ScriptCall::with_keys(Command command) const {
  command.reserve(command.size() + 8 + arguments.size());
  command.push_back(names.lock);
  for (auto& key : names.side_keys(token)) command.push_back(std::move(key));
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

Command ScriptCall::by_hash() const { return with_keys({"EVALSHA", std::string(script.sha1), "8"}); }

Command ScriptCall::in_full() const { return with_keys({"EVAL", script.text(), "8"}); }

namespace {

const char* word_of(Moving moving) {
  switch (moving) {
    case Moving::split:
      return "split";
    case Moving::ended:
      return "ended";
    case Moving::whole:
      break;
  }
  return "whole";
}

}  // namespace

Command ScriptCall::while_moving(Moving moving) const {
  Command command{"EVAL", script.text(), "1", names.lock};
  command.insert(command.end(), arguments.begin(), arguments.end());
  for (auto& key : names.side_keys(token)) command.push_back(std::move(key));
  command.emplace_back(word_of(moving));
  return command;
}

}  // namespace rlock::redis
