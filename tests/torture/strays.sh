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
expected=$((2 + spawned))
grep -q "^  not recorded $expected with an emptied environment, 3 with LD_PRELOAD taken away or replaced$" err ||
    fail "leaving: not $expected and 3: $(grep 'not recorded' err)"
told=$(for profile in s.*.tmk; do fact "$profile" unfollowed_environment; done | paste -sd+ | bc)
[ "$told" -le $expected ] && [ "$told" -gt 0 ] || fail "leaving: the profiles tell of $told"
profile=$(ls s.spawns.*.tmk 2>/dev/null | head -1)
[ $spawned = 0 ] || "$TIDEMARK" report "$profile" | tr -s ' \n' ' ' | grep -q 'programs that it executed are not recorded: their environment was emptied' ||
    fail "leaving: the report does not say so: $("$TIDEMARK" report "$profile" | head -20)"
rm -f s.*

# ---- Another LD_PRELOAD ----
# Who preloads something else in place of what there was is recorded: we stand in front of it, as of what the
# user preloads before. Who preloads nothing is not, and that is said.
printf 'int says_whose(void) { return 1; }\n' >other.c
if cc -shared -fPIC other.c -o libother.so 2>/dev/null; then
    other=$work/libother.so
    seen='grep -c libother.so /proc/self/maps >maps; printf "%s\n" "$LD_PRELOAD"'
    plain=$(LD_PRELOAD=$other sh -c "$seen"; cat maps)
    for way in "env LD_PRELOAD=$other" 'perl replace.pl' 'sh replace.sh'; do
        printf '$ENV{LD_PRELOAD} = "%s"; exec @ARGV' "$other" >replace.pl
        printf 'LD_PRELOAD=%s exec "$@"' "$other" >replace.sh
        "$TIDEMARK" record --separate -o 's.%n.%p.tmk' $way sh -c "$seen; exec cat maps" >out 2>err || fail "$way: status $?: $(cat out err)"
        [ "$(session_profiles cat)" = 1 ] && ! grep -q 'not recorded' err || fail "$way: $(ls; cat err)"
        [ "$(sed 's,^/[^:]*/\./\./\./libtidemark\.so:,,' out)" = "$plain" ] || fail "$way: $(cat out), not $plain"
        rm -f s.*
    done
    # An environment that is made anew has what is in it, and nothing of us.
    "$TIDEMARK" record -o s.tmk env -i PATH="$PATH" LD_PRELOAD="$other" sh -c "$seen" >out 2>err
    [ "$(cat out)" = "$other" ] && grep -q '^  not recorded 1 with an emptied environment$' err || fail "env -i: $(cat out err)"
    rm -f s.*
    # The allocator that record has put there stays, too; the session's choice of programs holds.
    "$TIDEMARK" record --separate -q --allocator=bfm --only=cat -o 's.%n.%p.tmk' env LD_PRELOAD="$other" cat /proc/self/maps >out
    [ "$(session_profiles cat)" = 1 ] && grep -q libbfm.so out && grep -q libother.so out || fail "with an allocator: $(ls s.*; grep '\.so' out)"
    rm -f s.*
    # No room for more: it is executed as it was wanted.
    cat >brim.c <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char *arguments[] = {"true", NULL}, *environment[] = {NULL, NULL, NULL};
int main(void)
{
    size_t most = 32 * (size_t)sysconf(_SC_PAGESIZE) - 1; /* one string, as the kernel allows */
    char *list = malloc(most + 1);
    strcpy(list, "LD_PRELOAD=libc.so.6");
    memset(list + strlen(list), ':', most - strlen(list));
    list[most] = 0;
    environment[0] = list;
    environment[1] = getenv("TIDEMARK_SESSION") - strlen("TIDEMARK_SESSION=");
    execve("/bin/true", arguments, environment);
    return errno;
}
C
    cc brim.c -o brim && "$TIDEMARK" record -o s.tmk ./brim 2>err || fail "at the brim: status $?: $(cat err)"
    grep -q '^  not recorded 1 with LD_PRELOAD taken away or replaced$' err || fail "at the brim: $(cat err)"
    rm -f s.*
    # One that must come first is not put behind us.
    cp libother.so libasan.so.99
    "$TIDEMARK" record -o s.tmk env LD_PRELOAD="$work/libasan.so.99" sh -c 'printf "%s\n" "$LD_PRELOAD"' >out 2>err
    [ "$(cat out)" = "$work/libasan.so.99" ] && grep -q '^  not recorded 1 statically linked.* or with a sanitizer$' err ||
        fail "a sanitizer that is preloaded: $(cat out err)"
    rm -f s.*
fi
for way in 'env -u LD_PRELOAD' 'env LD_PRELOAD=' 'env LD_PRELOAD=:'; do
    "$TIDEMARK" record -o s.tmk $way sh -c 'printf "<%s>\n" "$LD_PRELOAD"; /bin/true' >out 2>err || fail "$way: status $?: $(cat err)"
    [ "$(tr -d : <out)" = '<>' ] && grep -q '^  not recorded 1 with LD_PRELOAD taken away or replaced$' err || fail "$way: $(cat out err)"
    rm -f s.*
done
"$TIDEMARK" record -o s.tmk sh -c 'LD_PRELOAD=; export LD_PRELOAD; /bin/true; exec /bin/true' 2>err
grep -q '^  not recorded 2 with LD_PRELOAD taken away or replaced$' err || fail "exported empty: $(cat err)"
rm -f s.*

# Privileges, and programs that are statically linked.
cat >static.c <<'C'
int main(void) { return 0; }
C
if cc -static static.c -o static 2>/dev/null; then
    "$TIDEMARK" record --separate -o s.tmk perl -e 'system "./static"; system "./static"; system "/bin/true"' 2>err
    grep -q '^  not recorded 2 statically linked, of 32 bits, for another machine or with a sanitizer$' err || fail "static: $(cat err)"
    rm -f s.*
    # An empty directory in PATH is the current one, the first too.
    for path in ":$PATH" "/nowhere::$PATH" "/nowhere:"; do
        WANTED=$path "$TIDEMARK" record --separate -o s.tmk perl -e '$ENV{PATH} = $ENV{WANTED}; exec {"static"} "static"' 2>err
        grep -q '^  not recorded 1 statically linked, of 32 bits, for another machine or with a sanitizer$' err || fail "static by PATH=$path: $(cat err)"
        rm -f s.*
    done
fi
# Where the library is not any more, as in another root: its children go without it, and ld.so says nothing.
mkdir copy && cp -r "$(dirname "$TIDEMARK")/../bin" "$(dirname "$TIDEMARK")/../lib" copy 2>/dev/null
[ -d "$(dirname "$TIDEMARK")/../libexec" ] && cp -r "$(dirname "$TIDEMARK")/../libexec" copy
copy/bin/tidemark record -o s.tmk sh -c 'mv copy/lib copy/gone; /bin/echo "<$LD_PRELOAD>"; /bin/true; exec sh -c "echo \"[\$LD_PRELOAD]\""' >out 2>err ||
    fail "hidden: status $?: $(cat err)"
[ "$(tail -1 out)" = '[]' ] && ! grep -q 'ld.so' err &&
    grep -q "^  not recorded 3 where Tidemark's library cannot be opened (chroot, another user)$" err || fail "hidden: $(cat out err)"
rm -rf s.* copy

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
