# Written by rlock-docs from src/docs/rlock.bash.in and the tables in src/cli/rows. Do not edit.
# shellcheck shell=bash

_rlock() {
  # What stands on the line before the cursor: the words, and where each begins in COMP_WORDS.
  local words=() starts=() piece current last
  # What they say: the verb, how many words stand behind it, the options that tell the server (unknown: it would take the
  # shell to expand one), and the option whose value stands at the cursor.
  local verb="" count=0 server_options=() option="" unknown=0
  local i
  COMPREPLY=()
  _rlock_words
  last=$((${#words[@]} - 1))
  for ((i = 1; i < last; i++)); do
    case ${words[i]} in
      -t|--ttl|--slots|--with|--hold|--once|--remember|--replicas|--while-pid|-w|--wait|-E|--conflict-exit-code|--grace|--timeout|--signal|-k|--kill-after|--on-lost|--label|--server|--prefix|--compat|--password-file|--connect-timeout|--config|--format|--sort|--log-format) _rlock_value "${words[i]}" $((++i)) ;;
      --*=*) _rlock_server_option "${words[i]%%=*}" "${words[i]#*=}" ;;
      --) ;;
      -*) [[ ! ${words[i]} =~ ^-[sxnqvhV]*([twEk])$ ]] || _rlock_value "-${BASH_REMATCH[1]}" $((++i)) ;;
      *)
        if [[ -z $verb ]]; then
          verb=${words[i]}
        elif [[ "|run|" == *"|$verb|"* ]]; then
          _rlock_command $((i + 1))
          return
        else
          count=$((count + 1))
        fi
        ;;
    esac
  done
  current=${words[last]}
  if [[ $current == --*=* ]]; then
    option=${current%%=*} current=${current#*=}
  fi
  _rlock_complete
  ((${#COMPREPLY[@]})) || return
  # Bash replaces the last piece of the word only.
  local word=${words[last]}
  COMPREPLY=("${COMPREPLY[@]/#/"${word%"$current"}"}")
  COMPREPLY=("${COMPREPLY[@]#"${word%"$piece"}"}")
}

# Bash splits words at : and = too, and so a URL into pieces. Pieces of one word have no blank between them in COMP_LINE.
# Leaves in piece the part of the last word that a completion replaces.
_rlock_words() {
  local i rest=$COMP_LINE blanks before=0
  for ((i = 0; i <= COMP_CWORD; i++)); do
    piece=${COMP_WORDS[i]}
    blanks=${rest%%[![:space:]]*}
    rest=${rest#"$blanks"}
    before=$((before + ${#blanks}))
    rest=${rest#"$piece"}
    before=$((before + ${#piece}))
    ((i < COMP_CWORD || before <= COMP_POINT)) || piece=${piece:0:${#piece}-(before - COMP_POINT)}
    if [[ $i -gt 0 && -z $blanks ]]; then
      words[-1]+=$piece
    else
      words+=("$piece") starts+=("$i")
    fi
  done
  [[ $piece != *[!:=@]* ]] && piece=""
}

# _rlock_value OPTION INDEX: the word there is its value.
_rlock_value() {
  if (($2 == last)); then
    option=$1
  else
    _rlock_server_option "$1" "${words[$2]}"
  fi
}

_rlock_server_option() {
  local plain quote
  case $1 in
    --server|--prefix|--compat|--password-file|--config)
      _rlock_plain "$2" || unknown=1
      server_options+=("$1" "$plain")
      ;;
  esac
}

# _rlock_plain WORD: sets plain to what the shell makes of it, and quote to the quotation mark that is still open. Fails
# where that would take an expansion.
_rlock_plain() {
  local rest=$1 c
  plain="" quote=""
  # shellcheck disable=SC2088 # as it was typed
  [[ $rest != '~/'* ]] || plain=$HOME rest=${rest:1}
  while [[ -n $rest ]]; do
    c=${rest:0:1} rest=${rest:1}
    case $quote$c in
      \'\' | \"\") quote="" ;;
      \'?) plain+=$c ;;
      \' | \") quote=$c ;;
      \\)
        plain+=${rest:0:1}
        rest=${rest:1}
        ;;
      \"\\)
        [[ $rest == [\"\\\$\`]* ]] || plain+=$c
        plain+=${rest:0:1}
        rest=${rest:1}
        ;;
      \$ | \` | \"\$ | \"\`) return 1 ;;
      *) plain+=$c ;;
    esac
  done
}

_rlock_among() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current"); }

_rlock_files() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$current")
}

# The keys of locks, where the server answers at once. Quoted here: `compopt -o filenames` would quote them too, but show only
# what stands behind a /.
_rlock_keys() {
  local plain quote key quoted rlock
  _rlock_plain "$current" && ((!unknown)) || return
  local typed=$plain open=$quote
  _rlock_plain "${words[0]}" && rlock=$(type -P -- "$plain") || return
  while IFS= read -r key; do
    [[ $key == "$typed"* ]] || continue
    case $open in
      '') printf -v quoted %q "$key" ;;
      \') quoted=${key//\'/"'\\''"} ;;
      \") quoted=${key//[\\]/\\\\} quoted=${quoted//\"/\\\"} quoted=${quoted//\$/\\\$} quoted=${quoted//\`/\\\`} ;;
    esac
    COMPREPLY+=("$quoted")
  done < <(timeout 0.4 "$rlock" status --format keys "${server_options[@]}" --connect-timeout 200ms </dev/null 2>/dev/null)
}

_rlock_complete() {
  case $option in
    --with) _rlock_keys ;;
    --password-file|--config) _rlock_files ;;
    -t | --ttl) _rlock_among '500ms 1s 5s 10s 30s 1m 5m 30m 1h 12h 1d' ;;
    --hold) _rlock_among '500ms 1s 5s 10s 30s 1m 5m 30m 1h 12h 1d' ;;
    --once) _rlock_among '500ms 1s 5s 10s 30s 1m 5m 30m 1h 12h 1d' ;;
    --remember) _rlock_among '500ms 1s 5s 10s 30s 1m 5m 30m 1h 12h 1d' ;;
    -w | --wait) _rlock_among '500ms 1s 5s 10s 30s 1m 5m 30m 1h 12h 1d' ;;
    -E | --conflict-exit-code) _rlock_among '0 75' ;;
    --grace) _rlock_among '500ms 1s 5s 10s 30s 1m 5m 30m 1h 12h 1d' ;;
    --timeout) _rlock_among '500ms 1s 5s 10s 30s 1m 5m 30m 1h 12h 1d' ;;
    --signal) _rlock_among 'TERM INT HUP QUIT USR1 USR2 KILL' ;;
    -k | --kill-after) _rlock_among '500ms 1s 5s 10s 30s 1m 5m 30m 1h 12h 1d' ;;
    --on-lost) _rlock_among 'kill warn' ;;
    --server) _rlock_among 'redis:// rediss:// valkey:// valkeys:// redis+sentinel:// rediss+sentinel:// redis+cluster:// rediss+cluster:// unix:// local etcd:// etcds:// etcd+unix:// zookeeper:// zookeepers://' && compopt -o nospace 2>/dev/null ;;
    --compat) _rlock_among 'none redisson' ;;
    --connect-timeout) _rlock_among '500ms 1s 5s 10s 30s 1m 5m 30m 1h 12h 1d' ;;
    --format) _rlock_among 'table json prometheus keys' ;;
    --sort) _rlock_among 'state key held waiting last-run' ;;
    --log-format) _rlock_among 'text json' ;;
  esac
  [[ -z $option ]] || return
  case $verb in
    '')
      if [[ $current == -* ]]; then
        _rlock_among '--server --prefix --compat --password-file --connect-timeout --config --log-format --syslog --quiet --verbose --help --version'
      else
        _rlock_among 'run acquire renew release status help'
      fi
      ;;
    help) _rlock_among 'run acquire renew release status help' ;;
    run) _rlock_verb --ttl --shared --exclusive --slots --with --hold --once --remember --replicas --wait --nonblock --conflict-exit-code --grace --timeout --signal --kill-after --on-lost --no-renew --tree --show-command --label --server --prefix --compat --password-file --connect-timeout --config --log-format --syslog --quiet --verbose --help ;;
    acquire) _rlock_verb --ttl --shared --exclusive --slots --replicas --while-pid --wait --nonblock --conflict-exit-code --grace --signal --kill-after --on-lost --label --server --prefix --compat --password-file --connect-timeout --config --json --export --log-format --syslog --quiet --verbose --help ;;
    renew) _rlock_verb --ttl --server --prefix --compat --password-file --connect-timeout --config --log-format --syslog --quiet --verbose --help ;;
    release) _rlock_verb --force --grace --server --prefix --compat --password-file --connect-timeout --config --log-format --syslog --quiet --verbose --help ;;
    status) _rlock_verb --server --prefix --compat --password-file --connect-timeout --config --json --format --held --sort --watch --log-format --syslog --exit-code --quiet --verbose --help ;;
  esac
}

# _rlock_verb OPTION...: those of the verb, or KEY.
_rlock_verb() {
  if [[ $current == -* ]]; then
    _rlock_among "$*"
  elif ((count == 0)); then
    _rlock_keys
  fi
}

# _rlock_command INDEX: COMMAND stands there among words, and completes as it would alone.
_rlock_command() {
  local at=$1
  [[ ${words[at]} != -- ]] || ((at == last)) || at=$((at + 1))
  if declare -F _comp_command_offset >/dev/null; then
    _comp_command_offset "${starts[at]}"
  elif declare -F _command_offset >/dev/null; then
    _command_offset "${starts[at]}"
  else
    current=${words[last]}
    compopt -o filenames 2>/dev/null
    if ((at == last)) && [[ $current != */* ]]; then
      mapfile -t COMPREPLY < <(compgen -c -- "$current")
    else
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
    fi
  fi
}

complete -F _rlock rlock
