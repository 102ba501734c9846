#include <string>
#include <vector>

#include "base/exit_status.hpp"
#include "cli/help.hpp"
#include "cli/option_table.hpp"
#include "docs/docs.hpp"
#include "docs/libraries.hpp"

namespace rlock::docs {
namespace {

using cli::Group;

// Text as mdoc takes it: no escapes, no macro at the start of a line.
std::string plain(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (result.empty() && (c == '.' || c == '\'')) result += "\\&";
    result += c == '\\' ? std::string("\\e") : c == '-' ? "\\-" : c == '\'' ? "\\(aq" : std::string(1, c);
  }
  return result;
}

// The same as arguments of a macro: a word that could be a macro's name, or closes a sentence, is none there.
std::string argument(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const auto word = text.substr(i, text.find(' ', i) - i);
    result += (result.empty() ? "" : " ") + ("\"" + plain(word) + "\"");
    i += word.size() + 1;
  }
  return result;
}

// A line a sentence would be too long for some; a line a text will do for man.
std::string options_of(Group group) {
  std::string entries;
  for (const auto& row : cli::option_table()) {
    if (row.group != group) continue;
    entries += ".It";
    if (row.letter != '\0') entries += std::string(" Fl ") + row.letter + " ,";
    entries += " Fl \\-" + std::string(row.name);
    if (!row.value.empty()) entries += " Ar " + argument(row.value);
    entries += "\n";
    if (row.verbs != cli::every_verb) {
      std::string verbs;
      for (const auto& verb : cli::verb_table()) {
        if ((verb.bit & row.verbs) != 0) verbs += (verbs.empty() ? "" : ", ") + std::string(verb.name);
      }
      entries += "(" + verbs + ")\n";
    }
    entries += plain(row.help) + ".\n";
    if (!row.default_text.empty()) entries += "The default is " + plain(row.default_text) + ".\n";
    if (!row.environment.empty()) entries += "In the environment:\n.Ev " + std::string(row.environment) + " .\n";
  }
  return ".Ss " + std::string(group_title(group)) + "\n.Bl -tag -width Ds\n" + entries + ".El\n";
}

std::string not_in_files() {
  std::vector<std::string> names;
  for (const auto& row : cli::option_table()) {
    if (row.sources == cli::Sources::command_line) names.push_back(".Fl \\-" + plain(row.name));
  }
  std::string text = "A file cannot set\n";
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i + 1 == names.size()) text += "or\n";
    text += names[i] + (i + 2 < names.size() ? " ,\n" : i + 1 < names.size() ? "\n" : " .\n");
  }
  return text;
}

std::string environment() {
  std::string text =
      ".Sh ENVIRONMENT\nAn option of the command line beats the environment, which beats the files.\n"
      ".Bl -tag -width Ds\n";
  for (const auto& row : cli::option_table()) {
    if (row.environment.empty()) continue;
    text += ".It Ev " + std::string(row.environment) + "\nAs\n.Fl \\-" + std::string(row.name) + " .\n";
  }
  return text + R"(.It Ev REDISCLI_AUTH
The password where neither the URL nor a file has one.
.It Ev RLOCK_KEY , RLOCK_TOKEN
KEY and TOKEN of
.Cm renew
and
.Cm release
where they are not given.
.El
.Pp
TOKEN
.Ar \-
is read from standard input, so that no list of processes shows it.
.Pp
COMMAND finds
.Ev RLOCK_KEY ,
.Ev RLOCK_TOKEN ,
.Ev RLOCK_FENCE ,
.Ev RLOCK_TTL ,
.Ev RLOCK_PREFIX ,
.Ev RLOCK_SERVER
without its password, and
.Ev RLOCK_PASSWORD_FILE
and
.Ev RLOCK_COMPAT
where there is one, so that an
.Nm
inside meets the same lock.
With
.Fl \-with
it also finds
.Ev RLOCK_KEYS ,
.Ev RLOCK_TOKENS
and
.Ev RLOCK_FENCES ,
which have a line for each key: first KEY, then the others in the order of
.Fl \-with ,
then, in a nested run, those of the runs around it.
All keys that a run has acquired have the same token.
)";
}

std::string servers() {
  return R"(.Sh SERVERS
The URL tells what keeps the lock.
Without a port it is 6379, of a Sentinel 26379.
An IPv6 address stands in [].
.Bl -tag -width Ds
.It Li redis://host[:port][/db] , unix:///path[?db=N]
One server.
.It Li redis+sentinel://host[:port],.../master[/db]
The master that the Sentinels know by the name
.Li master .
rlock follows a failover.
Sentinels that want a password get that of the servers, or one of their own by
.Li ?sentinel_password_file=FILE
and
.Li &sentinel_user=USER .
.It Li redis+cluster://host[:port],...
A Cluster.
One node that answers is enough: it names the others.
.It Li URL,URL,URL
3 to 7 independent servers, each redis://, rediss:// or unix://.
The lock is held while a majority of them has it.
A server that started a moment ago may have forgotten a lock, and does not count until it has been up for
.Fl \-grace
(30s where that is not given), and for the ttl.
.It Li local
A private server of this user on this machine, started when needed.
.It Li rediss:// , rediss+sentinel:// , rediss+cluster://
The same over TLS 1.2 or later.
The certificate of the server has to name, in its subjectAltName, the host of the URL, or the host that Sentinels or other nodes name.
It has to be signed by an authority that the machine trusts, or by one in
.Li ?cacert=FILE .
Where the server wants a certificate, give
.Li ?cert=FILE&key=FILE .
.El
.Pp
A user and a password stand before the host:
.Li redis://secret@host
and
.Li redis://:secret@host
give the password of the default user,
.Li redis://ann:secret@host
that of ann, and
.Li redis://ann:@host
is ann with a password from elsewhere.
In a password write %25 for %, %2F for / and %3F for ?.
)";
}

}  // namespace

std::string man_page() {
  std::string text = R"(.\" Written by rlock-docs from src/cli/option_table.cpp. Do not edit.
.Dd November 21, 2026
.Dt RLOCK 1
.Os
.Sh NAME
.Nm rlock
.Nd hold a lock on a Redis or Valkey server while a command runs
.Sh SYNOPSIS
)";
  for (const auto& verb : cli::verb_table()) {
    text += ".Nm\n.Cm " + std::string(verb.name) + "\n.Op Ar OPTIONS\n.Ar " + argument(verb.words_text) + "\n";
  }
  text += R"(.Nm
.Cm help
.Op Ar VERB
.Sh DESCRIPTION
.Nm
keeps a job to one at a time across many machines.
A second rlock waits, in order of arrival, or gives up.
The lease is renewed while COMMAND runs; if it cannot be renewed, COMMAND is stopped before anybody else can acquire the lock.
Each lock carries a fencing number that grows.
.Bl -tag -width Ds
)";
  for (const auto& verb : cli::verb_table()) {
    text += ".It Cm " + std::string(verb.name) + "\n" + plain(verb.help) + ".\n";
  }
  text += R"(.El
.Sh OPTIONS
Durations are 500ms, 30s, 5m or 1h30m; a bare number is seconds.
Options of
.Cm run
stand before KEY.
)";
  for (const auto group : {Group::lock, Group::waiting, Group::command, Group::server, Group::output}) {
    text += options_of(group);
  }
  text += R"(.Ss Help
.Bl -tag -width Ds
.It Fl h , Fl \-help
Print the options of a verb, or the verbs.
.It Fl V , Fl \-version
Print the version.
.El
)";
  text += servers();
  text += locks_of_other_libraries();
  text += environment();
  text += R"(.Sh JSON
.Li version
is 1.
It grows when a field is removed or changes its meaning, not when one is added.
Fields that end in _ms are milliseconds;
.Li since
is UTC, as in 2026-11-21T18:19:17Z.
.Bl -tag -width Ds
.It Cm acquire Fl \-json
.Li version , key , token , fence , ttl_ms .
.It Cm status Fl \-json Ar KEY
.Li version , key , held , holders
(none where held is false),
.Li waiting
(how many) and
.Li waiters
(the first thousand, in order).
With several independent servers also
.Li servers
(how many) and
.Li votes
(how many of them say the same of the holder).
A held lock has
.Li mode :
exclusive, shared or slots; in mode slots also
.Li slots ,
how many there are.
Each waiter has these, too.
.Li last_run
is null if no run is known.
.It Cm status Fl \-json
.Li version
and
.Li locks ,
a list of such objects.
.It holder
.Li host , pid , user , since , held_ms , fence , ttl_ms
(null: without an end), and
.Li command
under
.Fl \-show\-command .
.Li hold
is true if its command has ended and
.Fl \-hold
keeps the lock for another
.Li ttl_ms .
Of another library:
.Li foreign
(true) and
.Li ttl_ms
alone.
Of another version of
.Nm :
.Li ttl_ms
alone.
.It waiter
.Li host , pid , user , since , waiting_ms ,
and
.Li command
under
.Fl \-show\-command .
Of another version of
.Nm :
.Li since
and
.Li waiting_ms
alone.
.It last_run
.Li host , pid , user , started , ended
(UTC, by the server's clock),
.Li took_ms , exit_status
(that of
.Nm ) ,
.Li signal
(if one ended COMMAND) and
.Li command
under
.Fl \-show\-command .
.El
.Sh FILES
Option names without dashes, a line each, at the top for every verb or in a section
.Li [VERB] :
.Li ttl = 1m .
A value with spaces or # stands in quotes.
Several servers are a line each.
Behind a # outside quotes is a comment.
)" + not_in_files() +
          R"(.Bl -tag -width Ds
.It Pa $XDG_CONFIG_HOME/rlock.conf , Pa ~/.config/rlock.conf
The user's.
.It Pa /etc/rlock.conf
The machine's, below the user's.
.El
.Sh EXIT STATUS
.Bl -tag -width Ds
)";
  for (const auto& row : base::exit_table) text += ".It " + argument(row.status) + "\n" + plain(row.when) + ".\n";
  text += ".El\n.Sh EXAMPLES\n";
  for (const auto& verb : cli::verb_table()) {
    for (const auto& example : verb.examples) {
      if (example.command.empty()) break;
      text += plain(example.what) + "\n.Bd -literal -offset indent\n" + plain(example.command) + "\n.Ed\n.Pp\n";
    }
  }
  text.erase(text.size() - 4);  // no paragraph before a section
  return text + ".Sh SEE ALSO\n.Xr flock 1 ,\n.Xr timeout 1\n";
}

}  // namespace rlock::docs
