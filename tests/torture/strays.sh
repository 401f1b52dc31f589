#!/bin/bash
# Programs that give their children another environment. What `record` started belongs to its session or
# to none: no child starts a recording of its own, and what cannot be recorded is counted and said.
. "$(dirname "$0")/lib.sh"
library=$(dirname "$TIDEMARK")/../lib/libtidemark.so
command -v perl >/dev/null || skip "no perl"

session_profiles() { ls s.*."$1".*.tmk s."$1".*.tmk 2>/dev/null | wc -l; } # PROGRAM
# Nothing but what -o named, and no collector of its own that would write later.
no_strays() { # WHAT
    local process
    for process in $(pgrep -f 'tidemark collect'); do
        [ "$(readlink "/proc/$process/cwd")" = "$PWD" ] && fail "$1: a collector was started"
    done
    [ -z "$(find . -name 'tidemark.*')" ] || fail "$1: stray files: $(find . -name 'tidemark.*' | head -3)"
}
fact() { "$TIDEMARK" report --json "$1" | jq -r ".meta.$2 // 0"; } # PROFILE KEY

# As lighttpd's CGI: a new environment, with LD_PRELOAD in it.
cat >server.pl <<'P'
%ENV = (LD_PRELOAD => $ENV{LD_PRELOAD}, PATH => $ENV{PATH});
system @ARGV;
exit $? >> 8;
P
# The same by a child whose parent and grandparent are gone: nobody is left who could tell.
cat >orphan.pl <<'P'
%ENV = (LD_PRELOAD => $ENV{LD_PRELOAD}, PATH => $ENV{PATH});
pipe my $done, my $held;
if (!fork) {
    exit 0 if fork;
    select undef, undef, undef, 0.01 until getppid() != $$ && getppid() == ($ENV{REAPER} || getppid());
    select undef, undef, undef, 0.2;
    exec "sh", "-c", "cat /dev/null";
}
close $held;
<$done>; # until all have ended
wait;
P

# ---- Joined ----
"$TIDEMARK" record --separate -q --sample=64K -o 's.%n.%p.tmk' perl server.pl sh -c 'cat /dev/null; exit 4' >out 2>err
[ $? = 4 ] && [ ! -s out ] && [ ! -s err ] || fail "joined: $(head -3 out err)"
[ "$(session_profiles cat)" = 1 ] && [ "$(session_profiles sh)" = 1 ] || fail "not joined: $(ls)"
[ "$(fact s.cat.*.tmk sample_bytes)" = 65536 ] || fail "joined without the session's --sample"
no_strays joined
rm -f s.*
"$TIDEMARK" record --separate -q --only=cat -o 's.%n.%p.tmk' perl server.pl sh -c 'cat /dev/null; exit 4'
[ "$(session_profiles cat) $(ls s.* | wc -l)" = "1 1" ] || fail "--only does not hold: $(ls)"
no_strays only
rm -f s.*
"$TIDEMARK" record --separate -q --no-follow -o 's.%n.%p.tmk' perl server.pl sh -c 'cat /dev/null; exit 4'
[ "$(ls s.* | wc -l)" = 1 ] || fail "--no-follow does not hold: $(ls)"
no_strays no-follow
rm -f s.*

# Wherever it is installed, and copied: LD_PRELOAD can hold neither blanks nor colons.
mkdir -p "a place: of \$LIB/bin" "a place: of \$LIB/lib"
cp "$TIDEMARK" "a place: of \$LIB/bin" && cp "$library" "a place: of \$LIB/lib"
"a place: of \$LIB/bin/tidemark" record --separate -q -o 's.%n.%p.tmk' perl server.pl sh -c 'cat /dev/null; exit 4' >out 2>err
[ $? = 4 ] && [ ! -s err ] && [ "$(session_profiles cat)" = 1 ] || fail "a place with blanks: $(head -3 err; ls)"
no_strays "a place with blanks"
rm -rf s.* a\ place* "$(find /tmp -maxdepth 1 -type l -lname "$PWD/a place*" 2>/dev/null)"

# ---- None ----
"$TIDEMARK" record --separate -q -o 's.%n.%p.tmk' perl orphan.pl >out 2>err || fail "orphan: status $?: $(head -3 err)"
[ ! -s err ] && [ "$(session_profiles cat)" = 0 ] || fail "orphan: $(ls; head -3 err)"
no_strays orphan
rm -f s.*
# Nobody there: not by the name that record uses.
mkdir elsewhere && cd elsewhere || exit 1
LD_PRELOAD=$(dirname "$library")/./././libtidemark.so "$victims/basic" 1 >/dev/null 2>&1 || fail "no session: status $?"
[ -z "$(ls)" ] || fail "no session: $(ls)"
# By hand, a path with such parts is nobody's session.
LD_PRELOAD=$library TIDEMARK_OPTIONS='-q -o hand.tmk' "$victims/basic" 1 >/dev/null || fail "by hand: status $?"
[ -s hand.tmk ] || fail "by hand: no profile"
cd .. && no_strays "no session"

# ---- Counted ----
# Each in an environment without us: by perl's exec, by fork and exec, by env; and one that fails.
cat >leaving.sh <<'S'
env -i "$TRUE"
env -i "$TRUE" | cat
env -i /nowhere/at/all 2>/dev/null
perl -e 'delete $ENV{LD_PRELOAD}; system "/bin/true", "a"; system "true; true"; exec "/bin/true"'
perl -e 'delete $ENV{LD_PRELOAD}; exec "/nowhere/at/all" or exit 3' 2>/dev/null
"$SPAWNS"
S
cat >spawns.c <<'C'
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static char *none[] = {NULL}, *arguments[] = {"true", NULL};
static void in_child(int which)
{
    if (fork())
        return;
    switch (which) {
    case 0: execve("/bin/true", arguments, none); break;
    case 1: execvpe("true", arguments, none); break;
    case 2: execle("/bin/true", "true", "1", "2", "3", NULL, none); break;
    case 3: clearenv(); execl("/bin/true", "true", "1", NULL); break;
    case 4: clearenv(); execlp("true", "true", NULL); break;
    case 5: clearenv(); execv("/bin/true", arguments); break;
    case 6: clearenv(); execvp("true", arguments); break;
    default: execve("/nowhere", arguments, none); break;
    }
    _exit(5);
}
int main(void)
{
    pid_t pid;
    for (int i = 0; i < 8; i++)
        in_child(i); /* 7 */
    if (vfork() == 0) { /* 1 */
        execve("/bin/true", arguments, none);
        _exit(6);
    }
    if (posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, none) ||
        posix_spawnp(&pid, "true", NULL, NULL, arguments, none) || /* 2 */
        !posix_spawn(&pid, "/nowhere", NULL, NULL, arguments, none))
        return 1;
    while (wait(NULL) > 0)
        ;
    clearenv();
    if (system("exit 3") != 3 << 8) /* 1 */
        return 2;
    return pclose(popen("exit 4", "r")) == 4 << 8 ? 0 : 3; /* 1 */
}
C
if cc -O1 spawns.c -o spawns 2>/dev/null; then spawned=12; else spawned=0; fi
[ $spawned = 12 ] && SPAWNS=./spawns || SPAWNS=true
TRUE=/bin/true SPAWNS=$SPAWNS "$TIDEMARK" record --separate -o 's.%n.%p.tmk' sh leaving.sh >out 2>err || fail "leaving: status $?: $(cat err)"
expected=$((5 + spawned))
grep -q "^  not recorded $expected with an emptied environment$" err || fail "leaving: not $expected: $(grep 'not recorded' err)"
told=$(for profile in s.*.tmk; do fact "$profile" unfollowed_environment; done | paste -sd+ | bc)
[ "$told" -le $expected ] && [ "$told" -gt 0 ] || fail "leaving: the profiles tell of $told"
profile=$(ls s.spawns.*.tmk 2>/dev/null | head -1)
[ $spawned = 0 ] || "$TIDEMARK" report "$profile" | tr -s ' \n' ' ' | grep -q 'programs that it executed are not recorded: their environment was emptied' ||
    fail "leaving: the report does not say so: $("$TIDEMARK" report "$profile" | head -20)"
rm -f s.*

# Privileges, and programs that are statically linked.
cat >static.c <<'C'
int main(void) { return 0; }
C
if cc -static static.c -o static 2>/dev/null; then
    "$TIDEMARK" record --separate -o s.tmk perl -e 'system "./static"; system "./static"; system "/bin/true"' 2>err
    grep -q '^  not recorded 2 statically linked, of 32 bits, for another machine or with a sanitizer$' err || fail "static: $(cat err)"
    rm -f s.*
fi
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && cp /bin/true "$work/setuid" && chmod 4755 setuid &&
    setpriv --reuid=65534 --clear-groups test -x "$(dirname "$TIDEMARK")/../lib/libtidemark.so" 2>/dev/null; then
    chmod 777 . && setpriv --reuid=65534 --clear-groups "$TIDEMARK" record --separate -o "$work/s.tmk" perl -e 'system "./setuid"' 2>err
    grep -q '^  not recorded 1 with privileges (setuid)$' err || fail "setuid: $(cat err)"
    rm -f s.*
fi
# Nothing to say of it where nobody follows.
"$TIDEMARK" record --separate --no-follow -o s.tmk env -i /bin/true 2>err
! grep -q 'not recorded [0-9]' err || fail "--no-follow: $(cat err)"
rm -f s.*

# ---- A server that many have ----
if command -v lighttpd >/dev/null && command -v curl >/dev/null; then
    mkdir -p www && printf '#!/bin/sh\necho "Content-Type: text/plain"; echo; cat /dev/null; echo served\n' >www/x.cgi
    port=$("$(dirname "$0")/../free_port.sh")
    printf 'server.document-root="%s/www"\nserver.port=%d\nserver.bind="127.0.0.1"\nserver.modules=("mod_cgi")\ncgi.assign=(".cgi"=>"/bin/sh")\n' \
        "$work" $port >lighttpd.conf
    "$TIDEMARK" record --separate -q -o 's.%n.%p.tmk' sh -c 'echo $$ >pid; exec lighttpd -D -f lighttpd.conf' >out 2>err &
    recording=$!
    if until_true curl -s -o /dev/null "http://127.0.0.1:$port/x.cgi"; then
        [ "$(curl -s "http://127.0.0.1:$port/x.cgi")" = served ] || fail "lighttpd: no answer"
        kill "$(cat pid)" && wait $recording
        [ "$(session_profiles cat)" -ge 2 ] || fail "lighttpd: not joined: $(ls)"
        [ "$(ls www)" = x.cgi ] || fail "lighttpd: stray files: $(ls www)"
        no_strays lighttpd
    fi
fi
# A collector that a preloaded library has started, for a program that dies before its hello, ends with that.
perl -MPOSIX -e '
    my $starter = fork;
    if (!$starter) { sleep 1; exit }
    my $pidfd = syscall(434, $starter, 0);
    pipe(my $read, my $write);
    my $ready = POSIX::dup(fileno($write));
    POSIX::dup2($pidfd, 20);
    POSIX::dup2($ready, 21);
    $ENV{TIDEMARK_SESSION} = "tidemark-" . "0" x 32 . ":" . "0" x 32;
    my $began = time;
    system { $ARGV[0] } "tidemark", "collect", "--ready-fd", 21, "--starter-fd", 20;
    print time - $began, "\n"' "$TIDEMARK" >took 2>&1
[ "$(cat took)" -lt 30 ] || fail "a stray collector took $(cat took) s"
exit $failed
