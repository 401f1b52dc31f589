#!/bin/bash
# A recorded program executes programs of other kinds, in each way that there is: of 32 bits, static, with musl,
# with a sanitizer, and scripts for all of them. Each runs as bare and in silence; what is not recorded is counted; what
# they execute in their turn is recorded where the library can be handed on.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip "no python3"
ulimit -c 0

cat >kind.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int count, char **arguments)
{
    volatile char *block = malloc(100);
    block[0] = 'x';
    printf("%s %d\n", count > 1 ? arguments[1] : "a script", (int)sizeof(void *));
    fflush(stdout);
    free((void *)block);
    if (count > 2)
        execv(arguments[2], arguments + 2);
    return 5;
}
C
kinds="" unrecorded=0
kind() { # NAME is-recorded COMPILER…
    local name=$1 recorded=$2
    shift 2
    "$@" kind.c -o "$name" 2>/dev/null && [ "$(./"$name" x 2>&1 | head -c 1)" = x ] || return
    kinds="$kinds $name"
    [ "$recorded" = yes ] || unrecorded=$((unrecorded + 1))
}
kind plain yes cc
kind static no cc -static
kind narrow no cc -m32
kind narrow_static no cc -m32 -static
kind musl yes musl-gcc
kind musl_static no musl-gcc -static
kind asan no gcc -fsanitize=address
kind tsan no gcc -fsanitize=thread
kind clang_asan no clang -fsanitize=address
kind clang_tsan no clang -fsanitize=thread
kind clang_msan no clang -fsanitize=memory
kind clang_asan_library no clang -fsanitize=address -shared-libsan
set -- $kinds
[ $# -gt 2 ] || skip "no compiler for other kinds"

cat >each.py <<'P'
import os, subprocess, sys
def run(how, *command, **more):
    result = subprocess.run(command, capture_output=True, text=True, **more)
    print(kind, how, result.returncode, result.stdout.split(), result.stderr)
def child(how, call):
    print(kind, how, flush=True)
    pid = os.fork()
    if pid == 0:
        call()
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
for kind in sys.argv[1:]:
    run("spawned", "./" + kind, kind)
    open("script", "w").write("#! %s/%s\n" % (os.getcwd(), kind))
    os.chmod("script", 0o755)
    run("script", "./script")
    run("searched", kind, kind, env=dict(os.environ, PATH=os.getcwd()))
    child("open", lambda: os.execve(os.open("./" + kind, os.O_RDONLY), [kind, kind], os.environ))
    child("execv", lambda: os.execv("./" + kind, [kind, kind]))
    os.posix_spawn("./" + kind, [kind, kind], os.environ)
    print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
    run("grandchild", "./" + kind, kind, "./plain", "plain")
P
python3 each.py $kinds >bare.out 2>bare.err
bare=$?
"$TIDEMARK" record -o k.tmk python3 each.py $kinds >out 2>err
[ $? = $bare ] || fail "status $? instead of $bare"
cmp -s bare.out out || fail "other output: $(diff bare.out out | head -5)"
sed '/^tidemark: python3/,$d' err | cmp -s bare.err - || fail "something was said: $(head -5 err)"
grep -q "^  not recorded $((7 * unrecorded)) statically linked, of 32 bits, for another machine or with a sanitizer$" err ||
    fail "not $((7 * unrecorded)): $(grep 'not recorded' err)"
# plain seven times and as a grandchild of what hands the library on.
for name in plain musl; do
    [[ " $kinds " == *" $name "* ]] || continue
    handed=0
    for kind in $kinds; do
        case $kind in plain | musl* | static | narrow_static) [ $name = plain ] && handed=$((handed + 1)) ;; esac
    done
    recorded=$("$TIDEMARK" report --json . | jq "[.profiles[] | select(.program == \"$name\")] | length")
    # A program that executes another one soon may have no profile of its own.
    [ "$recorded" -ge $((6 + handed)) ] && [ "$recorded" -le $((7 + handed)) ] ||
        fail "$name: $recorded profiles instead of $((6 + handed))"
done
# The rest of the list stays.
cc -shared -fPIC -o other.so -x c - <<<'int other_library;'
cat >say.c <<'C'
#include <stdio.h>
#include <stdlib.h>
int main(void) { const char *list = getenv("LD_PRELOAD"); puts(list ? list : "unset"); return 0; }
C
for compiler in "gcc -fsanitize=address" "clang -fsanitize=address"; do
    ${compiler} say.c -o say 2>/dev/null || continue
    said=$(TIDEMARK_OPTIONS=-q "$TIDEMARK" record -q -o s.tmk python3 -c 'import subprocess; subprocess.run("./say")')
    [ "$said" = unset ] || fail "$compiler: LD_PRELOAD is $said"
done
if cc -m32 say.c -o say 2>/dev/null && ./say >/dev/null 2>&1 && cc -m32 -shared -fPIC -o other.so -x c - <<<'int other_library;'; then
    said=$(LD_PRELOAD= "$TIDEMARK" record -q -o s.tmk python3 -c "import os, subprocess; subprocess.run('./say', env=dict(os.environ, LD_PRELOAD=os.environ['LD_PRELOAD'] + ':$PWD/other.so'))" 2>err)
    [ "$said" = "$PWD/other.so" ] || fail "32 bits: LD_PRELOAD is $said"
    [ ! -s err ] || fail "32 bits: $(head -3 err)"
fi
# What an emulator runs gets its environment without us: it is the emulator that is recorded.
emulated() { # QEMU PROGRAM…
    local bare status profiles
    rm -rf emulated && mkdir emulated
    "$@" >bare.out 2>bare.err
    bare=$?
    "$TIDEMARK" record -q -o emulated/e.tmk "$@" >out 2>err
    status=$?
    [ $status = $bare ] && cmp -s bare.out out && cmp -s bare.err err || fail "$*: status $status instead of $bare: $(head -3 err)"
    profiles=$("$TIDEMARK" report --json emulated | jq -r '.profiles[] | "\(.program) \(.allocations > 1000)"')
    [ "$profiles" = "$1 true" ] || fail "$*: $profiles"
}
cat >emulated.c <<'C'
#include <stdlib.h>
#include <stdio.h>
int main(void) { fputs("guest\n", stderr); return malloc(100) ? 3 : 4; }
C
for machine in x86_64: aarch64:aarch64-linux-gnu-; do
    command -v qemu-${machine%:*} >/dev/null && ${machine#*:}gcc emulated.c -o emulated.guest 2>/dev/null || continue
    emulated qemu-${machine%:*} $([ $machine = x86_64: ] || echo -L /usr/aarch64-linux-gnu) ./emulated.guest
done
echo "kinds:$kinds"
exit $failed
