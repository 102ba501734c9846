#include "cli/option_table.hpp"
#include "docs/docs.hpp"

namespace rlock::docs {
namespace {

using cli::Kind;
using cli::OptionRow;

constexpr std::string_view note = "# Written by rlock-docs from src/cli/option_table.cpp. Do not edit.\n";

std::string verb_names() {
  std::string names;
  for (const auto& verb : cli::verb_table()) names += std::string(verb.name) + " ";
  return names + "help";
}

// Of every verb, or of this bit's.
std::string option_names(unsigned verbs) {
  std::string names;
  for (const auto& row : cli::option_table()) {
    if ((row.verbs & verbs) == verbs) names += "--" + std::string(row.name) + " ";
  }
  return names + "--help";
}

// "-t|--ttl", the options of a kind with | between them.
std::string patterns(auto&& wanted) {
  std::string result;
  for (const auto& row : cli::option_table()) {
    if (!wanted(row)) continue;
    if (!result.empty()) result += '|';
    if (row.letter != '\0') result += std::string{'-', row.letter, '|'};
    result += "--" + std::string(row.name);
  }
  return result;
}

std::string spaced(std::string_view choices) {
  std::string result(choices);
  for (char& c : result) c = c == '|' ? ' ' : c;
  return result;
}

// Inside single quotes.
std::string quoted(std::string_view text) {
  std::string result;
  for (const char c : text) result += c == '\'' ? "'\\''" : std::string(1, c);
  return result;
}

}  // namespace

std::string bash_completion() {
  std::string text = std::string(note) + R"(# shellcheck shell=bash
_rlock() {
  local words=() starts=() current previous verb="" i
  COMPREPLY=()
  _rlock_words
  # The words of rlock itself: past options and their values to the verb, then to KEY.
  for ((i = 1; i < ${#words[@]} - 1; i++)); do
    case ${words[i]} in
      )" + patterns([](const OptionRow& row) { return row.kind != Kind::flag; }) +
                     R"() ((i++)) ;;
      --) [[ $verb != run ]] || { _rlock_command $((i + 1)); return; } ;;
      -*) ;;
      *)
        [[ -n $verb ]] || { verb=${words[i]}; continue; }
        [[ $verb != run ]] || { _rlock_command $((i + 1)); return; }
        ;;
    esac
  done
  current=${words[-1]} previous=${words[-2]-}
  if [[ $current == --*=* ]]; then
    previous=${current%%=*} current=${current#*=}
  fi
  _rlock_complete
  # Of the current word bash replaces only what stands behind the last : or =.
  local prefix=${current%"${current##*["$COMP_WORDBREAKS"]}"}
  [[ -z $prefix ]] || COMPREPLY=("${COMPREPLY[@]#"$prefix"}")
}

# Sets words to those of the line up to the cursor, and starts to where each begins in COMP_WORDS: bash splits words at
# : and = too, and so a URL into pieces. Pieces of one word have no blank between them in COMP_LINE.
_rlock_words() {
  local i piece rest=$COMP_LINE blanks
  for ((i = 0; i <= COMP_CWORD; i++)); do
    piece=${COMP_WORDS[i]}
    blanks=${rest%%[![:blank:]]*}
    rest=${rest#"$blanks"}
    if [[ $i -gt 0 && -z $blanks ]]; then
      words[-1]+=$piece
    else
      words+=("$piece") starts+=("$i")
    fi
    rest=${rest#"$piece"}
  done
}

# _rlock_complete: what fits current, behind previous.
_rlock_complete() {
  case $previous in
    )" + patterns([](const OptionRow& row) { return row.kind == Kind::file; }) +
                     R"()
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      return
      ;;
)";
  for (const auto& row : cli::option_table()) {
    if (row.kind != Kind::choice) continue;
    text += "    --" + std::string(row.name) + ")\n      mapfile -t COMPREPLY < <(compgen -W '" + spaced(row.value) +
            "' -- \"$current\")\n      return\n      ;;\n";
  }
  text += "    " + patterns([](const OptionRow& row) {
            return row.kind == Kind::text || row.kind == Kind::duration || row.kind == Kind::number;
          }) +
          R"() return ;;
  esac
  case $verb in
    '')
      if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W ')" +
          option_names(cli::every_verb) + R"( --version' -- "$current")
      else
        mapfile -t COMPREPLY < <(compgen -W ')" +
          verb_names() + R"(' -- "$current")
      fi
      ;;
    help) mapfile -t COMPREPLY < <(compgen -W ')" +
          verb_names() + R"(' -- "$current") ;;
)";
  for (const auto& verb : cli::verb_table()) {
    text += "    " + std::string(verb.name) + ") [[ $current != -* ]] || mapfile -t COMPREPLY < <(compgen -W '" +
            option_names(verb.bit) + "' -- \"$current\") ;;\n";
  }
  return text + R"(  esac
}

# _rlock_command INDEX: COMMAND stands there among words, and completes as it would alone.
_rlock_command() {
  local at=$1 last=$((${#words[@]} - 1))
  [[ ${words[at]-} != -- ]] || ((at++))
  if declare -F _command_offset >/dev/null && ((at < last)); then
    _command_offset "${starts[at]}"
  elif ((at == last)); then
    mapfile -t COMPREPLY < <(compgen -c -- "${words[last]}")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "${words[last]}")
  fi
}

complete -F _rlock rlock
)";
}

std::string zsh_completion() {
  // In _arguments a help ends at ], a message at :.
  const auto escaped = [](std::string_view text) {
    std::string result;
    for (const char c : quoted(text)) {
      if (c == '[' || c == ']' || c == ':') result += '\\';
      result += c;
    }
    return result;
  };
  const auto specs = [&](unsigned verbs) {
    std::string text;
    for (const auto& row : cli::option_table()) {
      if ((row.verbs & verbs) != verbs) continue;
      const auto name = "--" + std::string(row.name);
      std::string tail = "[" + escaped(row.help) + "]";
      if (row.kind == Kind::file)
        tail += ":file:_files";
      else if (row.kind == Kind::choice)
        tail += ":choice:(" + spaced(row.value) + ")";
      else if (row.kind != Kind::flag)
        tail += ":" + std::string(row.value) + ": ";
      if (row.letter != '\0')
        text += "    '(" + name + ")-" + row.letter + (row.kind == Kind::flag ? "" : "+") + tail + "'\n";
      text += "    '" + std::string(row.letter != '\0' ? std::string{'(', '-', row.letter, ')'} : "") + name +
              (row.kind == Kind::flag ? "" : "=") + tail + "'\n";
    }
    return text + "    '(-h --help)'{-h,--help}'[Print this help]'\n";
  };
  std::string text = "#compdef rlock\n" + std::string(note) + R"end(
_rlock() {
  local curcontext=$curcontext state line
  typeset -A opt_args
  _arguments -C -S \
    ${(f)"$(_rlock_options every)"} \
    '(-V --version)'{-V,--version}'[Print the version]' \
    '1: :->verb' '*:: :->words' && return
  case $state in
    verb)
      local -a verbs
      verbs=(
)end";
  for (const auto& verb : cli::verb_table()) {
    text += "        '" + std::string(verb.name) + ":" + quoted(verb.help) + "'\n";
  }
  text += R"end(        'help:Print help'
      )
      _describe verb verbs
      ;;
    words)
      local -a options
      options=(${(f)"$(_rlock_options $line[1])"})
      case $line[1] in
        run) _arguments -S $options '1:KEY:()' '*:: :_normal' ;;
        help) _arguments '1:verb:()end" +
          verb_names() + R"end()' ;;
        *) _arguments $options '1:KEY:()' '2:TOKEN:()' ;;
      esac
      ;;
  esac
}

_rlock_options() {
  local -a specs
  case $1 in
)end";
  const auto branch = [&](std::string_view name, unsigned verbs) {
    return "    " + std::string(name) + ") specs=(\n" + specs(verbs) + "    ) ;;\n";
  };
  text += branch("every", cli::every_verb);
  for (const auto& verb : cli::verb_table()) text += branch(verb.name, verb.bit);
  return text + R"end(  esac
  print -rl -- $specs
}

_rlock "$@"
)end";
}

std::string fish_completion() {
  std::string text = std::string(note) + R"end(
function __rlock_verb
    for word in (commandline -opc)[2..-1]
        if contains -- $word )end" +
                     verb_names() + R"end(
            echo $word
            return
        end
    end
end

complete -c rlock -f
complete -c rlock -s h -l help -d 'Print help'
complete -c rlock -n 'test -z "$(__rlock_verb)"' -s V -l version -d 'Print the version'
)end";
  for (const auto& verb : cli::verb_table()) {
    text += "complete -c rlock -n 'test -z \"$(__rlock_verb)\"' -a " + std::string(verb.name) + " -d '" +
            quoted(verb.help) + "'\n";
  }
  text +=
      "complete -c rlock -n 'test -z \"$(__rlock_verb)\"' -a help -d 'Print help'\n"
      "complete -c rlock -n 'test \"$(__rlock_verb)\" = help' -a '" +
      verb_names() +
      "'\n"
      "complete -c rlock -n 'test \"$(__rlock_verb)\" = run' -a '(__fish_complete_subcommand --fcs-skip=3)'\n";
  for (const auto& row : cli::option_table()) {
    text += "complete -c rlock";
    if (row.verbs != cli::every_verb) {
      text += " -n 'contains -- \"$(__rlock_verb)\"";
      for (const auto& verb : cli::verb_table()) {
        if ((verb.bit & row.verbs) != 0) text += " " + std::string(verb.name);
      }
      text += "'";
    }
    if (row.letter != '\0') text += std::string(" -s ") + row.letter;
    text += " -l " + std::string(row.name);
    if (row.kind == Kind::file)
      text += " -rF";
    else if (row.kind == Kind::choice)
      text += " -xa '" + spaced(row.value) + "'";
    else if (row.kind != Kind::flag)
      text += " -x";
    std::string help;
    for (const char c : row.help) help += c == '\'' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
    text += " -d '" + help + "'\n";
  }
  return text;
}

}  // namespace rlock::docs
