/*
 * One lock on a store whose majority orders what it keeps (src/stores/ordered, src/stores/etcd), for spin. README.md says what is in and
 * what is left out. The store is one atomic machine, since its majority is; what is asked of it comes late, twice answered or not at all.
 *
 * A client gets a lease, and then asks for a transaction under it: the first makes its entry, each other one moves it to the
 * new lease. Whoever has no entry ahead, and was told so with its lease, runs its command until its deadline. Time goes in ticks.
 *
 *   ALONE     no two commands run at once
 *   KEPT      an entry whose command runs is there until its deadline
 *   NOBODYS   no entry is made for a client that has left
 *
 * MUTANT_... switches plant one fault each; run.sh lists them with the promise that must break.
 */

#ifndef N
#define N 2             /* clients, each lives once */
#endif
#define L 3             /* leases that each of them asks for at most */
#define TTL 2           /* ticks of a lease; deadline = sent + TTL: the clocks agree */
#ifndef LATE
#define LATE 1          /* requests that their client does not wait for any more when they come, in one run at most */
#endif
#define NOTHING L

/* phases */
#define OUT     0
#define WAITING 1       /* its entry was seen */
#define RUNNING 2
#define LEFT    3       /* its command is dead, its entry deleted and its leases revoked */
#define DEAD    4       /* its command is dead, and nobody tidies up */

#define AT(c, l) ((c) * L + (l))

/* ---- the store ---- */
bit there[N];           /* the entry */
byte order[N], version[N], under[N];            /* the lease that it is under */
bit taken_up[N];        /* its record says that it holds */
byte lease[N * L];      /* ticks left */
byte last_order;

/* ---- requests: the transaction under each lease, until it has been carried out ---- */
bit is_sent[N * L];
byte expects[N * L];    /* the version that it compares with; 0: that there is no entry */
bit takes_up[N * L];
byte late;

/* ---- the clients ---- */
byte phase[N];
byte leases[N];         /* asked for so far */
byte awaited[N] = NOTHING;                      /* the lease whose transaction is waited for */
bit answered[N], moved[N], is_first[N];         /* its answer: it was carried out; nothing is ahead */
byte age[N];            /* ticks since that lease was asked for */
byte known[N];          /* the version */
byte deadline[N];       /* ticks for which the command may run */
byte seen[N];           /* the version of the other's entry when its turn was seen first; 0: it was not */

/* Scratch; see lock.pml. */
#ifdef SHORTEST
#define hidden
#endif
hidden byte x, yes, other, a, b;

inline end_entry(c)
{
	there[c] = 0; under[c] = NOTHING; taken_up[c] = 0
}

inline nothing_ahead(c)
{
	yes = true;
	for (x : 0 .. N - 1) {
		if :: x != c && there[x] && order[x] < order[c] -> yes = false :: else fi
	}
}

inline end_lease(c, l)
{
	lease[AT(c, l)] = 0;
	if :: there[c] && under[c] == l -> end_entry(c) :: else fi
}

/* ---------------------------------------------------------------- what the store does */

inline carry_out(c, l)
{
	is_sent[AT(c, l)] = 0;
	yes = false;
	if
#ifdef MUTANT_grant_with_enter
	:: lease[AT(c, l)] == 0 && expects[AT(c, l)] == 0 && !there[c] -> lease[AT(c, l)] = TTL; yes = true
#endif
	:: lease[AT(c, l)] > 0 && expects[AT(c, l)] == 0 && !there[c] -> yes = true
#ifdef MUTANT_compares_no_version
	:: lease[AT(c, l)] > 0 && expects[AT(c, l)] > 0 && there[c] -> yes = true
#else
	:: lease[AT(c, l)] > 0 && expects[AT(c, l)] > 0 && there[c] && version[c] == expects[AT(c, l)] -> yes = true
#endif
	:: else
	fi;
	if
	:: yes && !there[c] -> last_order++; there[c] = 1; order[c] = last_order
	:: else
	fi;
	if
	:: yes -> version[c]++; under[c] = l; taken_up[c] = takes_up[AT(c, l)];
		printf("        the entry of client %d is under lease %d, version %d\n", c, l, version[c])
	:: else
	fi;
	if
	:: awaited[c] == l -> answered[c] = 1; moved[c] = yes; nothing_ahead(c); is_first[c] = yes && there[c]
	:: else -> late++
	fi
}

/* ---------------------------------------------------------------- what a client does */

inline ask(c)
{
	awaited[c] = leases[c]; age[c] = 0;
#ifdef MUTANT_grant_with_enter
	if :: phase[c] != OUT || there[c] -> lease[AT(c, leases[c])] = TTL :: else fi;
#else
	lease[AT(c, leases[c])] = TTL;
#endif
	is_sent[AT(c, leases[c])] = 1;
	expects[AT(c, leases[c])] = known[c];
	nothing_ahead(c);
	takes_up[AT(c, leases[c])] = yes;
	leases[c]++
}

inline hear(c)
{
	answered[c] = 0;
	if
	:: moved[c] ->
		known[c] = version[c];
		/* Nothing of ours can come any more that would move it back. */
		for (x : 0 .. L - 1) { if :: x < awaited[c] -> end_lease(c, x) :: else fi };
#ifdef MUTANT_counts_from_answer
		age[c] = 0;
#endif
		if
		:: is_first[c] && takes_up[AT(c, awaited[c])] && age[c] < TTL ->
			phase[c] = RUNNING; deadline[c] = TTL - age[c];
			printf("client %d runs for %d ticks\n", c, deadline[c])
		:: else -> if :: phase[c] == OUT -> phase[c] = WAITING :: else fi
		fi
	:: !moved[c] && there[c] -> known[c] = version[c]        /* an earlier one came through: the next expects this */
	:: else -> known[c] = 0
	fi;
	awaited[c] = NOTHING
}

inline leave(c)
{
	end_entry(c);
	for (x : 0 .. L - 1) { end_lease(c, x) };
	phase[c] = LEFT; awaited[c] = NOTHING; answered[c] = 0; deadline[c] = 0;
	printf("client %d leaves\n", c)
}

active [N] proctype client()
{
	byte c = _pid;
	end: do
	:: atomic { phase[c] < LEFT && awaited[c] == NOTHING && leases[c] < L -> ask(c) }
	:: atomic { awaited[c] != NOTHING && answered[c] -> hear(c) }
	/* no answer in time */
	:: atomic { awaited[c] != NOTHING && !answered[c] && late < LATE -> awaited[c] = NOTHING }
#ifdef MUTANT_proof_by_keepalive
	/* A member answers that the lease lasts, which no majority has decided. */
	:: atomic { phase[c] == RUNNING && lease[AT(c, under[c])] > 0 -> deadline[c] = TTL }
#endif
	:: atomic { phase[c] < LEFT && phase[c] != OUT -> leave(c) }
	:: atomic { phase[c] == OUT && leases[c] > 0 -> leave(c) }
	:: atomic { phase[c] < LEFT && leases[c] > 0 -> phase[c] = DEAD; deadline[c] = 0; awaited[c] = NOTHING; answered[c] = 0 }
	/* a claim: the other one has its turn, and does not take it up */
	:: atomic { phase[c] == WAITING && there[c] ->
		other = (c + 1) % N;
		if
		:: there[other] && order[other] < order[c] && !taken_up[other] && seen[c] == 0 -> seen[c] = version[other]
#ifdef MUTANT_claim_blind
		:: there[other] && order[other] < order[c] && seen[c] > 0 -> end_entry(other); seen[c] = 0
#else
		:: there[other] && order[other] < order[c] && seen[c] == version[other] -> end_entry(other); seen[c] = 0
#endif
		:: else -> seen[c] = 0
		fi }
	od
}

#define MAY_COME(c, l) (is_sent[AT(c, l)] && (awaited[c] == l || late < LATE))

active proctype store()
{
	end: do
	:: atomic { MAY_COME(0, 0) -> carry_out(0, 0) }
	:: atomic { MAY_COME(0, 1) -> carry_out(0, 1) }
	:: atomic { MAY_COME(0, 2) -> carry_out(0, 2) }
	:: atomic { MAY_COME(1, 0) -> carry_out(1, 0) }
	:: atomic { MAY_COME(1, 1) -> carry_out(1, 1) }
	:: atomic { MAY_COME(1, 2) -> carry_out(1, 2) }
	od
}

/* Time never passes a deadline: the command is dead then. */
active proctype time()
{
	end: do
	:: atomic {
		for (a : 0 .. N - 1) {
			if :: deadline[a] > 0 -> deadline[a]-- :: else fi;
			if :: phase[a] == RUNNING && deadline[a] == 0 -> phase[a] = WAITING :: else fi;
			if :: awaited[a] != NOTHING && age[a] < TTL -> age[a]++ :: else fi;
			for (b : 0 .. L - 1) {
				if :: lease[AT(a, b)] == 1 -> end_lease(a, b) :: lease[AT(a, b)] > 1 -> lease[AT(a, b)]-- :: else fi
			}
		} }
	od
}

#define ALONE (!(phase[0] == RUNNING && phase[1] == RUNNING))
#define KEPT(c) (phase[c] != RUNNING || there[c])
#define NOBODYS(c) (phase[c] != LEFT || !there[c])
#define PROMISE (ALONE && KEPT(0) && KEPT(1) && NOBODYS(0) && NOBODYS(1))

active proctype promise()
{
	end: atomic { !(PROMISE) -> assert(false) }
}
