/*
 * The lease and the queue of one lock: one server, N clients, for spin. README.md says what is in and what is left out.
 *
 * Each server script (src/stores/redis/scripts/scripts) is one atomic step. Time goes in ticks and never stands still for ever.
 *
 * Two kinds of run:
 *
 *   without TIMED   For safety. Nothing is ever due except the death of a command at its deadline. Any request once
 *                   sent may be executed any number of times, at any later moment: that is delay, reordering,
 *                   loss and repetition in one. Clients send heartbeats, retry, give up, freeze and crash whenever they like.
 *   with TIMED      For liveness. A message takes at most DELAY ticks, heartbeats have their timer, and time does not pass
 *                   while somebody is late. All faults together (a lost, a late or a repeated message, a broken
 *                   connection, a crash, a freeze) cost one of FAULTS. Clients come again and again, each time with a
 *                   fresh token.
 *
 * What is checked, each under its own switch so that a mutant is caught by the promise it breaks:
 *
 *   CHECK_OVERLAP   no two commands run at once; with RESTARTS, under a grace, not then either
 *   CHECK_LEASE     a lease ends early by its own token's release (or a restart) alone, and a released token never holds again
 *   CHECK_FIFO      nobody is granted the lock past a living waiter with an earlier ticket
 *   CHECK_ANSWER    a repeated release is told what the first one did
 *   CHECK_SERVED    (TIMED) every living waiter is served (LTL); whoever finds the lock free hands it on, and it is not
 *                   free beside a living waiter for longer than HEARTBEAT + DELAY ticks (asserts)
 *
 * MUTANT_… switches plant one fault each; run.sh lists them with the promise that must break.
 */

#ifndef N
#define N 2             /* clients */
#endif
#ifndef TTL
#define TTL 4           /* ticks of lease that acquire and renew ask for */
#endif
#define SHORT 1         /* ticks that a renewal with a smaller ttl asks for */
#ifdef MUTANT_no_margin
#define MARGIN 0
#else
#define MARGIN 1        /* deadline = send + TTL - MARGIN */
#endif
#ifndef SKEW
#define SKEW 1          /* the server may end a lease so many ticks early, by a client's clock; MARGIN covers it */
#endif
#ifdef MUTANT_claim_below_heartbeat
#define CLAIM 3
#else
#ifndef CLAIM
#define CLAIM 4         /* ticks of a hand-off that is not confirmed; TIMED: more than HEARTBEAT + 2 * DELAY */
#endif
#endif
#define DELAY 1         /* TIMED: ticks from request to answer, and of a push, at most */
#define HEARTBEAT 1          /* TIMED: ticks from an answer to the next acquire of a waiter */
                        /* FAULTS: faults in one run at most; without it any number */
                        /* ONCE: no client comes again */
                        /* WINDOWS: so often a release leaves the lock free for WINDOW ticks, in which nobody gets it */
#define WINDOW 2
                        /* RESTARTS: so often the server forgets all; every client asks for a grace of GRACE ticks */
#ifdef MUTANT_grace_too_short
#define GRACE (TTL - MARGIN - 1)
#else
#define GRACE TTL
#endif

#define NOBODY  N       /* holder: the lock is free */
#define FOREIGN (N + 1) /* holder: a program that knows no queue */

/* requests: acquire that does not queue, that asks for a ticket, that shows its ticket; renew, renew by SHORT, release */
#define NONE      0
#define TRY       1
#define QUEUE     2
#define RETURN    3
#define RENEW     4
#define RENEW_LOW 5
#define RELEASE     6
#define RECLAIM     7   /* RESTARTS: what a renewal sends that finds nobody */

/* answers */
#define OPEN  0         /* not answered yet */
#define YES   1
#define NO    2
#define TOMBSTONED  3         /* this token was released */

/* phases of a client */
#define START   0
#define WAITING 1       /* from the first acquire on */
#define STARTING 2      /* granted, and found in time; the guard is there and knows the deadline; no command yet */
#define RUNNING 3       /* the command was started */
#define RELEASING 4       /* the command is dead, or was never started */
#define DONE    5

/* rlock itself; its guard is never frozen */
#define UP     0
#define FROZEN 1
#define DEAD   2

/* ---- the server ---- */

byte holder = NOBODY;
byte lease;             /* ticks left of it; not counted for FOREIGN */
byte queued[N];         /* ticket in the queue, 0: not in it */
byte tomb[N];           /* OPEN, or what the first release of this token answered */
bool subscribed[N];     /* as the server sees it */

#ifdef WINDOWS
byte windows;           /* so many there were */
bool is_due;            /* the next release opens one */
byte window;            /* ticks that are left of it */
#define OPEN_WINDOW window
#else
#define OPEN_WINDOW 0
#endif

#ifdef RESTARTS
byte boot;              /* which run of the server */
byte young;             /* ticks for which it keeps a free lock */
bool outdated[N];       /* it gave a fence to another since this client's, and remembers that */
byte known[N];          /* the run that the client knows to have had its lock */
byte answer_boot[N];
#define YOUNG young
#else
#define YOUNG 0
#endif

/* ---- the clients ---- */

byte phase[N];
byte rlock[N];
bool command[N];        /* it runs */
byte deadline[N];       /* ticks left; at 0 it is dead */
byte ticket[N];         /* what the client knows, 0: nothing */

/* the one request a client waits for, and its answer. A retry starts it anew; the earlier one may still be executed */
byte call[N];
byte answer[N];
byte answer_ticket[N];
byte age[N];            /* ticks since it was sent, TTL - MARGIN at most: then it is worth nothing */

#ifdef FAULTS
byte faults;
#endif

#ifdef TIMED
byte push[N];           /* 0 none, 1 on its way, 2 has arrived or is DELAY old */
byte timer[N];          /* ticks to the next heartbeat */
bool faulty[N];         /* a fault has hit this client since its START */
byte idle;              /* ticks that the lock was free beside a living waiter */
#endif

/* ---- what only the properties need ---- */

#ifdef CHECK_LEASE
bool has_released[N];       /* a release of this token was executed */
byte owed[N];           /* ticks for which the server has promised the lock to this token */
#endif
#ifdef CHECK_FIFO
byte due[N];            /* earliest ticket that the server gave or was shown */
#define DUE(i) due[i]
#else
#define DUE(i) 0
#endif

/* Scratch, not part of a state; breadth-first search (the shortest trace) has no such thing. */
#ifdef SHORTEST
#define hidden
#endif
hidden byte x, w, first, got, got_ticket, used, above, mine;

#define MAX(a, b) ((a) > (b) -> (a) : (b))

/* Requests that the network may bring (again): all that this client may have sent by now. */
#define late_acquire(i) (phase[i] >= WAITING)
#define late_renew(i) (phase[i] >= RUNNING)
#ifdef MUTANT_guard_releases_first
#define late_release(i) (phase[i] >= RELEASING || (phase[i] == RUNNING && (!command[i] || rlock[i] == DEAD)))
#else
#define late_release(i) (phase[i] >= RELEASING || (phase[i] == RUNNING && !command[i]))
#endif

/* Whoever acts for the client now: rlock, or the guard that gives back for a dead one. */
#define acts(i) (rlock[i] == UP || (rlock[i] == DEAD && phase[i] == RELEASING))

#define living(i) (rlock[i] == UP && phase[i] == WAITING)

/* ---------------------------------------------------------------- the server's scripts */

/* A ticket behind all that are known. Only their order matters, so they are kept dense. */
inline new_ticket(i)
{
	w = 0;
	for (x : 0 .. N - 1) {
		w = MAX(w, queued[x]); w = MAX(w, ticket[x]); w = MAX(w, answer_ticket[x]); w = MAX(w, DUE(x))
	}
	queued[i] = w + 1
}

inline close_gaps()
{
	w = 1;
	do
	:: w > 5 * N -> break
	:: else ->
		used = false; above = false;
		for (x : 0 .. N - 1) {
			used = used || queued[x] == w || ticket[x] == w || answer_ticket[x] == w || DUE(x) == w;
			above = above || queued[x] > w || ticket[x] > w || answer_ticket[x] > w || DUE(x) > w
		}
		if
		:: used -> w++
		:: !used && above ->
			for (x : 0 .. N - 1) {
				if :: queued[x] > w -> queued[x]-- :: else fi;
				if :: ticket[x] > w -> ticket[x]-- :: else fi;
				if :: answer_ticket[x] > w -> answer_ticket[x]-- :: else fi;
#ifdef CHECK_FIFO
				if :: due[x] > w -> due[x]-- :: else fi
#endif
			}
		:: !used && !above -> break
		fi
	od;
	w = 0   /* see execute() */
}

/* first_waiter(self): drops the dead before the first living one. */
inline first_waiter(self)
{
	first = NOBODY;
	do
	:: true ->
		first = NOBODY;
		for (x : 0 .. N - 1) {
			if
			:: queued[x] && (first == NOBODY || queued[x] < queued[first]) -> first = x
			:: else
			fi
		}
		if
		:: first == NOBODY -> break
		:: first != NOBODY && (first == self || subscribed[first]) -> break
		:: else ->
			printf("        server: waiter %d has no subscriber, drops it\n", first);
			queued[first] = 0;
#ifdef CHECK_FIFO
			due[first] = 0
#endif
		fi
	od
}

inline give_fence(i)
{
#ifdef RESTARTS
	for (x : 0 .. N - 1) {
		outdated[x] = x != i
	}
#else
	skip
#endif
}

/* grant(): makes i the holder of a free lock for ms. */
inline grant(i, ms)
{
#ifdef CHECK_LEASE
	assert(!has_released[i]);                                       /* nothing revives a lease */
#endif
#ifdef CHECK_FIFO
	for (x : 0 .. N - 1) {
#ifdef TIMED
		/* Also past one whose claim has lapsed, although nothing was wrong with it. */
		assert(!(x != i && living(x) && subscribed[x] && !faulty[x] && due[x] && (due[i] == 0 || due[x] < due[i])));
#else
		assert(!(x != i && queued[x] && subscribed[x] && (due[i] == 0 || due[x] < due[i])));
#endif
	}
#endif
	printf("        server: the lock is %d's for %d ticks\n", i, ms);
	queued[i] = 0;
	holder = i;
	lease = ms;
	give_fence(i);
#ifdef CHECK_FIFO
#ifndef TIMED
	due[i] = 0
#endif
#endif
}

inline promised(i, ms)
{
#ifdef CHECK_LEASE
	owed[i] = MAX(owed[i], (ms > SKEW -> ms - SKEW : 0))
#else
	skip
#endif
}

inline hand_off(i)
{
#ifdef MUTANT_claim_endless
	grant(i, 250);
#else
	grant(i, CLAIM);
#endif
#ifdef MUTANT_handoff_unheld
	holder = NOBODY; lease = 0;
#endif
#ifdef TIMED
	if :: subscribed[i] -> push[i] = 1 :: else fi
#endif
}

/* The server is shown a ticket. */
inline shows(i)
{
#ifdef CHECK_FIFO
	if
	:: due[i] == 0 || ticket[i] < due[i] -> due[i] = ticket[i]
	:: else
	fi
#else
	skip
#endif
}

inline do_acquire(i, kind)
{
	got = NO; got_ticket = 0;
	if
	:: holder == i ->
#ifdef MUTANT_acquire_shortens
		lease = SHORT;
#else
		lease = MAX(lease, TTL);
#endif
		promised(i, TTL);
		queued[i] = 0;
		got = YES
#ifndef MUTANT_no_tombstone
	:: holder != i && tomb[i] -> got = TOMBSTONED
#endif
	:: else ->
		if
#ifdef MUTANT_no_grace
		:: holder == NOBODY ->
#else
		:: holder == NOBODY && !YOUNG ->
#endif
			/* It stands where its ticket says, in the queue or not. */
			if
			:: kind == RETURN && (queued[i] == 0 || queued[i] > ticket[i]) ->
				queued[i] = ticket[i];
				shows(i)
			:: else
			fi;
			first_waiter(i);
#ifdef MUTANT_acquire_overtakes
			first = NOBODY;
#endif
			if
#ifndef MUTANT_window_open_to_newcomers
			:: first != NOBODY && OPEN_WINDOW -> skip
			:: else ->
#else
			:: else ->
				if :: OPEN_WINDOW && first != i -> first = NOBODY :: else fi;
#endif
				if
				:: first == NOBODY || first == i -> grant(i, TTL); promised(i, TTL); got = YES
				:: else -> hand_off(first)
				fi
			fi
		:: else
		fi;
		if
		:: got == NO && kind != TRY ->
			if
			:: kind == QUEUE && !queued[i] -> new_ticket(i)
			:: kind == RETURN && !queued[i] -> queued[i] = ticket[i]
#ifndef MUTANT_later_ticket_stays
			/* A late first acquire may have put it at the end; the earlier ticket counts. */
			:: kind == RETURN && queued[i] > ticket[i] -> queued[i] = ticket[i]
#endif
			:: else
			fi;
#ifdef CHECK_FIFO
			if
			:: due[i] == 0 -> due[i] = queued[i]
			:: else
			fi;
			if
			:: kind == RETURN -> shows(i)
			:: else
			fi;
#endif
			got_ticket = queued[i];
			printf("        server: %d queues with ticket %d\n", i, got_ticket)
		:: else
		fi
	fi
}

inline do_renew(i, ms)
{
	got = NO; got_ticket = 0;
	if
#ifdef MUTANT_renew_blind
	:: holder != FOREIGN ->
		holder = i;
#else
	:: holder == i ->
#endif
#ifdef MUTANT_renew_lowers
		lease = ms;
#else
		lease = MAX(lease, ms);
#endif
		promised(i, ms);
		got = YES
	:: else
	fi
}

#ifdef RESTARTS
inline do_reclaim(i)
{
	got = NO; got_ticket = 0;
	if
	:: holder == i -> lease = MAX(lease, TTL); got = YES
#ifdef MUTANT_reclaim_blind
	:: holder != i && !tomb[i] && known[i] != boot ->
#else
	:: holder == NOBODY && !tomb[i] && known[i] != boot && !outdated[i] ->
#endif
#ifdef CHECK_LEASE
		assert(!has_released[i]);
#endif
		printf("        server: %d reclaims the lock\n", i);
		holder = i; lease = TTL; got = YES;
		promised(i, TTL);
		give_fence(i)
	:: else
	fi
}
#endif

inline do_release(i)
{
	got = NO; got_ticket = 0;
	mine = holder == i;
	if
#ifdef MUTANT_release_blind
	:: holder != NOBODY -> holder = NOBODY; lease = 0; got = YES
#else
	:: holder == i -> holder = NOBODY; lease = 0; got = YES
#endif
	:: else
	fi;
	queued[i] = 0;
#ifdef CHECK_LEASE
	owed[i] = 0;
#endif
#ifdef CHECK_FIFO
	due[i] = 0;
#endif
	
#ifdef CHECK_LEASE
	has_released[i] = true;
#endif
	if
	:: tomb[i] == OPEN -> tomb[i] = got
	:: else ->
#ifndef MUTANT_release_forgets
		got = tomb[i]
#endif
	fi;
#ifndef MUTANT_release_keeps_quiet
	if
#ifdef MUTANT_waiter_hands_over
	:: holder == NOBODY ->
#else
	:: holder == NOBODY && (mine || !YOUNG) ->
#endif
		first_waiter(NOBODY);
		if
#ifdef WINDOWS
		:: first != NOBODY && mine && is_due ->
			printf("        server: the lock is left free for %d ticks\n", WINDOW);
			window = WINDOW; is_due = false; windows++
#ifdef TIMED
			;timer[first] = WINDOW
#endif
		:: first != NOBODY && !(mine && is_due) && !(!mine && window) -> hand_off(first)
#else
		:: first != NOBODY -> hand_off(first)
#endif
		:: else
		fi
	:: else
	fi
#endif
}

/* Executes a request; the answer is in got and got_ticket. */
inline execute(i, kind)
{
	if
	:: kind <= RETURN -> do_acquire(i, kind)
	:: kind == RENEW -> do_renew(i, TTL)
	:: kind == RENEW_LOW -> do_renew(i, SHORT)
	:: kind == RELEASE -> do_release(i)
#ifdef RESTARTS
	:: kind == RECLAIM -> do_reclaim(i)
#endif
	fi;
#ifdef RESTARTS
	answer_boot[i] = boot;
#endif
#ifdef CHECK_LEASE
	for (x : 0 .. N - 1) {
		assert(owed[x] == 0 || holder == x);                /* no lease is shortened or stolen */
	}
#endif
#if defined(CHECK_SERVED) && defined(TIMED)
	if
	/* Whoever finds the lock free hands it on. A renewal, and an acquire of a released token, need not. */
	:: (kind <= RETURN && got != TOMBSTONED) || kind == RELEASE ->
		for (x : 0 .. N - 1) {
			assert(!(holder == NOBODY && !OPEN_WINDOW && queued[x] && subscribed[x]))
		}
	:: else
	fi;
#endif
#ifdef CHECK_FIFO
	assert(holder >= N || queued[holder] == 0);             /* who holds does not wait */
#endif
	w = 0   /* a d_step cannot end in a jump */
}

/* ---------------------------------------------------------------- the clients */

/* For `spin -t -T`: the steps of a trace in words. */
#define SAY(text) printf(text, me)

inline request(i, kind)
{
	call[i] = kind; answer[i] = OPEN; answer_ticket[i] = 0; age[i] = 0
}

inline forget_call(i)
{
	call[i] = NONE; answer[i] = OPEN; answer_ticket[i] = 0; age[i] = 0
}

/* The order of the queue matters to FIFO alone; elsewhere a client always asks for a ticket anew, to save states. */
#if defined(CHECK_FIFO) || defined(TIMED)
#define LEARN(i) ticket[i] = answer_ticket[i]
#else
#define LEARN(i) skip
#endif

/* Deadline of the request that was answered: it counts from its send. */
#ifdef MUTANT_deadline_from_answer
#define REST(i) (TTL - MARGIN)
#else
#define REST(i) (age[i] + MARGIN < TTL -> TTL - MARGIN - age[i] : 0)
#endif

inline start_command(i, rest)
{
#ifdef CHECK_OVERLAP
	for (x : 0 .. N - 1) {
		assert(!command[x]);                                /* no overlap */
	}
#endif
	printf("client %d: its command starts, deadline in %d ticks\n", i, rest);
	command[i] = true;
	deadline[i] = rest;
	phase[i] = RUNNING
}

/* Whether the lease is still held is looked at here; the command starts later, and rlock may be frozen in between. */
inline decide_to_start(i, rest)
{
	phase[i] = STARTING;
	deadline[i] = rest
}

inline stop_command(i)
{
	command[i] = false;
	deadline[i] = 0
}

inline gone(i)
{
	phase[i] = DONE; ticket[i] = 0;
	forget_call(i);
#ifdef TIMED
	push[i] = 0; timer[i] = 0; subscribed[i] = false
#endif
}

#ifdef FAULTS
#define A_FAULT      faults < FAULTS
#else
#define A_FAULT      true
#endif
#ifdef TIMED
#define COUNT_FAULT(i) faults++; faulty[i] = true
#elif defined(FAULTS)
#define COUNT_FAULT(i) faults++
#else
#define COUNT_FAULT(i) skip
#endif

#ifdef TIMED
#ifdef MUTANT_no_heartbeat
#define HEARTBEAT_NOW(i)  (ticket[i] == 0 || push[i])
#else
#define HEARTBEAT_NOW(i)  (timer[i] == 0 || push[i])
#endif
#define MAY_RENEW(i) false
#else
#define HEARTBEAT_NOW(i)  true
#define MAY_RENEW(i) true
#endif

/* Which request an answer answers decides from when its deadline counts. */
#ifdef MUTANT_answer_of_another
#define CREDIT(i) if :: call[i] != NONE && answer[i] == OPEN && got == YES -> answer[i] = YES :: else fi
#else
#define CREDIT(i) skip
#endif

proctype client(byte me)
{
	do
	/* -- rlock -- */

	:: d_step { phase[me] == START && rlock[me] == UP ->
		SAY("client %d: begins\n");
		phase[me] = WAITING;
		request(me, TRY) }

	/* Heartbeat, or confirm a hand-off. SUBSCRIBE goes ahead of it in the same flight. */
	:: d_step { phase[me] == WAITING && rlock[me] == UP && call[me] == NONE && HEARTBEAT_NOW(me) ->
		SAY("client %d: sends an acquire that queues\n");
#ifdef TIMED
		push[me] = 0;
#endif
		if
		:: ticket[me] -> request(me, RETURN)
		:: else -> request(me, QUEUE)
		fi }

#ifdef MUTANT_push_is_grant
	/* The command starts on the push, and is confirmed later. */
	:: d_step { phase[me] == WAITING && rlock[me] == UP && call[me] == NONE && push[me] ->
		push[me] = 0;
		start_command(me, TTL - MARGIN) }
#endif

	/* The connection breaks, or an answer does not come in time: the same again on a new one. */
	:: d_step { acts(me) && call[me] != NONE && A_FAULT ->
		COUNT_FAULT(me);
		SAY("client %d: sends its request again\n");
		answer[me] = OPEN; answer_ticket[me] = 0; age[me] = 0 }

	:: d_step { phase[me] == WAITING && rlock[me] == UP && answer[me] != OPEN ->
		SAY("client %d: reads the answer\n");
		assert(answer[me] != TOMBSTONED);
		w = REST(me);
		if
#ifdef MUTANT_late_answer_counts
		:: answer[me] == YES -> w = MAX(w, 1); decide_to_start(me, w)
#else
		:: answer[me] == YES && w > 0 ->
#ifdef RESTARTS
			known[me] = answer_boot[me];
#endif
			decide_to_start(me, w)
#endif
		:: answer[me] == NO && ticket[me] == 0 -> LEARN(me)
		:: else
		fi;
#ifdef TIMED
		/* No ticket yet: queue at once. */
		if
		:: phase[me] == WAITING && ticket[me] -> timer[me] = HEARTBEAT
		:: else -> timer[me] = 0
		fi;
#endif
		forget_call(me) }

	:: d_step { phase[me] == STARTING && rlock[me] == UP ->
		w = MAX(deadline[me], 1);
		start_command(me, w) }

	/* --wait is over, or a signal. */
	:: d_step { phase[me] == WAITING && rlock[me] == UP ->
		SAY("client %d: gives up waiting\n");
		forget_call(me);
		phase[me] = RELEASING }

	:: d_step { command[me] && rlock[me] == UP && call[me] == NONE && MAY_RENEW(me) ->
		SAY("client %d: sends a renewal\n"); request(me, RENEW) }
	:: d_step { command[me] && rlock[me] == UP && call[me] == NONE && MAY_RENEW(me) ->
		SAY("client %d: sends a renewal with a smaller ttl\n"); request(me, RENEW_LOW) }

	:: d_step { command[me] && rlock[me] == UP && answer[me] != OPEN ->
		SAY("client %d: reads the answer\n");
		if
		:: answer[me] == YES && call[me] != RENEW_LOW -> deadline[me] = MAX(deadline[me], REST(me))
		:: answer[me] == YES && call[me] == RENEW_LOW
#ifdef RESTARTS
		:: answer[me] != YES && call[me] != RECLAIM
		:: answer[me] != YES && call[me] == RECLAIM -> stop_command(me); phase[me] = RELEASING
#else
		:: answer[me] != YES -> stop_command(me); phase[me] = RELEASING      /* lost: now, not at the deadline */
#endif
		fi;
#ifdef RESTARTS
		if
		:: answer[me] == YES -> known[me] = answer_boot[me]
		:: else
		fi;
		if
		:: command[me] && answer[me] != YES -> request(me, RECLAIM)
		:: else -> forget_call(me)
		fi }
#else
		forget_call(me) }
#endif

	/* The command ends; the renewal is joined before anything is given back. */
	:: d_step { command[me] && rlock[me] == UP ->
		SAY("client %d: its command ends\n");
		stop_command(me); forget_call(me);
		phase[me] = RELEASING }

	/* It was killed at its deadline, or what should have become it. */
	:: d_step { phase[me] == RUNNING && rlock[me] == UP && !command[me] ->
		SAY("client %d: sees that its command was killed\n");
		forget_call(me);
		phase[me] = RELEASING }

	/* -- rlock, or the guard in its place -- */

	:: d_step { phase[me] == RELEASING && acts(me) && call[me] == NONE ->
		SAY("client %d: sends release\n");
		request(me, RELEASE) }

	:: d_step { phase[me] == RELEASING && acts(me) && answer[me] != OPEN ->
		SAY("client %d: has released\n");
#ifdef CHECK_ANSWER
		assert(answer[me] == tomb[me]);
#endif
		gone(me) }

	/* It gives up: the lease runs out. */
	:: d_step { phase[me] == RELEASING && acts(me) && A_FAULT ->
		SAY("client %d: gives up releasing\n");
		COUNT_FAULT(me);
		gone(me) }

	/* -- the guard -- */

	:: d_step { (phase[me] == STARTING || phase[me] == RUNNING) && rlock[me] == DEAD ->
		SAY("client %d: its guard kills the command\n");
		stop_command(me);
		phase[me] = RELEASING }

	/* -- what befalls rlock -- */

	/* Killed with a guard that sees to the command; killed before there is one: PDEATHSIG alone, nothing given back. */
	:: d_step { rlock[me] == UP && phase[me] != START && phase[me] != DONE && A_FAULT ->
		COUNT_FAULT(me);
		SAY("client %d: killed\n");
		rlock[me] = DEAD;
		forget_call(me);
		if
		:: phase[me] != WAITING
		:: else -> phase[me] = DONE; ticket[me] = 0
		fi }
	:: d_step { rlock[me] == UP && phase[me] != START && phase[me] != DONE && A_FAULT ->
		COUNT_FAULT(me);
		SAY("client %d: killed, the command with it\n");
		rlock[me] = DEAD;
		stop_command(me); gone(me) }

	:: d_step { rlock[me] == UP && phase[me] >= WAITING && phase[me] <= RUNNING && A_FAULT ->
		COUNT_FAULT(me);
		SAY("client %d: frozen\n");
		rlock[me] = FROZEN }
	:: d_step { rlock[me] == FROZEN -> SAY("client %d: resumed\n"); rlock[me] = UP }

	/* The server loses the subscription. A living client notices the broken connection and comes back. */
	:: d_step { subscribed[me] && A_FAULT ->
		COUNT_FAULT(me);
		SAY("client %d: its connection breaks\n");
		subscribed[me] = false;
#ifdef TIMED
		push[me] = 0; timer[me] = 0;
		if
		:: phase[me] == WAITING -> forget_call(me)
		:: else
		fi
#endif
		}

	/* -- the network -- */

	:: d_step { call[me] != NONE && answer[me] == OPEN && rlock[me] != DEAD && phase[me] == WAITING ->
		SAY("client %d: its acquire is executed\n");
		if
		:: call[me] != TRY -> subscribed[me] = true
		:: else
		fi;
		execute(me, call[me]);
		answer[me] = got; answer_ticket[me] = got_ticket;
		close_gaps() }
	:: d_step { call[me] != NONE && answer[me] == OPEN && phase[me] != WAITING ->
		SAY("client %d: its renewal or release is executed\n");
		execute(me, call[me]);
		answer[me] = got }

	/* Late or repeated. Nobody reads the answer. */
	:: d_step { late_acquire(me) && A_FAULT ->
		SAY("client %d: late or repeated acquire without queueing\n");
		COUNT_FAULT(me); execute(me, TRY); CREDIT(me) }
	:: d_step { late_acquire(me) && A_FAULT ->
		SAY("client %d: late or repeated first queueing acquire\n");
		COUNT_FAULT(me); execute(me, QUEUE); CREDIT(me); close_gaps() }
	:: d_step { late_acquire(me) && ticket[me] && A_FAULT ->
		SAY("client %d: late or repeated acquire with its ticket\n");
		COUNT_FAULT(me); execute(me, RETURN); CREDIT(me) }
	:: d_step { late_renew(me) && A_FAULT ->
		SAY("client %d: late or repeated renewal\n");
		COUNT_FAULT(me); execute(me, RENEW); CREDIT(me) }
	:: d_step { late_renew(me) && A_FAULT ->
		SAY("client %d: late or repeated renewal with a smaller ttl\n");
		COUNT_FAULT(me); execute(me, RENEW_LOW); CREDIT(me) }
#ifdef RESTARTS
	:: d_step { late_renew(me) && A_FAULT ->
		SAY("client %d: late or repeated reclaim\n");
		COUNT_FAULT(me); execute(me, RECLAIM) }
#endif
	:: d_step { late_release(me) && A_FAULT ->
		SAY("client %d: late or repeated release\n");
		COUNT_FAULT(me); execute(me, RELEASE); CREDIT(me) }

#ifdef TIMED
	/* A push that ACLs deny, or that is lost, is no broken connection: only the heartbeat finds it. */
	:: d_step { push[me] && faults < FAULTS ->
		SAY("client %d: its push is lost\n");
		faults++; push[me] = 0 }
#endif
	od
}

/* ---------------------------------------------------------------- time */

/* Only where the age of a request matters, to save states. */
#ifdef TIMED
#define AGES(i) call[i] != NONE
#else
#define AGES(i) (call[i] != NONE && (call[i] <= RENEW || call[i] == RECLAIM) && answer[i] != NO)
#endif

#ifdef TIMED
/* Time does not pass while this client, or a message of its, is late. */
#define in_time(i) ( \
	!(acts(i) && call[i] != NONE && age[i] >= DELAY) && \
	!(living(i) && call[i] == NONE && HEARTBEAT_NOW(i) && push[i] != 1) && \
	!(acts(i) && phase[i] == RELEASING && call[i] == NONE) && \
	!(rlock[i] == UP && (phase[i] == STARTING || (phase[i] == RUNNING && !command[i]))) && \
	!(rlock[i] == DEAD && (phase[i] == STARTING || phase[i] == RUNNING)))
#else
#define in_time(i) true
#endif

proctype clock()
{
	do
#if N == 2
	:: d_step { in_time(0) && in_time(1) ->
#else
	:: d_step { in_time(0) && in_time(1) && in_time(2) ->
#endif
#ifdef TIMED
		used = false;
		for (x : 0 .. N - 1) {
			used = used || (living(x) && queued[x] && subscribed[x] && !faulty[x])
		}
		if
		:: used && holder == NOBODY && !OPEN_WINDOW -> idle++
		:: else -> idle = 0
		fi;
#ifdef CHECK_SERVED
		assert(idle <= HEARTBEAT + DELAY);
#endif
#endif
		printf("---- a tick\n");
#ifdef WINDOWS
#ifndef MUTANT_window_endless
		if :: window -> window-- :: else fi;
#endif
#endif
#ifdef RESTARTS
		if :: young -> young-- :: else fi;
#endif
		if
		:: holder < N && lease < 200 ->
			lease--;
			if :: lease == 0 -> printf("        server: %d's lease ends\n", holder); holder = NOBODY :: else fi
		:: else
		fi;
		for (x : 0 .. N - 1) {
			if :: AGES(x) && age[x] < TTL - MARGIN -> age[x]++ :: else fi;
#ifdef CHECK_LEASE
			if :: owed[x] -> owed[x]-- :: else fi;
#endif
			if
			:: command[x] || phase[x] == STARTING ->
				if :: deadline[x] -> deadline[x]-- :: else fi;
#if defined(MUTANT_deadline_ignored)
				skip
#elif defined(MUTANT_frozen_not_killed)
				if :: deadline[x] == 0 && rlock[x] != FROZEN -> stop_command(x); phase[x] = RUNNING :: else fi
#elif defined(MUTANT_start_unwatched)
				if :: deadline[x] == 0 && phase[x] != STARTING -> stop_command(x) :: else fi
#else
				if
				:: deadline[x] == 0 ->
					printf("client %d: its command is killed at the deadline\n", x);
					stop_command(x); phase[x] = RUNNING
				:: else
				fi
#endif
			:: else
			fi;
#ifdef TIMED
			if :: timer[x] -> timer[x]-- :: else fi;
			if :: push[x] == 1 -> push[x] = 2 :: else fi;
			/* Done: it comes again, with a fresh token, of which no message is under way. */
			if
#ifndef ONCE
			:: phase[x] == DONE && rlock[x] == UP && holder != x && queued[x] == 0 ->
				phase[x] = START; tomb[x] = OPEN; faulty[x] = false; subscribed[x] = false;
#ifdef CHECK_FIFO
				due[x] = 0
#endif
#endif
			:: else
			fi
#endif
		}
		}

	/* A server whose clock is fast ends a lease early. */
	:: d_step { holder < N && lease <= SKEW ->
		printf("        server: %d's lease ends early\n", holder);
		holder = NOBODY; lease = 0 }

#ifdef RESTARTS
	/* It ends, and comes back with nothing but its clock. */
	:: d_step { boot < RESTARTS ->
		printf("        server: restarts, and has forgotten all\n");
		boot++;
		young = GRACE; holder = NOBODY; lease = 0;
		for (x : 0 .. N - 1) {
			queued[x] = 0; tomb[x] = OPEN; subscribed[x] = false; outdated[x] = false;
#ifdef CHECK_LEASE
			owed[x] = 0; has_released[x] = false
#endif
		} }
	:: d_step { young && young <= SKEW ->
		printf("        server: its grace ends early\n");
		young = 0 }
#endif

#ifdef WINDOWS
	/* Rlocks have handed the lock over among themselves for long enough. */
	:: d_step { !is_due && windows < WINDOWS ->
		printf("        server: libraries are due\n");
		is_due = true }
#endif

#ifdef WITH_FOREIGN
	/* It takes a free lock past any queue, and lets go without a word. */
	:: d_step { holder == NOBODY ->
		printf("        server: a foreign program takes the lock\n");
		holder = FOREIGN; lease = 0 }
#endif
#if defined(WITH_FOREIGN) || defined(FOREIGN_FIRST)
	:: d_step { holder == FOREIGN -> printf("        server: the foreign holder lets go\n"); holder = NOBODY }
#endif
	od
}

init
{
	atomic {
#ifdef FOREIGN_FIRST
		holder = FOREIGN;
#endif
		run client(0);
		run client(1);
#if N > 2
		run client(2);
#endif
		run clock()
	}
}

#ifdef CHECK_SERVED
#ifdef LTL
ltl served { [] ((rlock[0] == UP && phase[0] == WAITING) -> <> !(rlock[0] == UP && phase[0] == WAITING)) }
#endif
#endif
