# A collector that is killed leaves the last commits in a log beside the profile. Who reads the profile takes
# the log in, so that there is one file again, with the same figures; but not while it is being recorded, not
# of another machine, and not somebody else's.
. "$HERE/lib.sh"

cat >steady.c <<'EOC'
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
    for (int i = 0; i < 12000; i++) {
        if (!malloc(1000 + i))
            return 1;
        usleep(10000);
    }
    return 0;
}
EOC
cc -O0 -o steady steady.c

# A profile is there, and its log is not empty.
files() {
    ls run.tmk* | tr '\n' ' '
    echo
}
is_there() {
    [ -s run.tmk-wal ] && [ "$("$BIN/tidemark" query -f csv run.tmk 'SELECT count(*) FROM program' | tail -1 | tr -d '\r')" = 1 ]
}
recording() {
    "$BIN/tidemark" record -q -o run.tmk ./steady &
    recorder=$!
    until_true is_there
}
figures() {
    "$BIN/tidemark" query -f csv "$1" 'SELECT alloc_count, alloc_bytes FROM program'
}
# Nobody waits for the collector but init: until its files are closed it writes the profile, as far as one can see.
has_ended() {
    ! kill -0 "$1" || grep -q '^State:.Z' "/proc/$1/status"
} 2>/dev/null
killed() {
    local child children
    children=$(pgrep -P $recorder)
    kill -KILL $children $recorder
    wait $recorder
    for child in $children; do until_true has_ended "$child"; done
} 2>/dev/null

recording
"$BIN/tidemark" report run.tmk >/dev/null && echo "while it is recorded: $(files)"
killed
mkdir copy && cp run.tmk* copy/
echo "killed: $(files)"
figures run.tmk >first
echo "read: $(files)"
figures run.tmk | cmp - first && echo "the same figures"
sqlite3 run.tmk 'PRAGMA integrity_check'
"$BIN/tidemark" report run.tmk | grep -c 'cut short'

# It may be written on another machine.
cd copy
printf '%s\n' '.dbconfig no_ckpt_on_close on' "UPDATE meta SET value = 'another' WHERE key = 'boot_id';" | sqlite3 run.tmk >/dev/null
figures run.tmk | cmp - ../first && echo "of another machine: $(files)"
