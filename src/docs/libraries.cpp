#include "docs/libraries.hpp"

namespace rlock::docs {

std::string locks_of_other_libraries() {
  return R"(.Sh LOCKS OF OTHER LIBRARIES
.Ss Locks that are a string
A library that locks with SET NX PX and deletes the key only where it has its own token in it, and
.Nm
exclude each other, if
.Fl \-prefix
and KEY are together the name of its key:
.Bl -tag -width Ds
.It redsync, bsm/redislock, node-redlock, rslock, redis-py
.Fl \-prefix Ar \(aq\(aq :
the name as it stands.
.It pottery: Redlock(key=NAME)
.Fl \-prefix Ar redlock: .
.It python-redis-lock: Lock(client, NAME)
.Fl \-prefix Ar lock: .
Its waiters sleep until they are told, and are told when
.Nm
releases and no other
.Nm
waits.
When a lease of
.Nm
ends by itself nobody tells them: they look when their own
.Li expire
is over, and without one never.
.It redis-semaphore of Node: Mutex(client, NAME)
.Fl \-prefix Ar mutex: .
Its semaphores, the sorted sets
.Li semaphore:NAME ,
are not shared: to
.Nm
they are busy, and they fail while
.Nm
has the key.
.It ShedLock: NAME in the environment ENV
.Fl \-prefix Ar job\-lock:ENV: ,
where ENV is
.Li default
if none is given.
At the end of a job it deletes the key, whosever it is by then: a job that takes longer than its
.Li lockAtMostFor
deletes the lock of
.Nm ,
which stops its COMMAND.
.It Spring: RedisLockRegistry(REGISTRY).obtain(KEY)
.Fl \-prefix Ar REGISTRY: .
Who sleeps for it
.Li ( PUB_SUB_LOCK )
is told when
.Nm
releases, as far as there are at most four colons before KEY.
.El
.Pp
Do not share the key of a library that writes a time into it, as redis\-objects of Ruby does and the old recipe of SETNX and GETSET:
it takes a token for a time that has passed, and steals the lock.
.Ss Redisson
Under
.Fl \-compat Ar redisson
KEY is an
.Li RLock
of Redisson, that of
.Li getLock("KEY")
where
.Fl \-prefix
is empty:
.Bd -literal -offset indent
rlock run \-\-compat redisson \-\-prefix \(aq\(aq orders \-\- ./reindex.sh
.Ed
.Pp
Services that lock it and
.Nm
exclude each other, and each is woken when the other releases.
.Nm
keeps its own queue, and while services sleep for the lock leaves it free for them every now and then.
All who lock KEY with
.Nm
need the option; who lacks it is told that KEY is busy, and why.
COMMAND finds it as
.Ev RLOCK_COMPAT .
.Cm status
without a KEY is about plain locks, and shows such a lock as one of another program.
.Pp
The lock of
.Li getSpinLock
is shared too, and so is that of
.Li getFencedLock ,
apart from its tokens, which have nothing to do with fences.
A fair lock
.Li ( getFairLock )
excludes, but its waiters are not woken before the ttl that they have seen ends, and their order is not kept.
Each lock of a
.Li getMultiLock
counts for itself.
A name that
.Li getReadWriteLock
uses must not be locked otherwise: a reader takes an
.Li RLock
that somebody holds, also from Redisson itself.
)";
}

}  // namespace rlock::docs
