#include "docs/libraries.hpp"

namespace rlock::docs {

std::string locks_of_other_libraries() {
  return R"(.Sh LOCKS OF OTHER LIBRARIES
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
