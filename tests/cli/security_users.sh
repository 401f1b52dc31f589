# The claims of doc/SECURITY.md about other users of the machine, tried by some. Needs root to become them.
. "$HERE/lib.sh"
[ "$(id -u)" = 0 ] || skip "not root"
command -v setpriv >/dev/null || skip "no setpriv"
command -v python3 >/dev/null || skip "no python3"
as() { setpriv --reuid="$1" --regid="$1" --clear-groups "${@:2}"; }
# The repository may lie where other users cannot look.
mkdir bin lib && cp "$BIN/tidemark" bin && cp "$BIN"/../lib/lib*.so* lib
cp "$STRANGER" stranger && chmod 755 stranger
as 65534 bin/tidemark --version >/dev/null 2>&1 || skip "another user cannot reach $PWD"

tidemark record -q -o shrink.tmk python3 "$HERE/scribble.py" shrink 0
mkdir -m 777 public
(tidemark record -q -o session.tmk sh -c 'echo $$ >pid; echo $TIDEMARK_SESSION >session; while [ ! -e looked2 ]; do sleep 0.05; done' 2>err) &
until_true test -s session
grep -q "$(cut -d: -f1 session)" /proc/net/unix && echo "everybody knows the name of a session"
grep -q "$(cut -d: -f2 session)" /proc/net/unix || echo "and nobody its key"
as 65534 ./stranger "$(cut -d: -f1 session)"
as 65534 ./stranger "$(cut -d: -f1 session):$(printf %032d 0)"
as 65534 ./stranger "$(cat session)"
# Somebody listens by a name like that of a session, and answers who asks for a snapshot.
setpriv --reuid=65534 --regid=65534 --clear-groups ./stranger --listen "tidemark-$(printf f%031d 0)" \
    "+--of-a-stranger" >listens &
stranger=$! # setpriv has become it
until_true test -s listens
pid=$(cat pid)
tidemark snapshot $pid >out 2>err
echo "status $? $(sed 's,.*/,,' out)"
kill_hard $stranger
touch looked2 && wait 2>/dev/null
# Root may ask for one of another user's process, and nobody else.
(as 65534 bin/tidemark record -q -o public/theirs.tmk sh -c 'echo $$ >public/pid; while [ ! -e looked3 ]; do sleep 0.05; done' 2>err) &
until_true test -s public/pid
tidemark snapshot "$(cat public/pid)" | sed 's,.*/,,'
as 1 bin/tidemark snapshot "$(cat public/pid)" 2>&1 | grep -c 'another one.s'
touch looked3 && wait
# Of a process that nobody records it is said at once, whoever listens and takes nobody.
setpriv --reuid=65534 --regid=65534 --clear-groups ./stranger --full "tidemark-$(printf e%031d 0)" >full &
stranger=$!
until_true test -s full
sleep 100 &
sleeper=$!
timeout 300 tidemark snapshot $sleeper 2>&1 | sed "s/$sleeper/PID/"
kill_hard $stranger $sleeper
# A collector that was killed leaves its name to anybody. A program that starts later does not tell him the key.
(exec tidemark record -q -o dead.tmk sh -c 'echo $TIDEMARK_SESSION >dead; while [ ! -e looked4 ]; do sleep 0.05; done; /bin/true; touch tried4' 2>/dev/null) &
dead=$!
until_true test -s dead
kill_hard "$(collector_of $dead)" $dead # who records keeps the name as long as he lives
until_true sh -c '! grep -q "$(cut -d: -f1 dead)" /proc/net/unix'
setpriv --reuid=65534 --regid=65534 --clear-groups ./stranger --overhear "$(cut -d: -f1 dead)" >overheard &
stranger=$!
until_true test -s overheard
touch looked4
until_true test -e tried4
until_true grep -q told overheard
kill_hard $stranger
cat overheard
# Root's collector is nobody whom a user namespace knows. Its programs are recorded all the same.
if setpriv --reuid=1 --regid=1 --clear-groups unshare --user --map-current-user true 2>/dev/null; then
    tidemark record -q -o outside.tmk setpriv --reuid=1 --regid=1 --clear-groups unshare --user --map-current-user sh -c '/bin/true; :'
    tidemark report --json outside.session.tmk | jq -e '.programs | any(.program == "true")' >/dev/null && echo "a program in a user namespace is recorded"
else
    echo "a program in a user namespace is recorded"
fi
# A container's namespace has a 65534 of its own as well, and the collector's user is called that in it.
cat >contained.py <<'EOF'
import ctypes, os
asked, mapped = os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    if ctypes.CDLL(None).unshare(0x10000000) == 0:
        os.write(asked[1], b"x")
        os.read(mapped[0], 1)
        os.setgid(0)
        os.setuid(0)
        os.execvp("sh", ["sh", "-c", "/bin/true; :"])
    os._exit(1)
os.read(asked[0], 1)
for name in "uid_map", "gid_map":
    with open(f"/proc/{child}/{name}", "w") as file:
        file.write("0 100000 65536")
os.write(mapped[1], b"x")
os.wait()
EOF
chmod 755 . && tidemark record -q -o contained.tmk python3 contained.py
tidemark report --json contained.session.tmk | jq -e '.programs | any(.program == "true")' >/dev/null && echo "and one in a container's"
# By hand, where a collector is started by the program: arguments are public too.
LD_PRELOAD="$BIN/../lib/libtidemark.so" TIDEMARK_OPTIONS="-o hand.tmk" sh -c '
    echo $TIDEMARK_SESSION | cut -d: -f2 >key
    cat /proc/[0-9]*/cmdline 2>/dev/null | tr "\0" "\n" >lines
    setpriv --reuid=65534 --regid=65534 --clear-groups true
    :'
grep -c "$(cat key)" lines
tidemark report --json hand.session.tmk | jq -e '.programs | any(.program == "true")' >/dev/null && echo "a program that becomes another user is recorded"
# In a directory that all may write into, what is there already is somebody else's.
mkdir shared && chmod 1777 shared
for name in run.tmk run.tmk-wal; do
    rm -f shared/*
    as 1 sh -c "echo theirs >shared/$name; chmod 666 shared/$name"
    as 65534 bin/tidemark record -q -o shared/run.tmk true >/dev/null 2>err
    [ "$(cat shared/$name)" = theirs ] && echo "$name: not used"
done
# A setuid program that is linked with a library of ours writes nothing where its user says.
printf '#include <stdlib.h>\nint main(void) { free(malloc(1000)); return 0; }\n' >linked.c
for library in libtidemark-count.so libtidemark.so; do
    cc -o linked linked.c -fno-builtin -Wl,--no-as-needed "$PWD/lib/$library" "-Wl,-rpath,$PWD/lib" && cp linked privileged && chmod 4755 privileged
    mkdir -p "given.$library" && chmod 755 "given.$library"
    env TIDEMARK_COUNT_OUTPUT="given.$library/root" TIDEMARK_OPTIONS="-o given.$library/root" ./linked >/dev/null 2>&1
    echo "$library: $(ls "given.$library" | wc -l) file by its user"
    rm -f "given.$library"/*
    as 65534 env TIDEMARK_COUNT_OUTPUT="$PWD/given.$library/root" TIDEMARK_OPTIONS="-o $PWD/given.$library/root" ./privileged >/dev/null 2>&1
    echo "$library: $(ls "given.$library" | wc -l) by a setuid program"
done
# BFM complains of an option that it does not know; as a setuid program's it has not read any.
cc -o linked linked.c -fno-builtin -Wl,--no-as-needed "$PWD/lib/libbfm.so" "-Wl,-rpath,$PWD/lib" && cp linked privileged && chmod 4755 privileged
BFM_OPTIONS=nonsense ./linked 2>&1 | grep -c nonsense
as 65534 env BFM_OPTIONS=nonsense ./privileged 2>&1 | grep -c nonsense
true
