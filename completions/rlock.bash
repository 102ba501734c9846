# Written by rlock-docs from src/cli/option_table.cpp. Do not edit.
# shellcheck shell=bash
_rlock() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} verb="" i word
  COMPREPLY=()
  # The words of rlock itself: past options and their values to the verb, then to KEY.
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    case $word in
      -t|--ttl|-w|--wait|-E|--conflict-exit-code|--signal|-k|--kill-after|--on-lost|--server|--prefix|--password-file|--connect-timeout|--config) ((i++)) ;;
      --) [[ $verb != run ]] || { _rlock_command $((i + 1)); return; } ;;
      -*) ;;
      *)
        [[ -n $verb ]] || { verb=$word; continue; }
        [[ $verb != run ]] || { _rlock_command $((i + 1)); return; }
        ;;
    esac
  done
  case $previous in
    --password-file|--config)
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      return
      ;;
    --on-lost)
      mapfile -t COMPREPLY < <(compgen -W 'kill warn' -- "$current")
      return
      ;;
    -t|--ttl|-w|--wait|-E|--conflict-exit-code|--signal|-k|--kill-after|--server|--prefix|--connect-timeout) return ;;
  esac
  case $verb in
    '')
      if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W '--server --prefix --password-file --connect-timeout --config --quiet --verbose --help --version' -- "$current")
      else
        mapfile -t COMPREPLY < <(compgen -W 'run acquire renew release status help' -- "$current")
      fi
      ;;
    help) mapfile -t COMPREPLY < <(compgen -W 'run acquire renew release status help' -- "$current") ;;
    run) [[ $current != -* ]] || mapfile -t COMPREPLY < <(compgen -W '--ttl --wait --nonblock --conflict-exit-code --signal --kill-after --on-lost --no-renew --tree --show-command --server --prefix --password-file --connect-timeout --config --quiet --verbose --help' -- "$current") ;;
    acquire) [[ $current != -* ]] || mapfile -t COMPREPLY < <(compgen -W '--ttl --wait --nonblock --conflict-exit-code --server --prefix --password-file --connect-timeout --config --json --export --quiet --verbose --help' -- "$current") ;;
    renew) [[ $current != -* ]] || mapfile -t COMPREPLY < <(compgen -W '--ttl --server --prefix --password-file --connect-timeout --config --quiet --verbose --help' -- "$current") ;;
    release) [[ $current != -* ]] || mapfile -t COMPREPLY < <(compgen -W '--force --server --prefix --password-file --connect-timeout --config --quiet --verbose --help' -- "$current") ;;
    status) [[ $current != -* ]] || mapfile -t COMPREPLY < <(compgen -W '--server --prefix --password-file --connect-timeout --config --json --exit-code --quiet --verbose --help' -- "$current") ;;
  esac
}

# _rlock_command INDEX: COMMAND stands there, and completes as it would alone.
_rlock_command() {
  local at=$1
  [[ ${COMP_WORDS[at]-} != -- ]] || ((at++))
  if declare -F _command_offset >/dev/null && ((at < COMP_CWORD)); then
    _command_offset "$at"
  elif ((at == COMP_CWORD)); then
    mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
  fi
}

complete -F _rlock rlock
