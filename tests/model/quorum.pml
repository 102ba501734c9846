/*
 * One lock on S servers, held by whoever has the votes of Q of them, for spin. README.md says what is in and what is left
 * out. What one server does with one client is in lock.pml; here a server is little more than a holder and its lease.
 *
 * Every request may be executed late, lost, or answered late; one that was sent may be executed again at any time. Servers
 * restart and forget their holders and who released. Time goes in ticks; the clocks agree.
 *
 *   CHECK_OVERLAP   no two commands run at once
 *   CHECK_FENCE     each command that starts has a larger fence than all that started before it
 *
 * MUTANT_… switches plant one fault each; run.sh lists them with the promise that must break.
 */

#define S 3
#define Q 2
#ifndef N
#define N 2             /* clients, each lives once */
#endif
#ifndef LONG
#define LONG 2          /* ttl of client 0, in ticks */
#endif
#ifndef SHORT
#define SHORT 1         /* of the others */
#endif
#ifndef RESTARTS
#define RESTARTS 0      /* of servers, in one run at most */
#endif
#ifndef LATE
#define LATE 1          /* requests that are executed when nobody waits for them any more, in one run at most */
#endif
#define MAX_FENCE 4     /* a server gives out no more: runs beyond it are not looked at */

#define TTL(c) ((c) == 0 -> LONG : SHORT)

/* For how long after its restart a server has no vote. */
#if defined(MUTANT_young_votes)
#define YOUNG(c) 0
#elif defined(MUTANT_young_by_own_ttl)
#define YOUNG(c) TTL(c)
#else
#define YOUNG(c) LONG
#endif

#define NOBODY N        /* holder */
#define AT(c, s) ((c) * S + (s))

/* requests */
#define NONE    0
#define ACQUIRE 1
#define RENEW   2       /* takes an empty server back */
#define RAISE   3
#define RELEASE 4

/* phases */
#define VOTING  0
#define RUNNING 1
#define DONE    2       /* the command is dead; its releases come at any time, or never */

/* ---- the servers ---- */
byte holder[S];
byte lease[S];          /* ticks */
byte age[S];            /* ticks since the restart; LONG at most */
byte restarts;

/* ---- the clients ---- */
byte phase[N];
byte vote[N * S];       /* D: ticks for which this server's vote counts; 0: it has none */
byte pending[N * S];    /* the request to this server that went unanswered and may still come */
bit silenced[N * S];    /* it is a release or a renewal: the token asks this server for no vote any more */
byte call[N], to[N], sent[N];                   /* a request that was granted, and whose answer is on its way; sent:
                                                   ticks ago */
byte late;

#ifdef CHECK_FENCE
byte last[S];
byte got_fence[N];      /* in the answer */
byte fence[N];          /* the largest of all votes */
bit raised[N * S];      /* the server held the token and has last >= fence */
byte last_started;
#endif

/* Scratch; see lock.pml. */
#ifdef SHORTEST
#define hidden
#endif
hidden byte x, y, votes, running, yes;

#define MAX(a, b) ((a) > (b) -> (a) : (b))

inline count_votes(c)
{
	votes = 0;
	for (x : 0 .. S - 1) {
#ifdef CHECK_FENCE
		if :: vote[AT(c, x)] && (raised[AT(c, x)] || phase[c] == RUNNING) -> votes++ :: else fi
#else
		if :: vote[AT(c, x)] -> votes++ :: else fi
#endif
	}
}

/* ---------------------------------------------------------------- what a server does */

#ifdef CHECK_FENCE
#define MORE_FENCES(s) (last[s] < MAX_FENCE)
#else
#define MORE_FENCES(s) true
#endif

inline grant(c, s)
{
	holder[s] = c; lease[s] = TTL(c);
#ifdef CHECK_FENCE
	last[s]++;
#endif
	printf("        server %d: held by client %d for %d ticks\n", s, c, lease[s])
}

/* Sets `yes`. */
inline execute(c, s, kind)
{
	if
	:: holder[s] == c && (kind == ACQUIRE || kind == RENEW) -> lease[s] = MAX(lease[s], TTL(c)); yes = true
	:: holder[s] == NOBODY && kind == ACQUIRE && MORE_FENCES(s) ->
		if
		:: age[s] >= YOUNG(c) -> grant(c, s); yes = true
		:: else -> yes = false
		fi
	:: holder[s] == NOBODY && kind == RENEW -> grant(c, s); yes = true
#ifdef CHECK_FENCE
#ifdef MUTANT_raise_anywhere
	:: kind == RAISE -> last[s] = MAX(last[s], fence[c]); yes = true
#else
	:: kind == RAISE && holder[s] == c -> last[s] = MAX(last[s], fence[c]); yes = true
#endif
#endif
	:: holder[s] == c && kind == RELEASE ->
		printf("        server %d: released by client %d\n", s, c);
		holder[s] = NOBODY; lease[s] = 0; yes = true
	:: else -> yes = false
	fi
}

/* ---------------------------------------------------------------- what a client does */

inline forget_call(c) { call[c] = NONE; to[c] = 0; sent[c] = 0 }

inline forget_client(c)
{
	for (x : 0 .. S - 1) { vote[AT(c, x)] = 0; silenced[AT(c, x)] = 0 };
	forget_call(c)
}

/* Executed as soon as it is sent: a request that is executed later is worth less, since D counts from the send. One that
 * is refused takes no time at all: until then its vote counts as it did. */
inline ask(c, s, kind)
{
	execute(c, s, kind);
	if
	:: yes ->
#ifdef CHECK_FENCE
		if :: kind == ACQUIRE -> got_fence[c] = last[s] :: else fi;
#endif
		call[c] = kind; to[c] = s; printf("client %d: sends %d to server %d\n", c, kind, s)
	:: !yes && kind == RENEW -> vote[AT(c, s)] = 0
	:: else
	fi
}

inline gets_vote(c, s)
{
	vote[AT(c, s)] = MAX(vote[AT(c, s)], TTL(c) - sent[c]);
#ifdef CHECK_FENCE
	if
	:: got_fence[c] > fence[c] ->
		fence[c] = got_fence[c];
		for (y : 0 .. S - 1) { raised[AT(c, y)] = 0 }
	:: else
	fi;
	if :: last[s] >= fence[c] && got_fence[c] == fence[c] -> raised[AT(c, s)] = 1 :: else fi;
	got_fence[c] = 0
#endif
}

inline silence(c, s)
{
#ifndef MUTANT_token_goes_on
	silenced[AT(c, s)] = 1
#else
	skip
#endif
}

inline stays_out(c, s, kind)
{
	late++;
	pending[AT(c, s)] = kind;
	if :: kind != ACQUIRE -> silence(c, s) :: else fi
}

inline comes_late(c, s)
{
	printf("client %d: a late %d at server %d\n", c, pending[AT(c, s)], s);
	execute(c, s, pending[AT(c, s)]);
	pending[AT(c, s)] = NONE
}

inline release_vote(c, s)
{
	printf("client %d: gives server %d back\n", c, s);
	vote[AT(c, s)] = 0;
#ifdef CHECK_FENCE
	raised[AT(c, s)] = 0
#endif
}

#ifdef MUTANT_taken_back_late
#define RENEWS(s) RENEW
#else
#define RENEWS(s) (vote[AT(me, s)] -> RENEW : ACQUIRE)
#endif
#define MAY_STAY_OUT(s) (phase[me] != DONE && call[me] == NONE && late < LATE && !silenced[AT(me, s)] && \
	(phase[me] == RUNNING || !vote[AT(me, s)]))

proctype client(byte me)
{
	byte s;
end:	do
	/* -- asking -- */
	:: d_step { phase[me] == VOTING && call[me] == NONE && !vote[AT(me, 0)] && !silenced[AT(me, 0)] -> ask(me, 0, ACQUIRE) }
	:: d_step { phase[me] == VOTING && call[me] == NONE && !vote[AT(me, 1)] && !silenced[AT(me, 1)] -> ask(me, 1, ACQUIRE) }
	:: d_step { phase[me] == VOTING && call[me] == NONE && !vote[AT(me, 2)] && !silenced[AT(me, 2)] -> ask(me, 2, ACQUIRE) }

	/* A holder renews each server for itself. Where it has no vote, it may still win one. */
	:: d_step { phase[me] == RUNNING && call[me] == NONE && (vote[AT(me, 0)] || !silenced[AT(me, 0)]) -> ask(me, 0, RENEWS(0)) }
	:: d_step { phase[me] == RUNNING && call[me] == NONE && (vote[AT(me, 1)] || !silenced[AT(me, 1)]) -> ask(me, 1, RENEWS(1)) }
	:: d_step { phase[me] == RUNNING && call[me] == NONE && (vote[AT(me, 2)] || !silenced[AT(me, 2)]) -> ask(me, 2, RENEWS(2)) }

#ifdef CHECK_FENCE
#ifdef MUTANT_raise_anywhere
#define MAY_RAISE(s) (fence[me] && !raised[AT(me, s)])
#else
#define MAY_RAISE(s) (vote[AT(me, s)] && !raised[AT(me, s)])
#endif
	:: d_step { phase[me] == VOTING && call[me] == NONE && MAY_RAISE(0) -> ask(me, 0, RAISE) }
	:: d_step { phase[me] == VOTING && call[me] == NONE && MAY_RAISE(1) -> ask(me, 1, RAISE) }
	:: d_step { phase[me] == VOTING && call[me] == NONE && MAY_RAISE(2) -> ask(me, 2, RAISE) }
#endif

	/* -- the network -- */
	:: d_step { call[me] != NONE ->
		s = to[me];
		printf("client %d: answer from server %d\n", me, s);
		if
#ifdef CHECK_FENCE
		:: call[me] == RAISE -> raised[AT(me, s)] = 1
#endif
		:: call[me] == ACQUIRE -> gets_vote(me, s)
#ifdef MUTANT_taken_back_late
		:: call[me] == RENEW -> gets_vote(me, s)
#else
		/* It may have been empty: then the vote goes on, where it has not ended. */
		:: call[me] == RENEW && vote[AT(me, s)] -> gets_vote(me, s)
		:: call[me] == RENEW && !vote[AT(me, s)] -> silence(me, s)
#endif
		fi;
		forget_call(me);
		s = 0 }
	:: d_step { call[me] != NONE ->
		printf("client %d: the answer is lost\n", me);
		if :: call[me] == RENEW -> silence(me, to[me]) :: else fi;
		forget_call(me) }

	/* It goes out, and is executed later, when nobody waits for its answer any more. */
	:: d_step { MAY_STAY_OUT(0) -> stays_out(me, 0, (vote[AT(me, 0)] -> RENEW : ACQUIRE)) }
	:: d_step { MAY_STAY_OUT(1) -> stays_out(me, 1, (vote[AT(me, 1)] -> RENEW : ACQUIRE)) }
	:: d_step { MAY_STAY_OUT(2) -> stays_out(me, 2, (vote[AT(me, 2)] -> RENEW : ACQUIRE)) }
	:: d_step { pending[AT(me, 0)] -> comes_late(me, 0) }
	:: d_step { pending[AT(me, 1)] -> comes_late(me, 1) }
	:: d_step { pending[AT(me, 2)] -> comes_late(me, 2) }

	/* -- giving back what lies behind the gap -- */

	/* On the connection of the acquire, which still stands: what is sent later is executed later. */
	:: d_step { phase[me] == VOTING && call[me] == NONE && vote[AT(me, 0)] -> release_vote(me, 0); execute(me, 0, RELEASE) }
	:: d_step { phase[me] == VOTING && call[me] == NONE && vote[AT(me, 1)] -> release_vote(me, 1); execute(me, 1, RELEASE) }
	:: d_step { phase[me] == VOTING && call[me] == NONE && vote[AT(me, 2)] -> release_vote(me, 2); execute(me, 2, RELEASE) }
	/* On a connection that breaks. */
	:: d_step { phase[me] == VOTING && call[me] == NONE && vote[AT(me, 0)] && late < LATE ->
		release_vote(me, 0); stays_out(me, 0, RELEASE) }
	:: d_step { phase[me] == VOTING && call[me] == NONE && vote[AT(me, 1)] && late < LATE ->
		release_vote(me, 1); stays_out(me, 1, RELEASE) }
	:: d_step { phase[me] == VOTING && call[me] == NONE && vote[AT(me, 2)] && late < LATE ->
		release_vote(me, 2); stays_out(me, 2, RELEASE) }

	/* -- the command -- */
	:: d_step { phase[me] == VOTING ->
		count_votes(me);
#ifdef MUTANT_minority
		votes++;
#endif
#if defined(MUTANT_no_raise) || defined(MUTANT_raise_anywhere)
		votes = 0; yes = 0;
		for (x : 0 .. S - 1) {
			if :: vote[AT(me, x)] -> votes++ :: else fi;
			if :: raised[AT(me, x)] -> yes++ :: else fi
		};
#ifdef MUTANT_raise_anywhere
		if :: yes < Q -> votes = 0 :: else fi
#endif
#endif
		if
		:: votes >= Q ->
			printf("client %d: its command starts\n", me);
			forget_call(me);
			phase[me] = RUNNING;
#ifdef CHECK_OVERLAP
			running = 0;
			for (x : 0 .. N - 1) { if :: phase[x] == RUNNING -> running++ :: else fi };
			assert(running == 1)
#endif
#ifdef CHECK_FENCE
			assert(fence[me] > last_started);
			last_started = fence[me]
#endif
		:: else
		fi }
	:: d_step { phase[me] == RUNNING -> printf("client %d: its command ends\n", me); phase[me] = DONE; forget_client(me) }
	:: d_step { phase[me] == DONE && holder[0] == me -> execute(me, 0, RELEASE) }
	:: d_step { phase[me] == DONE && holder[1] == me -> execute(me, 1, RELEASE) }
	:: d_step { phase[me] == DONE && holder[2] == me -> execute(me, 2, RELEASE) }
	od
}

/* ---------------------------------------------------------------- time, and what befalls servers */

inline restart(s)
{
	printf("        server %d: restarts, and knows nothing\n", s);
	restarts++; holder[s] = NOBODY; lease[s] = 0; age[s] = 0
}

proctype world()
{
end:	do
	:: d_step { true ->
		printf("---- a tick\n");
		for (x : 0 .. N * S - 1) { if :: vote[x] -> vote[x]-- :: else fi };
		for (y : 0 .. N - 1) {
			if
			:: call[y] != NONE ->
				sent[y]++;
				if :: sent[y] == TTL(y) -> if :: call[y] == RENEW -> silence(y, to[y]) :: else fi; forget_call(y) :: else fi
			:: else
			fi;
			if
			:: phase[y] == RUNNING ->
				count_votes(y);
				if
				:: votes < Q -> printf("client %d: killed at its deadline\n", y); phase[y] = DONE; forget_client(y)
				:: else
				fi
			:: else
			fi
		}
		for (x : 0 .. S - 1) {
			if :: lease[x] -> lease[x]--; if :: lease[x] == 0 -> holder[x] = NOBODY :: else fi :: else fi;
			if :: age[x] < LONG -> age[x]++ :: else fi
		};
		x = 0 }
	:: d_step { restarts < RESTARTS -> restart(0) }
	:: d_step { restarts < RESTARTS -> restart(1) }
	:: d_step { restarts < RESTARTS -> restart(2) }
	od
}

init
{
	atomic {
		for (x : 0 .. S - 1) { age[x] = LONG; holder[x] = NOBODY };
#ifdef CHECK_FENCE
		last[0] = 2;
#endif
		run client(0);
		run client(1);
#if N > 2
		run client(2);
#endif
		run world()
	}
}
