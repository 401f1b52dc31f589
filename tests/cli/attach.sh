# Programs that run already: recorded from here on, left, recorded again; and none of them notices.
. "$HERE/lib.sh"

export ATTACHED_PLUGIN
[ "$(uname -m)" = x86_64 ] || skip "attaching is written for x86-64"
# A program whose C library is not loaded yet cannot be looked into.
is_there() {
    grep -q sleep "/proc/$1/comm" && grep -q 'libc\.so' "/proc/$1/maps"
}
sleep 60 &
until_true is_there $!
tidemark attach --detach $! 2>err # reads its memory: is that allowed here?
kill_hard $!
grep -q 'cannot be looked into\|the kernel' err && skip "$(cat err)"

# A victim with so many threads, its standard input and output in `to` and `from`.
start() {
    coproc VICTIM { exec "$VICTIMS/$1" "$2" 2>victim.err; }
    pid=$VICTIM_PID to=${VICTIM[1]} from=${VICTIM[0]}
    hear ready
}
hear() {
    local answer
    read -r answer <&"$from"
    [ "$answer" = "$1" ] || echo "heard '$answer' instead of '$1'"
}
tell() {
    echo "$@" >&"$to"
    hear done
}
# The victim's end: its last line, what it complained of, its status.
finish() {
    eval "exec $to>&-"
    cat <&"$from"
    wait "$pid"
    echo "status $?"
    cat victim.err
}

# Begins to record `pid`; the collector runs in the background.
attach() {
    rm -f attach.err
    tidemark attach "$@" "$pid" 2>attach.err {to}>&- {from}<&- &
    attached=$!
    while ! grep -q 'being recorded' attach.err 2>/dev/null; do
        kill -0 $attached 2>/dev/null || { cat attach.err; break; }
        sleep 0.02
    done
}
detach() {
    tidemark attach --detach "$pid"
    echo "detached $?"
    wait "$attached"
    echo "attach ended $?"
    grep '^tidemark attach:' attach.err
}
# Blocks and bytes by function.
calls() {
    query "$1" "SELECT function.name, sum(alloc_count), sum(alloc_bytes), sum(live_count) FROM site
        JOIN path ON path.id = site.path JOIN location_frame USING (location)
        JOIN function ON function.id = location_frame.function
        WHERE function.name LIKE 'victim_%'
        GROUP BY 1 ORDER BY 1" 2>&1
}
foreign() {
    tidemark report --json "$1" | jq -c '[.program.foreign_frees, .meta.end,
        (.meta.attached_after_ns | tonumber > 0), .program.lost_events, .program.replaced_blocks]'
}

for victim in attached attached_now; do
    for threads in 0 10; do
        echo "--- $victim with $threads threads"
        start $victim $threads
        tell work 10
        attach -o first.tmk
        tell work 1000
        tell old
        tell throw 20
        tell thread 50
        detach
        tell work 500 # nobody looks
        tell load
        attach --sample=1 -o second.tmk
        tell work 100
        tell plug 30
        tell throw 7
        detach
        attach --free-stacks -o third.tmk
        tell work 200
        detach
        finish
        calls first.tmk
        [ $threads = 0 ] && foreign first.tmk
        calls second.tmk
        calls third.tmk
        rm -f ./*.tmk
    done
done

echo "--- modules that come later, children, the end of the program"
start attached 5
attach -o end.%n.%p.tmk
tell load
tell plug 40
tell fork 25
tell work 100
finish
wait $attached
echo "attach ended $?"
profiles_in end.attached.*.tmk | wc -l
for profile in $(profiles_in end.attached.*.tmk); do
    tidemark report --json "$profile" | jq -c '[.meta.started_by, .meta.end, .meta.end_status]'
    calls "$profile"
done | sort
rm -f ./*.tmk

echo "--- Ctrl-C"
start attached 5
attach -o interrupted.tmk
tell work 100
kill -INT "$attached"
wait $attached
echo "attach ended $?"
tr -s ' \n' ' ' <attach.err | grep -c 'ran on when recording ended'
tell work 100
finish
calls interrupted.tmk
# Who ends early has not leaked what the program still holds.
tidemark report interrupted.tmk | grep -o '^Never freed\|^Left at end'
tidemark report interrupted.tmk | tr -s ' \n' ' ' | grep -o 'after the program began: all figures are of what was allocated since'

echo "--- for a time"
start attached 5
attach --for=300ms -o short.tmk
wait $attached
echo "attach ended $?"
grep -o 'recording ended after 300 ms (--for); the program goes on' attach.err
tell work 100
attach -o again.tmk
tell work 40
detach
finish
calls again.tmk
rm -f ./*.tmk

echo "--- its collector is killed: the program does not care, and can be recorded again"
start attached 10
attach -o killed.tmk
tell work 100
kill_hard "$attached"
tell work 100
attach -o again.tmk
tell work 30
detach
finish
calls again.tmk

echo "--- refusals"
start attached 0 # SIGSTOP interrupts its threads, which is not our doing
attach -o once.tmk
try tidemark attach -q -o twice.tmk "$pid"
sentence "process [0-9]+ is being recorded already"
ls twice.tmk 2>&1 | grep -c 'No such'
detach
try tidemark attach --detach "$pid"
sentence "process [0-9]+ is not being recorded"
kill -STOP "$pid"
until_true grep -q '^State:.T' "/proc/$pid/status"
try tidemark attach "$pid"
sentence "process [0-9]+ is stopped: let it go on"
kill -CONT "$pid"
finish
tidemark record -q -o preloaded.tmk sleep 100 &
until_true pgrep -P $! sleep >sleeper
until_true grep -q libtidemark "/proc/$(cat sleeper)/maps"
try tidemark attach "$(cat sleeper)"
sentence "was started with the recorder"
try tidemark attach --detach "$(cat sleeper)"
sentence "not being recorded by an attachment"
kill "$(cat sleeper)"
wait
try tidemark attach 999999999
sentence "no process 999999999"
try tidemark attach x
sentence "'x' is no process id"
try tidemark attach $$ $$
sentence "one process at a time"
for options in --snapshot-at=lots --budget-cpu=much --ring=3K; do
    try tidemark attach $options $$
    sentence "^tidemark attach: "
done
try tidemark attach --job=d $$
sentence "job"
(exec sleep 100 3<>/dev/null) &
sleeper=$!
if command -v strace >/dev/null; then
    strace -q -o /dev/null -p $sleeper &
    tracer=$!
    until_true grep -q "^TracerPid:.*[1-9]" /proc/$sleeper/status
    try tidemark attach $sleeper
    sentence "process $sleeper is being traced by process"
    kill $tracer
    wait $tracer 2>/dev/null
else
    echo "status 126"
    echo "one sentence about process $sleeper is being traced by process"
fi | sed "s/$sleeper/N/"
kill_hard $sleeper

# Programs that nothing can be loaded into, or that would die of it.
refused() {
    local process=$!
    until_true test -s ready
    try tidemark attach "$process"
    sentence "$1"
    kill_hard "$process"
    rm -f ready
}
# What cannot be tried here, for the expected output's sake.
untried() {
    echo "status 126"
    echo "one sentence about $1"
}
"$VICTIMS/../cli/cli_static" wait >ready &
refused "a statically linked program"
cat >musl.c <<'EOF'
#include <stdio.h>
#include <unistd.h>
int main(void) { puts("ready"); fflush(stdout); pause(); }
EOF
if command -v musl-gcc >/dev/null && musl-gcc musl.c -o musl 2>/dev/null; then
    ./musl >ready &
    refused "runs on musl"
else
    untried "runs on musl"
fi
# For the i386: exit(0), or write(1, "ready\n", 6) and pause() for ever.
cat >narrow.c <<'EOF'
static long call(long number, long first, const char *second, long third)
{
    __asm__ volatile("int $0x80" : "+a"(number) : "b"(first), "c"(second), "d"(third) : "memory");
    return number;
}
void _start(void)
{
#ifdef ENDS
    call(1, 0, 0, 0);
#endif
    call(4, 1, "ready\n", 6);
    for (;;)
        call(29, 0, 0, 0);
}
EOF
narrow() { cc -m32 -O1 -nostdlib -static -ffreestanding -fno-pic -no-pie -fno-stack-protector "$@" narrow.c 2>/dev/null; }
if narrow -DENDS -o ends && ./ends 2>/dev/null && narrow -o narrow; then
    ./narrow >ready &
    refused "a 32-bit program"
else
    untried "a 32-bit program"
fi
python3 -c '
import ctypes, struct, time
libc = ctypes.CDLL(None)
allow = struct.pack("HBBI", 6, 0, 0, 0x7fff0000)
rules = ctypes.create_string_buffer(allow)
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", 1, ctypes.addressof(rules)))
libc.prctl(38, 1, 0, 0, 0)
libc.prctl(22, 2, program, 0, 0)
print("ready", flush=True)
time.sleep(100)' >ready &
refused "a seccomp filter of its own"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    sleep 100 &
    process=$!
    try setpriv --reuid 65534 --regid 65534 --clear-groups "$BIN/tidemark" attach $process
    sentence "another user's"
    kill_hard $process
else
    untried "another user's"
fi

echo "--- by the program itself"
export TIDEMARK_OPTIONS="-q -o self.tmk"
self=$APIS/api_attached_self
try "$self" call
cat out err
calls self.tmk
tidemark report --json self.tmk | jq -c '[.program.foreign_frees, .meta.end, .program.lost_events]'
tidemark report --json self.tmk | jq -c '[.regions[] | [.name, .total.alloc_count]]'
rm -f self.tmk

echo "--- by signal"
rm -f out
TIDEMARK_SIGNAL=USR2 "$self" wait >out 2>err &
pid=$!
until_true grep -q ready out
kill -USR2 $pid
wait $pid
echo "status $?"
cat out err
calls self.tmk
TIDEMARK_SIGNAL=NIX "$self" call 2>&1 >/dev/null
[ $? = 6 ] || echo "it ended otherwise"
