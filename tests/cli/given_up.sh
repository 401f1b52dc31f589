# Files of names whose reading never ends (a file server that is gone): a second signal gives names up, and the
# profile has its figures. The program's exit status stays its own.
. "$HERE/lib.sh"

cat >hangs.c <<'EOF'
#include <fcntl.h>
#include <unistd.h>
void *dwfl_module_getdwarf(void *module, void *bias)
{
    (void)module, (void)bias;
    close(open("hangs", O_CREAT | O_WRONLY, 0600));
    for (;;)
        pause();
}
EOF
cc -shared -fPIC -o hangs.so hangs.c

printf '#include <stdlib.h>\nint main(void) { for (int i = 0; i < 77; i++) free(malloc(1000)); return 7; }\n' >program.c
cc -g -O0 -fno-builtin -o program program.c
LD_PRELOAD=$PWD/hangs.so tidemark record -o run.tmk ./program 2>err &
recorder=$!
until_true test -e hangs
# Until the recorder has seen the program's end a signal is the program's.
first() { kill -TERM $recorder; sleep 0.2; grep -q 'once more' err; }
until_true first
kill -TERM $recorder
ended() { ! kill -0 $recorder || { kill -TERM $recorder; false; }; }
until_true ended
wait $recorder
echo "status $?"
grep -c 'once more gives up names' err
grep -c 'names of functions were given up' err
tidemark report --json run.tmk | jq -r '.program.alloc_count >= 77, .meta.end'

# The time is over, names are being read, and the program runs on: the same.
cat >runs.c <<'EOF'
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
    signal(SIGTERM, SIG_IGN);
    for (int i = 0; access("enough", F_OK); i++) {
        free(malloc(1000));
        usleep(2000);
    }
    return 7;
}
EOF
cc -g -O0 -fno-builtin -o runs runs.c

echo "== record --for"
rm -f hangs err
LD_PRELOAD=$PWD/hangs.so tidemark record --for 100ms -o for.tmk ./runs 2>err &
recorder=$!
until_true test -e hangs
# Signals that come while nobody takes them are one.
taken() {
    local process
    for process in $recorder $(pgrep -P $recorder); do
        [ $((0x$(sed -n 's/^ShdPnd:[[:blank:]]*//p' /proc/$process/status) >> 14 & 1)) = 0 ] || return 1
    done
}
for i in 1 2 3; do
    kill -TERM $recorder
    sleep 0.2
    until_true taken
done
touch enough
wait $recorder
echo "status $?"
grep -c 'names of functions were given up' err
tidemark report --json for.tmk | jq -r '.program.alloc_count > 0, .meta.end'

echo "== attach --for"
rm -f hangs err enough
./runs &
program=$!
LD_PRELOAD=$PWD/hangs.so tidemark attach --for 100ms -o attached.tmk $program 2>err &
recorder=$!
until_true test -e hangs
until_true ended
wait $recorder
echo "status $?"
grep -c 'names of functions were given up' err
tidemark report --json attached.tmk | jq -r '.program.alloc_count > 0, .meta.end'
touch enough
wait $program
echo "program $?"
