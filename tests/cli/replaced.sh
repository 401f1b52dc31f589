# What has a library's name when `attach` comes is not what the program loaded: nobody waits for it, the program least.
. "$HERE/lib.sh"
echo 'int libx(void) { return 1; }' >lib.c
cat >program.c <<'EOF2'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int libx(void);
int main(void)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    for (int i = 0; i < 6000; i++) {
        free(malloc((size_t)(100 + libx())));
        usleep(10000);
        putchar('.');
    }
}
EOF2
cc -shared -fPIC -o libx.so lib.c
cc -o program program.c -L. -lx -Wl,-rpath,"$PWD"

./program >dots &
pid=$!
until_true test -s dots
rm libx.so
mkfifo libx.so
timeout -k 5 300 tidemark attach -q --for 200ms -o run.tmk $pid >out 2>err
echo "attach: $?"
dots=$(stat -c %s dots)
goes_on() { [ "$(stat -c %s dots)" -gt $((dots + 3)) ]; }
until_true goes_on && echo "the program goes on"
kill_hard $pid 2>/dev/null
tidemark report --json run.tmk | jq '.program.alloc_count > 0'
