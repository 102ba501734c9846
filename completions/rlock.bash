# Written by rlock-docs from src/cli/option_table.cpp. Do not edit.
# shellcheck shell=bash
_rlock() {
  local words=() starts=() current previous verb="" i
  COMPREPLY=()
  _rlock_words
  # The words of rlock itself: past options and their values to the verb, then to KEY.
  for ((i = 1; i < ${#words[@]} - 1; i++)); do
    case ${words[i]} in
      -t|--ttl|--slots|--with|--hold|--once|--replicas|--while-pid|-w|--wait|-E|--conflict-exit-code|--grace|--signal|-k|--kill-after|--on-lost|--label|--server|--prefix|--compat|--password-file|--connect-timeout|--config|--format) ((i++)) ;;
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
    --password-file|--config)
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      return
      ;;
    --on-lost)
      mapfile -t COMPREPLY < <(compgen -W 'kill warn' -- "$current")
      return
      ;;
    --compat)
      mapfile -t COMPREPLY < <(compgen -W 'none redisson' -- "$current")
      return
      ;;
    --format)
      mapfile -t COMPREPLY < <(compgen -W 'table json keys' -- "$current")
      return
      ;;
    -t|--ttl|--slots|--with|--hold|--once|--replicas|--while-pid|-w|--wait|-E|--conflict-exit-code|--grace|--signal|-k|--kill-after|--label|--server|--prefix|--connect-timeout) return ;;
  esac
  case $verb in
    '')
      if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W '--server --prefix --compat --password-file --connect-timeout --config --quiet --verbose --help --version' -- "$current")
      else
        mapfile -t COMPREPLY < <(compgen -W 'run acquire renew release status help' -- "$current")
      fi
      ;;
    help) mapfile -t COMPREPLY < <(compgen -W 'run acquire renew release status help' -- "$current") ;;
    run) [[ $current != -* ]] || mapfile -t COMPREPLY < <(compgen -W '--ttl --shared --exclusive --slots --with --hold --once --replicas --wait --nonblock --conflict-exit-code --grace --signal --kill-after --on-lost --no-renew --tree --show-command --label --server --prefix --compat --password-file --connect-timeout --config --quiet --verbose --help' -- "$current") ;;
    acquire) [[ $current != -* ]] || mapfile -t COMPREPLY < <(compgen -W '--ttl --shared --exclusive --slots --replicas --while-pid --wait --nonblock --conflict-exit-code --grace --signal --kill-after --on-lost --label --server --prefix --compat --password-file --connect-timeout --config --json --export --quiet --verbose --help' -- "$current") ;;
    renew) [[ $current != -* ]] || mapfile -t COMPREPLY < <(compgen -W '--ttl --server --prefix --compat --password-file --connect-timeout --config --quiet --verbose --help' -- "$current") ;;
    release) [[ $current != -* ]] || mapfile -t COMPREPLY < <(compgen -W '--force --grace --server --prefix --compat --password-file --connect-timeout --config --quiet --verbose --help' -- "$current") ;;
    status) [[ $current != -* ]] || mapfile -t COMPREPLY < <(compgen -W '--server --prefix --compat --password-file --connect-timeout --config --json --format --watch --exit-code --quiet --verbose --help' -- "$current") ;;
  esac
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
