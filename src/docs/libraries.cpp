#include "docs/libraries.hpp"

namespace rlock::docs {

std::string locks_of_other_libraries() {
  return R"(.Sh LOCKS OF OTHER LIBRARIES
.Ss Locks that are a string
.Nm
and a library that locks with SET NX PX, and deletes the key only if its own token is still in it, exclude each other if
.Fl \-prefix
and KEY together are the name of the library's key:
.Bl -tag -width Ds
.It redsync, bsm/redislock, node-redlock, rslock, redis-py
.Fl \-prefix Ar \(aq\(aq :
the name as it stands.
.It pottery: Redlock(key=NAME)
.Fl \-prefix Ar redlock: .
.It python-redis-lock: Lock(client, NAME)
.Fl \-prefix Ar lock: .
Its waiters sleep until they get a message, which
.Nm
sends when it releases and no other
.Nm
waits.
When a lease of
.Nm
expires, nobody sends one: they look again after their own
.Li expire ,
or never if they have none.
.It redis-semaphore of Node: Mutex(client, NAME)
.Fl \-prefix Ar mutex: .
Its semaphores, the sorted sets
.Li semaphore:NAME ,
are not shared:
.Nm
finds them busy, and they fail while
.Nm
has the key.
.It ShedLock: NAME in the environment ENV
.Fl \-prefix Ar job\-lock:ENV: ,
where ENV is
.Li default
if none is given.
At the end of a job ShedLock deletes the key, even if another client has it by then.
So a job that takes longer than its
.Li lockAtMostFor
can delete the lock of an
.Nm ,
which then stops its COMMAND.
.It Spring: RedisLockRegistry(REGISTRY).obtain(KEY)
.Fl \-prefix Ar REGISTRY: .
Its waiters that sleep
.Li ( PUB_SUB_LOCK )
are told when
.Nm
releases, if there are at most four colons before KEY.
.El
.Pp
Do not share a key with a library that writes a time into it, such as redis\-objects of Ruby or the old recipe of SETNX and GETSET.
It takes the token of
.Nm
for a time in the past, and steals the lock.
.Ss Redisson
Under
.Fl \-compat Ar redisson
KEY is an
.Li RLock
of Redisson; if
.Fl \-prefix
is empty, the one of
.Li getLock("KEY") :
.Bd -literal -offset indent
rlock run \-\-compat redisson \-\-prefix \(aq\(aq orders \-\- ./reindex.sh
.Ed
.Pp
.Nm
and services that lock it exclude each other, and each is woken when the other releases.
.Nm
keeps its own queue; while services sleep for the lock, it leaves the lock free for them from time to time.
Each
.Nm
that locks KEY needs the option; without it, KEY is busy, and the message says why.
.Cm renew
and
.Cm release
need it too, as they need the same
.Fl \-prefix ;
COMMAND finds both in its environment.
.Fl \-shared
and
.Fl \-slots
do not go with it.
.Cm status
without a KEY lists plain locks, and shows an RLock as a lock of another program.
.Pp
The lock of
.Li getSpinLock
is shared too, and so is that of
.Li getFencedLock ,
apart from its tokens, which have nothing to do with fences.
A fair lock
.Li ( getFairLock )
and
.Nm
exclude each other, but its waiters sleep until the ttl that they have seen is over, and their order is not kept.
The locks in a
.Li getMultiLock
are single locks to
.Nm .
Do not use the name of a
.Li getReadWriteLock
for another kind of lock: its readers acquire an
.Li RLock
that another client holds, even one of Redisson.
)";
}

}  // namespace rlock::docs
