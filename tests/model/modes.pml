/*
 * The queue of a lock that several may hold: who enters beside whom, and in which order. For spin; README.md says what is in
 * and what is left out. Messages are not lost here: that is lock.pml's, and the same for each mode.
 *
 * N clients come once each. With SLOTS they ask for one of so many slots; else each is a reader or a writer.
 *
 *   CHECK_OVERLAP   nobody runs beside a writer, and no more than SLOTS at once
 *   CHECK_FIFO      nobody is let in past a living waiter that came earlier
 *   CHECK_SERVED    who may enter does so with the very release, leave or look that made room; nobody waits for ever (no
 *                   invalid end state)
 */

#ifndef N
#define N 3             /* clients */
#endif
#define TTL 3           /* ticks of a lease */
#define MARGIN 1        /* a command is dead so much earlier */
#define CLAIM 1         /* ticks of a hand-off that is not confirmed */
#ifndef FAULTS
#define FAULTS 1        /* clients that are killed, with or without their guard, or give up; any waiter may miss its claim */
#endif
#define NOBODY N

/* The server. */
byte ends[N];           /* ticks until the lease of a holder ends; 0: holds nothing */
bool queued[N];
byte ticket[N];         /* smaller: came earlier; kept while a claim is not confirmed, 0: none */
byte caller = NOBODY;   /* whose acquire it is */

/* The clients. */
bool writes[N];
bool alive[N];
bool running[N];        /* its command */
byte deadline[N];
bool news[N];           /* something may have changed since its last look: time has passed, or somebody died */
byte faults = FAULTS;

byte i, j, head, holders, writers, runs, alone;

/* Who holds, as the scripts count: those whose lease has not ended. */
inline count_holders() {
    holders = 0; writers = 0; i = 0;
    do
    :: i < N ->
        if
        :: ends[i] > 0 -> holders++; if :: writes[i] -> writers++ :: else fi
        :: else
        fi;
        i++
    :: else -> break
    od; i = 0
}

#ifdef SLOTS
#ifdef MUTANT_one_slot_too_many
#define MAY_ENTER(c) (holders <= SLOTS)
#else
#define MAY_ENTER(c) (holders < SLOTS)
#endif
#else
#ifdef MUTANT_reader_beside_a_writer
#define MAY_ENTER(c) (holders == 0 || !writes[c])
#else
#define MAY_ENTER(c) (holders == 0 || (!writes[c] && writers == 0))
#endif
#endif

/* The first living waiter. Dead ones are taken out on the way. */
inline find_head() {
    head = NOBODY; i = 0;
    do
    :: i < N ->
        if
        :: queued[i] && !alive[i] -> queued[i] = false; ticket[i] = 0
        :: queued[i] && alive[i] && (head == NOBODY || ticket[i] < ticket[head]) -> head = i
        :: else
        fi;
        i++
    :: else -> break
    od; i = 0
}

/* Tickets without gaps: 1, 2, … j - 1. Only their order matters. */
inline close_gaps() {
    j = 1;
    do
    :: true ->
        head = NOBODY; i = 0;
        do
        :: i < N -> if :: ticket[i] >= j && (head == NOBODY || ticket[i] < ticket[head]) -> head = i :: else fi; i++
        :: else -> break
        od; i = 0;
        if
        :: head == NOBODY -> break
        :: else -> ticket[head] = j; j++
        fi
    od
}

/* Behind all, unless it comes back with its ticket. */
inline enqueue(c) {
    close_gaps();
    if :: ticket[c] == 0 -> ticket[c] = j :: else fi;
    queued[c] = true; j = 0
}

inline grant(c, ms) {
#ifdef CHECK_FIFO
    i = 0;
    do
    :: i < N -> assert(!((queued[i] || (i == caller && ends[i] == 0)) && alive[i] && i != c && ticket[i] < ticket[c])); i++
    :: else -> break
    od; i = 0;
#endif
    ends[c] = ms;
    queued[c] = false;
    news[c] = false
}

/* Hands over to the head, and the next, until one may not enter; self is let in at its turn with a whole lease. */
inline admit(self) {
    do
    :: true ->
        count_holders();
        find_head();
        if
        :: head != NOBODY && MAY_ENTER(head) ->
            if
            :: head == self -> grant(head, TTL)
#ifdef MUTANT_stops_at_self
                ; break
#endif
            :: else -> grant(head, CLAIM)
            fi
#ifdef MUTANT_one_grant_a_release
            ; break
#endif
        :: else -> break
        fi
    od
}

/* Nobody who may enter is left standing. */
inline check_none_left() {
    skip;
#ifdef CHECK_SERVED
    count_holders();
    find_head();
    assert(!(head != NOBODY && MAY_ENTER(head)))
#endif
}

/* A granted client starts its command; its answer comes at once. */
inline start(c) {
    running[c] = true;
    ticket[c] = 0;
    deadline[c] = TTL - MARGIN
}

/* The caller stands where its ticket says from the beginning, so it is neither passed nor refused in its own call. */
inline acquire(c) {
    caller = c;
#ifdef MUTANT_newcomer_passes
    count_holders();
    if
    :: !queued[c] && MAY_ENTER(c) -> enqueue(c); grant(c, TTL)
    :: else -> enqueue(c)
    fi;
#else
#ifndef MUTANT_returner_passed
    enqueue(c);
#endif
#endif
    admit(c);
#ifdef MUTANT_returner_passed
    if :: ends[c] == 0 -> enqueue(c); admit(c) :: else fi;
#endif
    caller = NOBODY;
    check_none_left();
    if :: ends[c] > 0 -> ends[c] = TTL; start(c) :: else fi;
    head = NOBODY
}

inline leave(c) {
    ends[c] = 0;
    running[c] = false;
    deadline[c] = 0;
    news[c] = false;
    ticket[c] = 0;
#ifdef MUTANT_leave_keeps_quiet
    if
    :: queued[c] -> queued[c] = false
    :: else -> admit(NOBODY)
    fi;
#else
    queued[c] = false;
    admit(NOBODY);
#endif
    check_none_left()
}

inline check_overlap() {
#ifdef CHECK_OVERLAP
    runs = 0; alone = 0; i = 0;
    do
    :: i < N -> if :: running[i] -> runs++; if :: writes[i] -> alone++ :: else fi :: else fi; i++
    :: else -> break
    od; i = 0;
#ifdef SLOTS
    assert(runs <= SLOTS);
#else
    assert(alone == 0 || runs == 1);
#endif
    runs = 0; alone = 0
#else
    skip
#endif
}

inline tell_all() {
    i = 0;
    do
    :: i < N -> news[i] = queued[i]; i++
    :: else -> break
    od; i = 0
}

active [N] proctype client() {
    byte me = _pid;
    atomic {
        alive[me] = true;
#ifndef SLOTS
        if :: writes[me] = true :: skip fi;
#endif
    }
    atomic { acquire(me); check_overlap() }
    do
    /* The message of a grant has come: confirm. */
    :: atomic { alive[me] && !running[me] && ends[me] > 0 -> ends[me] = TTL; start(me); check_overlap() }
    /* A claim has ended: back into the queue, with the ticket that it had. */
    :: atomic { alive[me] && !running[me] && ends[me] == 0 && !queued[me] -> acquire(me); check_overlap() }
    /* A look, if anything may have changed. */
    :: atomic { alive[me] && queued[me] && news[me] -> news[me] = false; acquire(me); check_overlap() }
    /* The command has ended. */
    :: atomic { alive[me] && running[me] -> leave(me); break }
    /* It gives up. */
    :: atomic { alive[me] && queued[me] && faults > 0 -> faults--; leave(me); break }
    /* Killed: the command dies with it; its guard releases, or is dead too. */
    :: atomic { alive[me] && faults > 0 -> faults--; alive[me] = false; running[me] = false;
                if :: !queued[me] -> ticket[me] = 0 :: else fi;
                if
                :: ends[me] > 0 -> leave(me)
                :: true
                fi;
                tell_all(); break }
    od
}

/* Time passes. No command lives beyond its deadline; who confirms in time is a matter of the scheduler. */
active proctype clock() {
end:
    do
    :: atomic {
        ends[0] + ends[1] + ends[2] > 0 ->
        j = 0;
        do
        :: j < N ->
            if
            :: running[j] && deadline[j] == 0 -> running[j] = false
            :: running[j] -> deadline[j]--
            :: else
            fi;
            if :: ends[j] > 0 -> ends[j]-- :: else fi;
            if :: running[j] && ends[j] == 0 -> running[j] = false :: else fi;
            j++
        :: else -> break
        od; j = 0;
        tell_all() }
    od
}
