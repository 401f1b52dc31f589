# LD_PRELOAD by hand, as MPI launchers do: the recorder starts its own collector.
. "$HERE/lib.sh"

library=$(dirname "$BIN")/lib/libtidemark.so
[ -f "$library" ] || skip "no $library"
export TIDEMARK_OPTIONS="-q -o hand.%n.%p.tmk"

# At the program's exit the profile is complete, and the program saw nothing of it.
SECONDS=0
TIDEMARK_OPTIONS="$TIDEMARK_OPTIONS --exit-wait=200s" LD_PRELOAD=$library "$VICTIMS/basic" 1
echo "status $?"
[ $SECONDS -lt 190 ] && echo "its exit waited for the profile, not for the time-out"
query hand.basic.*.tmk "SELECT sum(alloc_count) FROM site JOIN path ON path.id = site.path
    JOIN location_frame USING (location) JOIN function ON function.id = location_frame.function
    WHERE function.name = 'victim_small'"
rm -f ./*.tmk

# fork checks that wait() finds no child but its own.
LD_PRELOAD=$library "$VICTIMS/fork" 4
echo "status $?, profiles: $(profiles_in hand.fork.*.tmk | wc -l)"
rm -f ./*.tmk

LD_PRELOAD=$library sh -c 'true; exec sleep 0.1'
echo "status $?"
until_true sh -c 'ls hand.sleep.*.tmk >/dev/null'
rm -f ./*.tmk

# Killed: the collector outlives the program and completes the profile.
perl -e 'system @ARGV; print "signal ", $? & 127, "\n"' env LD_PRELOAD="$library" "$VICTIMS/endings" kill
completed() { ls hand.endings.*.tmk >/dev/null && tidemark report --json hand.endings.*.tmk | jq -e '.state == "complete"'; }
until_true completed >/dev/null
query hand.endings.*.tmk "SELECT sum(alloc_count) FROM site JOIN path ON path.id = site.path
    JOIN location_frame USING (location) JOIN function ON function.id = location_frame.function
    WHERE function.name = 'victim_work'"
rm -f ./*.tmk

# Two at once, in a background job of the shell: no collector is left behind.
LD_PRELOAD=$library "$VICTIMS/basic" 8 &
LD_PRELOAD=$library "$VICTIMS/realloc" 8 >/dev/null &
wait
ls hand.*.tmk | wc -l
# (By its working directory: other tests may have collectors of their own.)
left() {
    local process
    for process in $(pgrep -f 'tidemark collect'); do
        [ "$(readlink "/proc/$process/cwd")" = "$PWD" ] && return 1
    done
    return 0
}
until_true left

# Where there are no pidfds the collector waits for the program in another way.
rm -f ./*.tmk
for _ in 1 2 3 4; do
    "$CLI/cli_sandboxed" --no-pidfd env LD_PRELOAD="$library" "$VICTIMS/basic" 1
done
until_true left
echo "without pidfds: $(profiles_in hand.basic.*.tmk | wc -l)"

# A program with a timer's signals does not wait for a collector for good. Without a clock its steps are counted.
timeout 20 "$CLI/cli_sandboxed" --no-clock env LD_PRELOAD="$library $CLI/libcli_interrupted.so" TIDEMARK_OPTIONS=-q "$VICTIMS/basic" 1
echo "interrupted: status $?"
for pid in $(pgrep tidemark); do # it would wait for the program for a minute
    [ "$(readlink "/proc/$pid/cwd")" != "$PWD" ] || kill "$pid"
done
rm -f -- *.tmk

# Nothing to write to: the program does not suffer.
for quiet in '' -q; do
    TIDEMARK_OPTIONS="$quiet -o /proc/no/such.tmk" LD_PRELOAD=$library "$VICTIMS/basic" 1 2>err
    echo "status $?"
    cat err
done
echo mine >mine.txt
TIDEMARK_OPTIONS="-o mine.txt" LD_PRELOAD=$library "$VICTIMS/basic" 1
cat mine.txt

# What is wrong in TIDEMARK_OPTIONS is said, once, and the program runs and is recorded all the same.
rm -f -- *.tmk
LD_PRELOAD=$library TIDEMARK_OPTIONS='--smaple=512K' sh -c 'exit 5' 2>err
echo "status $?, $(ls -- *.tmk | wc -l) profile"
cat err

# It is split into words as a shell does.
rm -f -- *.tmk
for words in "-q -o 'two words.%p.tmk'" '-q -o two\ words.%p.tmk' "-o 'two words" '-q -o two words.tmk'; do
    LD_PRELOAD=$library TIDEMARK_OPTIONS=$words "$VICTIMS/basic" 1 2>err
    echo "status $?, $(ls -- *.tmk | sed 's/\.[0-9]*\.tmk/.tmk/')"
    cat err
    rm -f -- *.tmk
done
