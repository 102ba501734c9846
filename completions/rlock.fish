# Written by rlock-docs from src/docs/rlock.fish.in and the tables in src/cli/rows. Do not edit.

# Where the cursor stands: "VERB key", "VERB more", or "VERB command N", where COMMAND is word N; "none" before the verb.
function __rlock_place
    set -l words (commandline -opc)
    set -l verb none
    set -l place key
    set -l at 2
    while test $at -le (count $words)
        switch $words[$at]
            case -t --ttl --slots --with --hold --once --remember --replicas --while-pid -w --wait -E --conflict-exit-code --grace --timeout --signal -k --kill-after --on-lost --label --server --prefix --compat --password-file --connect-timeout --config --format --sort --log-format
                set at (math $at + 1)
            case '--*=*' --
            case '-*'
                if string match -qr '^-[sxnqvhV]*[twEk]$' -- $words[$at]
                    set at (math $at + 1)
                end
            case '*'
                if test $verb = none
                    set verb $words[$at]
                else if contains -- $verb run
                    set at (math $at + 1)
                    test "$words[$at]" != --; or set at (math $at + 1)
                    echo run command $at
                    return
                else
                    set place more
                end
        end
        set at (math $at + 1)
    end
    echo $verb $place
end

# __rlock_is PLACE...: whether the cursor is at one of them. Without the word behind the verb: anywhere behind it.
function __rlock_is
    set -l here (__rlock_place)
    for place in $argv
        string match -q -- "$place*" $here; and return 0
    end
    return 1
end

# The options of one of these verbs, before COMMAND.
function __rlock_verb
    set -l here (string split ' ' -- (__rlock_place))
    test $here[2] != command; and contains -- $here[1] $argv
end

# COMMAND completes as it would alone.
function __rlock_command
    set -l at (string split ' ' -- (__rlock_place))[3]
    set -l words (commandline -opc)
    complete --do-complete=(string join ' ' -- (string escape -- $words[$at..-1]) (commandline -ct))
end

# The keys of locks, where the server answers at once.
function __rlock_keys
    set -l words (commandline -opc)
    set -l server_options
    for at in (seq 2 (count $words))
        switch $words[$at]
            case --server --prefix --compat --password-file --config
                set -a server_options $words[$at] $words[(math $at + 1)]
            case '--server=*' '--prefix=*' '--compat=*' '--password-file=*' '--config=*'
                set -a server_options $words[$at]
        end
    end
    timeout 0.4 $words[1] status --format keys $server_options --connect-timeout 200ms </dev/null 2>/dev/null
end

complete -c rlock -f
complete -c rlock -n 'not __rlock_is "run command"' -s h -l help -d 'Print help'
complete -c rlock -n '__rlock_is none' -s V -l version -d 'Print the version'
complete -c rlock -n '__rlock_is none' -a run -d 'Hold KEY while COMMAND runs'
complete -c rlock -n '__rlock_is none' -a acquire -d 'Acquire KEY, print its token'
complete -c rlock -n '__rlock_is none' -a renew -d 'Extend the lease'
complete -c rlock -n '__rlock_is none' -a release -d 'Release KEY'
complete -c rlock -n '__rlock_is none' -a status -d 'Who holds, who waits, what ran last'
complete -c rlock -n '__rlock_is none' -a help -d 'Print help'
complete -c rlock -n '__rlock_is help' -a 'run acquire renew release status help'
complete -c rlock -n '__rlock_is "run key" "acquire key" "renew key" "release key" "status key"' -ka '(__rlock_keys)'
complete -c rlock -n '__rlock_is "run command"' -a '(__rlock_command)'
complete -c rlock -n '__rlock_verb run acquire renew' -s t -l ttl -xka '500ms 1s 5s 10s 30s 1m 5m 30m 1h 12h 1d' -d 'How long the lease lasts unless renewed; at least 100ms'
complete -c rlock -n '__rlock_verb run acquire' -s s -l shared -d 'Hold KEY with others that say --shared, as readers'
complete -c rlock -n '__rlock_verb run acquire' -s x -l exclusive -d 'Hold KEY alone, as a writer does; the default'
complete -c rlock -n '__rlock_verb run acquire' -l slots -x -d 'At most N hold KEY at once; all must give the same N'
complete -c rlock -n '__rlock_verb release' -l force -d 'Release KEY whoever holds it, and say who that was'
complete -c rlock -n '__rlock_verb run' -l with -xa '(__rlock_keys)' -d 'Hold this key too, all or none; may be repeated'
complete -c rlock -n '__rlock_verb run' -l hold -xka '500ms 1s 5s 10s 30s 1m 5m 30m 1h 12h 1d' -d 'Keep KEY for at least D, even if COMMAND ends sooner: for a cron job on several hosts'
complete -c rlock -n '__rlock_verb run' -l once -xka '500ms 1s 5s 10s 30s 1m 5m 30m 1h 12h 1d' -d 'Do nothing and exit 0 if a run succeeded within D'
complete -c rlock -n '__rlock_verb run' -l remember -xka '500ms 1s 5s 10s 30s 1m 5m 30m 1h 12h 1d' -d 'How long the server remembers this run for status and --once'
complete -c rlock -n '__rlock_verb run acquire' -l replicas -x -d 'Hold KEY only when N replicas of the server have it, so that a failover keeps it'
complete -c rlock -n '__rlock_verb acquire' -l while-pid -x -d 'Renew in the background while process PID lives, then release; in a script write $$'
complete -c rlock -n '__rlock_verb run acquire' -s w -l wait -xka '500ms 1s 5s 10s 30s 1m 5m 30m 1h 12h 1d' -d 'Give up after D; without it, wait for ever'
complete -c rlock -n '__rlock_verb run acquire' -s n -l nonblock -d 'Give up at once'
complete -c rlock -n '__rlock_verb run acquire' -s E -l conflict-exit-code -xka '0 75' -d 'Exit status when busy, 0 to 255; with 0 nothing is printed'
complete -c rlock -n '__rlock_verb run acquire release' -l grace -xka '500ms 1s 5s 10s 30s 1m 5m 30m 1h 12h 1d' -d 'For D after a start of the server, keep a free lock for its earlier holder'
complete -c rlock -n '__rlock_verb run' -l timeout -xka '500ms 1s 5s 10s 30s 1m 5m 30m 1h 12h 1d' -d 'Stop COMMAND when it has run for D, and exit 124; 0 is no limit'
complete -c rlock -n '__rlock_verb run acquire' -l signal -xka 'TERM INT HUP QUIT USR1 USR2 KILL' -d 'Signal that ends what runs under the lock, when the lock is lost or at --timeout'
complete -c rlock -n '__rlock_verb run acquire' -s k -l kill-after -xka '500ms 1s 5s 10s 30s 1m 5m 30m 1h 12h 1d' -d 'Time between --signal and SIGKILL; without it 5s, at most a third of the ttl'
complete -c rlock -n '__rlock_verb run acquire' -l on-lost -xka 'kill warn' -d 'When the lock is lost, end what runs under it, or only warn'
complete -c rlock -n '__rlock_verb run' -l no-renew -d 'Do not renew: COMMAND is stopped in time to be dead before the lease ends'
complete -c rlock -n '__rlock_verb run' -l tree -d 'Hold KEY until all that COMMAND started has ended'
complete -c rlock -n '__rlock_verb run' -l show-command -d 'Let status show the command line, which may carry secrets'
complete -c rlock -n '__rlock_verb run acquire' -l label -x -d 'Text that status and waiters show for this holder: the URL of a CI job, say'
complete -c rlock -n 'not __rlock_is "run command"' -l server -xka 'redis:// rediss:// valkey:// valkeys:// redis+sentinel:// rediss+sentinel:// redis+cluster:// rediss+cluster:// unix:// local etcd:// etcds:// etcd+unix:// zookeeper:// zookeepers://' -d 'redis://HOST, unix:///PATH or a form of rlock --help; without it redis://127.0.0.1:6379'
complete -c rlock -n 'not __rlock_is "run command"' -l prefix -x -d 'Put P before KEY on the server'
complete -c rlock -n 'not __rlock_is "run command"' -l compat -xka 'none redisson' -d 'With redisson, KEY is an RLock of Redisson'
complete -c rlock -n 'not __rlock_is "run command"' -l password-file -rF -d 'Read the password from the first line of FILE'
complete -c rlock -n 'not __rlock_is "run command"' -l connect-timeout -xka '500ms 1s 5s 10s 30s 1m 5m 30m 1h 12h 1d' -d 'How long to try a server that is down or does not answer'
complete -c rlock -n 'not __rlock_is "run command"' -l config -rF -d 'Read options from FILE; without it from ~/.config/rlock.conf and /etc/rlock.conf'
complete -c rlock -n '__rlock_verb acquire status' -l json -d 'Print JSON'
complete -c rlock -n '__rlock_verb status' -l format -xka 'table json prometheus keys' -d 'A table, JSON, metrics, or one key a line'
complete -c rlock -n '__rlock_verb status' -l held -d 'List only locks that are held or waited for'
complete -c rlock -n '__rlock_verb status' -l sort -xka 'state key held waiting last-run' -d 'Order of the list'
complete -c rlock -n '__rlock_verb status' -l watch -d 'Show it live until q or Ctrl-C'
complete -c rlock -n '__rlock_verb acquire' -l export -d 'Print RLOCK_KEY, RLOCK_TOKEN, RLOCK_FENCE for eval'
complete -c rlock -n 'not __rlock_is "run command"' -l log-format -xka 'text json' -d 'Write messages as lines of text, or as one JSON object for each event'
complete -c rlock -n 'not __rlock_is "run command"' -l syslog -d 'Also log to syslog or the journal'
complete -c rlock -n '__rlock_verb status' -l exit-code -d 'Exit 0 when held, 1 when free'
complete -c rlock -n 'not __rlock_is "run command"' -s q -l quiet -d 'Print only errors'
complete -c rlock -n 'not __rlock_is "run command"' -s v -l verbose -d 'Print what happens'
