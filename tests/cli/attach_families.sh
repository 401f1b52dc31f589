# An allocator with names of its own is bound by attach too, while the program has one thread. With more it
# is said why not.
. "$HERE/lib.sh"
[ "$(uname -m)" = x86_64 ] || skip "other processors"
cat >own.c <<'EOC'
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>
void *mallocx(size_t bytes, int flags);
void sdallocx(void *block, size_t bytes, int flags);
void *volatile kept;
static void *wait_for_ever(void *argument)
{
    for (;;)
        pause();
    return argument;
}
__attribute__((noinline)) void work(void)
{
    for (int i = 0; i < 100; i++) {
        kept = mallocx(1000, 0);
        sdallocx(kept, 1000, 0);
    }
}
int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc > 1)
        pthread_create(&thread, NULL, wait_for_ever, NULL);
    fclose(fopen("began", "w"));
    for (;;) {
        work();
        usleep(1000);
    }
}
EOC
library=$(ldconfig -p | sed -n 's/.* => \(.*libjemalloc\.so\.2\)$/\1/p' | head -1)
[ -n "$library" ] && cc -o own own.c "$library" -pthread || skip "no jemalloc"
for threads in '' more; do
    rm -f began
    ./own $threads &
    own=$!
    until_true test -e began
    tidemark attach -q -o run.tmk --for 500ms $own
    kill $own
    wait $own 2>/dev/null
    tidemark report --json run.tmk | jq -c '[(.program.alloc_count | if . == null then . else . > 1000 end), (.unseen[] | .what, .why)]'
done
