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
