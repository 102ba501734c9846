# Written by rlock-docs from src/cli/option_table.cpp. Do not edit.

function __rlock_verb
    for word in (commandline -opc)[2..-1]
        if contains -- $word run acquire renew release status help
            echo $word
            return
        end
    end
end

complete -c rlock -f
complete -c rlock -s h -l help -d 'Print help'
complete -c rlock -n 'test -z "$(__rlock_verb)"' -s V -l version -d 'Print the version'
complete -c rlock -n 'test -z "$(__rlock_verb)"' -a run -d 'Hold KEY while COMMAND runs'
complete -c rlock -n 'test -z "$(__rlock_verb)"' -a acquire -d 'Acquire KEY, print its token'
complete -c rlock -n 'test -z "$(__rlock_verb)"' -a renew -d 'Extend the lease'
complete -c rlock -n 'test -z "$(__rlock_verb)"' -a release -d 'Release KEY'
complete -c rlock -n 'test -z "$(__rlock_verb)"' -a status -d 'Who holds, who waits, what ran last'
complete -c rlock -n 'test -z "$(__rlock_verb)"' -a help -d 'Print help'
complete -c rlock -n 'test "$(__rlock_verb)" = help' -a 'run acquire renew release status help'
complete -c rlock -n 'test "$(__rlock_verb)" = run' -a '(__fish_complete_subcommand --fcs-skip=3)'
complete -c rlock -n 'contains -- "$(__rlock_verb)" run acquire renew' -s t -l ttl -x -d 'How long the lease lasts unless renewed; at least 100ms'
complete -c rlock -n 'contains -- "$(__rlock_verb)" run acquire' -s s -l shared -d 'Hold KEY with others that say --shared, as readers'
complete -c rlock -n 'contains -- "$(__rlock_verb)" run acquire' -s x -l exclusive -d 'Hold KEY alone, as a writer does; the default'
complete -c rlock -n 'contains -- "$(__rlock_verb)" run acquire' -l slots -x -d 'At most N hold KEY at once; all must give the same N'
complete -c rlock -n 'contains -- "$(__rlock_verb)" release' -l force -d 'Release it, whoever holds it, and say who that was'
complete -c rlock -n 'contains -- "$(__rlock_verb)" run' -l with -x -d 'Hold this key too, all or none; may be repeated'
complete -c rlock -n 'contains -- "$(__rlock_verb)" run' -l hold -x -d 'Keep KEY for at least D, even if COMMAND ends sooner: for a cron job on several hosts'
complete -c rlock -n 'contains -- "$(__rlock_verb)" run' -l once -x -d 'Exit 0 without running COMMAND if a run of KEY succeeded within the last D'
complete -c rlock -n 'contains -- "$(__rlock_verb)" run acquire' -l replicas -x -d 'Hold KEY only when N replicas of the server have it, so that a failover keeps it'
complete -c rlock -n 'contains -- "$(__rlock_verb)" acquire' -l while-pid -x -d 'Renew in the background while process PID lives, then release; in a script write $$'
complete -c rlock -n 'contains -- "$(__rlock_verb)" run acquire' -s w -l wait -x -d 'Give up after D; without it, wait for ever'
complete -c rlock -n 'contains -- "$(__rlock_verb)" run acquire' -s n -l nonblock -d 'Give up at once'
complete -c rlock -n 'contains -- "$(__rlock_verb)" run acquire' -s E -l conflict-exit-code -x -d 'Exit status for busy, 0 to 255; 0 is silent'
complete -c rlock -n 'contains -- "$(__rlock_verb)" run acquire release' -l grace -x -d 'For D after a start of the server, keep a free lock for its earlier holder'
complete -c rlock -n 'contains -- "$(__rlock_verb)" run acquire' -l signal -x -d 'Signal to COMMAND, or PID, when the lock is lost'
complete -c rlock -n 'contains -- "$(__rlock_verb)" run acquire' -s k -l kill-after -x -d 'How long it then has before SIGKILL; without it 5s, at most a third of the ttl'
complete -c rlock -n 'contains -- "$(__rlock_verb)" run acquire' -l on-lost -xa 'kill warn' -d 'Whether a lost lock ends COMMAND, or PID'
complete -c rlock -n 'contains -- "$(__rlock_verb)" run' -l no-renew -d 'A fixed lease: COMMAND is stopped when it ends'
complete -c rlock -n 'contains -- "$(__rlock_verb)" run' -l tree -d 'Hold KEY until all that COMMAND started has ended'
complete -c rlock -n 'contains -- "$(__rlock_verb)" run' -l show-command -d 'Let status show the command line, which may carry secrets'
complete -c rlock -n 'contains -- "$(__rlock_verb)" run acquire' -l label -x -d 'Tell those who wait, and status, what holds KEY: the URL of a CI job, say'
complete -c rlock -l server -x -d 'redis://HOST, unix:///PATH or another form of rlock help; without it redis://127.0.0.1:6379'
complete -c rlock -l prefix -x -d 'Put P before KEY on the server'
complete -c rlock -l compat -xa 'none redisson' -d 'With redisson, KEY is an RLock of Redisson'
complete -c rlock -l password-file -rF -d 'Read the password from the first line of FILE'
complete -c rlock -l connect-timeout -x -d 'How long to try a server that is down or does not answer'
complete -c rlock -l config -rF -d 'Read options from FILE; without it from ~/.config/rlock.conf and /etc/rlock.conf'
complete -c rlock -n 'contains -- "$(__rlock_verb)" acquire status' -l json -d 'Print JSON'
complete -c rlock -n 'contains -- "$(__rlock_verb)" status' -l format -xa 'table json keys' -d 'What to print: a table, as without it, JSON, or one key a line'
complete -c rlock -n 'contains -- "$(__rlock_verb)" status' -l watch -d 'Show it live until q or Ctrl-C'
complete -c rlock -n 'contains -- "$(__rlock_verb)" acquire' -l export -d 'Print RLOCK_KEY, RLOCK_TOKEN, RLOCK_FENCE for eval'
complete -c rlock -n 'contains -- "$(__rlock_verb)" status' -l exit-code -d 'Exit 0 when held, 1 when free'
complete -c rlock -s q -l quiet -d 'Say nothing but errors'
complete -c rlock -s v -l verbose -d 'Say what happens'
