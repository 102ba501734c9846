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
complete -c rlock -n 'contains -- "$(__rlock_verb)" run acquire' -s s -l shared -d 'Hold the lock together with others that say --shared, as readers do; a reader that comes after a waiting --exclusive waits behind it'
complete -c rlock -n 'contains -- "$(__rlock_verb)" run acquire' -s x -l exclusive -d 'Hold the lock alone, as a writer does; the default'
complete -c rlock -n 'contains -- "$(__rlock_verb)" run acquire' -l slots -x -d 'At most N hold the lock at once; all who use KEY must give the same N, else exit 78'
complete -c rlock -n 'contains -- "$(__rlock_verb)" release' -l force -d 'Release it, whoever holds it, and say who that was'
complete -c rlock -n 'contains -- "$(__rlock_verb)" run' -l with -x -d 'Hold this key too, all or none; may be given several times; all clients acquire keys in one order, so that two runs cannot block each other; if one key is lost, all are'
complete -c rlock -n 'contains -- "$(__rlock_verb)" run' -l hold -x -d 'Keep the lock for at least D from when it was acquired, even if COMMAND ends sooner; no process stays for that; for a cron job on several hosts whose clocks differ by less than D'
complete -c rlock -n 'contains -- "$(__rlock_verb)" run' -l once -x -d 'Exit 0 without running COMMAND if a run of KEY has succeeded within the last D'
complete -c rlock -n 'contains -- "$(__rlock_verb)" run acquire' -l replicas -x -d 'Count the lock as acquired or renewed only when N replicas of the server have it, so that a failover to one of them keeps it; without it, none'
complete -c rlock -n 'contains -- "$(__rlock_verb)" acquire' -l while-pid -x -d 'Renew in the background while process PID lives, and release when it has ended, however it ends; if the lock is lost, stop PID and what it has started since; in a script write $$'
complete -c rlock -n 'contains -- "$(__rlock_verb)" run acquire' -s w -l wait -x -d 'Give up after D; without it, wait for ever'
complete -c rlock -n 'contains -- "$(__rlock_verb)" run acquire' -s n -l nonblock -d 'Give up at once'
complete -c rlock -n 'contains -- "$(__rlock_verb)" run acquire' -s E -l conflict-exit-code -x -d 'Exit status for busy, 0 to 255; 0 is silent'
complete -c rlock -n 'contains -- "$(__rlock_verb)" run acquire release' -l grace -x -d 'For D after the server started or was promoted, keep a free lock for its earlier holder, whom the server may have forgotten; give the largest ttl in use, best in /etc/rlock.conf; without it, do not'
complete -c rlock -n 'contains -- "$(__rlock_verb)" run acquire' -l signal -x -d 'The signal that asks COMMAND, or PID, to end when the lock is lost'
complete -c rlock -n 'contains -- "$(__rlock_verb)" run acquire' -s k -l kill-after -x -d 'How long it then has before SIGKILL; without it 5s, at most a third of the ttl'
complete -c rlock -n 'contains -- "$(__rlock_verb)" run acquire' -l on-lost -xa 'kill warn' -d 'Whether a lost lock ends COMMAND, or PID'
complete -c rlock -n 'contains -- "$(__rlock_verb)" run' -l no-renew -d 'A fixed lease: COMMAND is stopped when it ends'
complete -c rlock -n 'contains -- "$(__rlock_verb)" run' -l tree -d 'Hold the lock until all that COMMAND started has ended'
complete -c rlock -n 'contains -- "$(__rlock_verb)" run' -l show-command -d 'Let status show the command line, which may carry secrets'
complete -c rlock -n 'contains -- "$(__rlock_verb)" run acquire' -l label -x -d 'Shown to those who wait for KEY and in status, to say what holds it: the URL of a CI job, say; cut behind 256 bytes'
complete -c rlock -l server -x -d 'What keeps the lock: redis://[[user:]password@]host[:port][/db], unix:///path[?db=N], redis+sentinel://host[:port],.../master[/db], redis+cluster://host[:port],..., or local, a private server of this machine; rediss in place of redis is TLS, with [?cacert=FILE&cert=FILE&key=FILE]; 3 to 7 URLs, with commas between them or an option each, are independent servers of which a majority holds the lock (Redlock); without it redis://127.0.0.1:6379'
complete -c rlock -l prefix -x -d 'Put before KEY on the server; with \'\' the key is that of other libraries'
complete -c rlock -l compat -xa 'none redisson' -d 'With redisson, KEY is an RLock of Redisson: rlock and services that lock it exclude and wake each other; see LOCKS OF OTHER LIBRARIES in rlock(1)'
complete -c rlock -l password-file -rF -d 'The password is the first line of FILE'
complete -c rlock -l connect-timeout -x -d 'How long to wait for a server that does not answer or is down'
complete -c rlock -l config -rF -d 'Read options from FILE; without it from /etc/rlock.conf and, over it, $XDG_CONFIG_HOME/rlock.conf'
complete -c rlock -n 'contains -- "$(__rlock_verb)" acquire status' -l json -d 'Print JSON'
complete -c rlock -n 'contains -- "$(__rlock_verb)" status' -l format -xa 'table json keys' -d 'What to print: a table, as without it, JSON, or one key a line'
complete -c rlock -n 'contains -- "$(__rlock_verb)" acquire' -l export -d 'Print RLOCK_KEY, RLOCK_TOKEN and RLOCK_FENCE as an export line for eval; (exit N) where it fails'
complete -c rlock -n 'contains -- "$(__rlock_verb)" status' -l exit-code -d 'Exit 0 when held, 1 when free'
complete -c rlock -s q -l quiet -d 'Say nothing but errors'
complete -c rlock -s v -l verbose -d 'Say what happens'
