# Functions of --allocator-functions that cannot be hooked at their beginnings are hooked where other modules
# import them: counts are those of the program's calls, without the library's own.
. "$HERE/lib.sh"
[ "$(uname -m)" = x86_64 ] || skip "beginnings can be hooked on x86-64 only"
cat >library.c <<'EOC'
#include <stddef.h>
static char room[1 << 20];
static size_t used;
__attribute__((noipa)) void *lib_alloc(size_t bytes)
{
    used = used + bytes + 64 > sizeof room ? 0 : used;
    void *block = room + used;
    used += (bytes + 15) & ~(size_t)15;
    return block;
}
void lib_free(void *block)
{
    *(volatile char *)block = 2;
}
/* Something jumps into its beginning. */
struct list {
    size_t seen;
    struct list *next;
};
extern void own_loop(struct list *list) __attribute__((alias("lib_loop"), visibility("hidden")));
void lib_loop(struct list *list)
{
    list->seen = 0;
    if (list->next)
        own_loop(list->next);
}
extern void *own_alloc(size_t) __attribute__((alias("lib_alloc"), visibility("hidden")));
void *lib_twice(size_t bytes)
{
    own_alloc(bytes);
    return own_alloc(bytes);
}
static void *chosen(size_t bytes)
{
    return own_alloc(bytes);
}
static void *(*choose(void))(size_t)
{
    return chosen;
}
void *lib_chosen(size_t bytes) __attribute__((ifunc("choose")));
EOC
cat >plugin.c <<'EOC'
#include <stddef.h>
void *lib_alloc(size_t bytes);
void lib_free(void *block);
__attribute__((noinline)) void plugin_work(void)
{
    for (int i = 0; i < 5; i++)
        lib_free(lib_alloc(300));
}
EOC
cat >program.c <<'EOC'
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
void *lib_alloc(size_t bytes);
void lib_free(void *block);
void *lib_twice(size_t bytes);
void *lib_chosen(size_t bytes);
struct list {
    size_t seen;
    struct list *next;
};
void lib_loop(struct list *list);
static volatile sig_atomic_t over;
static void *wait_for_ever(void *argument)
{
    for (;;)
        pause();
    return argument;
}
static void end(int number)
{
    (void)number;
    over = 1;
}
__attribute__((noinline)) static void work(void)
{
    struct list second = {1, NULL}, first = {1, &second};
    for (int i = 0; i < 10; i++)
        lib_free(lib_alloc(100));
    lib_twice(50);
    lib_free(lib_chosen(70));
    lib_loop(&first);
}
static void plugin(void)
{
    void *handle = dlopen("./libplugin.so", RTLD_LAZY);
    void (*run)(void) = (void (*)(void))dlsym(handle, "plugin_work");
    run();
    dlclose(handle);
}
int main(int argc, char **argv)
{
    pthread_t thread;
    void *(*volatile pointer)(size_t) = lib_alloc; /* a word of another kind */
    signal(SIGTERM, end);
    pthread_create(&thread, NULL, wait_for_ever, NULL);
    if (argc > 1)
        plugin();
    fclose(fopen("began", "w"));
    for (int i = 0; argc > 1 ? i < 10 : !over; i++) {
        work();
        lib_free(pointer(200));
        usleep(1000);
    }
    return puts("done") < 0;
}
EOC
build() { # OPTIONS of the linker
    cc -g -O2 -fPIC -fno-builtin -fcf-protection=full -shared -o liblib.so library.c &&
        cc -g -O2 -fPIC -fno-builtin -shared -o libplugin.so plugin.c ./liblib.so &&
        cc -g -O2 -fno-builtin -o program program.c ./liblib.so -pthread -ldl "$@"
}
totals() { # count and bytes, and what is said
    tidemark events --json -k pool run.tmt | jq -c .size_bytes | sort -n | uniq -c | tr -s ' ' | tr '\n' ';'
    tidemark report --json run.tmk | jq -c '.unseen[] | [.what, (.module | sub(".*/"; "")), .why]'
}

# No word is bound yet, or all are.
for how in lazy now; do
    echo "== $how"
    build -Wl,-z,$how
    ./program once >bare
    tidemark record -q --trace -o run.tmk \
        --allocator-functions='lib_alloc(1) lib_free lib_chosen(1) lib_loop(end=1)' ./program once | cmp - bare
    totals
done
echo "== all at their beginnings, but for the one that the processor chooses"
tidemark record -q --trace -o run.tmk --allocator-functions='lib_alloc(1) lib_free lib_chosen(1)' ./program once >said
totals

echo "== the library comes when the program has two threads"
cat >late.c <<'EOC'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *wait_for_ever(void *argument)
{
    for (;;)
        pause();
    return argument;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_ever, NULL);
    for (int i = 0; i < 3; i++) {
        void *handle = dlopen("./libplugin.so", RTLD_LAZY | (i == 2 ? RTLD_DEEPBIND : 0));
        void (*run)(void) = (void (*)(void))dlsym(handle, "plugin_work");
        run();
        dlclose(handle);
    }
    return puts("done") < 0;
}
EOC
cc -g -O2 -fno-builtin -o late late.c -pthread -ldl
tidemark record -q --trace -o run.tmk --allocator-functions='lib_alloc(1) lib_free' ./late >said
totals

echo "== while it runs, with two threads"
build -Wl,-z,lazy
begin() { # COMMAND…: where its loop begins it says so
    rm -f began
    "$@" >said &
    own=$!
    until_true test -e began
}
begin ./program
attach() { # FUNCTIONS
    tidemark attach -q -o run.tmk --for 500ms --allocator-functions="$1" $own
    tidemark report --json run.tmk | jq -c '[.program.alloc_count > 50, (.unseen[] | .what, .why)]'
}
attach 'lib_alloc(1) lib_free'
attach 'lib_chosen(1)'
attach 'no_such(1)'
attach 'lib_alloc(1) lib_free'
kill $own
wait $own
cat said

echo "== of functions for which there is no room any more none is hooked"
for i in $(seq 95); do echo "char *many_$i(long a, long b) { return (char *)(a * b) + 4096 * $i; }"; done >many.c
echo 'void many_free(char *block) { *(volatile char *)&block = 0; }' >>many.c
for i in $(seq 95); do echo "char *many_$i(long a, long b);"; done >threads.c
cat >>threads.c <<'EOC'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
void many_free(char *block);
static void *work(void *argument)
{
    for (;; usleep(1000)) {
EOC
for i in $(seq 95); do echo "many_free(many_$i(1, 2));"; done >>threads.c
cat >>threads.c <<'EOC'
    }
    return argument;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    fclose(fopen("began", "w"));
    pause();
    return 0;
}
EOC
cc -O1 -fPIC -shared -o libmany.so many.c && cc -O1 -o threads threads.c ./libmany.so -pthread
begin ./threads
for argument in 1 2; do
    tidemark attach -q --trace -o run.tmk --for 300ms \
        --allocator-functions="$(seq -f "many_%g($argument)" -s ' ' 95) many_free" $own
    tidemark events --json -k pool run.tmt | jq -c .size_bytes | sort -n | uniq | tr '\n' ';'
    tidemark report --json run.tmk | jq -c '[.unseen[].what]'
done
kill_hard $own

echo "== while it runs, with one thread: each time others are hooked at their beginnings"
cat >single.c <<'EOC'
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
void *lib_alloc(size_t bytes);
void *lib_twice(size_t bytes);
void lib_free(void *block);
static volatile sig_atomic_t over;
static void end(int number)
{
    (void)number;
    over = 1;
}
int main(void)
{
    signal(SIGTERM, end);
    fclose(fopen("began", "w"));
    while (!over) {
        char *block = lib_alloc(100), *next = lib_twice(50);
        lib_free(block);
        if (next > block && next != block + 176)
            return 1;
        usleep(1000);
    }
    return puts("done") < 0;
}
EOC
cc -g -O2 -fno-builtin -o single single.c ./liblib.so
begin ./single
sizes() { # FUNCTIONS
    tidemark attach -q --trace -o run.tmk --for 500ms --allocator-functions="$1" $own
    tidemark events --json -k pool run.tmt | jq -c .size_bytes | sort -n | uniq | tr '\n' ';'
    tidemark report --json run.tmk | jq -c '[.unseen[] | .what, .why]'
}
sizes 'lib_alloc(1) lib_free'
sizes 'lib_twice(1)'
sizes 'lib_alloc(1) lib_twice(1) lib_free'
echo "== and described in another way"
sizes 'lib_twice(1*1)'
sizes 'lib_twice lib_free'
sizes 'lib_alloc(1) lib_free'
kill $own
wait $own
cat said

echo "== named functions of a library that has jemalloc's in it: all of both are hooked"
cat >both.c <<'EOC'
#include <stdlib.h>
__attribute__((noipa)) void *mallocx(size_t bytes, int flags)
{
    return malloc(bytes + (size_t)(flags & 0));
}
__attribute__((noipa)) void *rallocx(void *block, size_t bytes, int flags)
{
    return realloc(block, bytes + (size_t)(flags & 0));
}
__attribute__((noipa)) void dallocx(void *block, int flags)
{
    free((char *)block + (flags & 0));
}
__attribute__((noipa)) void *pool_take(size_t bytes)
{
    return mallocx(bytes + 8, 0);
}
__attribute__((noipa)) void pool_give(void *block)
{
    dallocx(block, 0);
}
EOC
cat >uses.c <<'EOC'
#include <stdio.h>
#include <stdlib.h>
void *mallocx(size_t bytes, int flags);
void *rallocx(void *block, size_t bytes, int flags);
void dallocx(void *block, int flags);
void *pool_take(size_t bytes);
void pool_give(void *block);
int main(void)
{
    for (int i = 0; i < 100; i++) {
        void *own = rallocx(mallocx(10, 0), 15, 0);
        pool_give(pool_take(20));
        dallocx(own, 0);
    }
    return fputs("done\n", stderr) < 0;
}
EOC
cc -g -O2 -fPIC -fno-builtin -shared -o libboth.so both.c
cc -g -O2 -fno-builtin -o uses uses.c ./libboth.so
tidemark record -q --trace -o run.tmk --allocator-functions='pool_take(1) pool_give' ./uses
tidemark events --json run.tmt | jq -r 'select(.size_bytes) | "\(.kind) \(.size_bytes)"' | sort | uniq -c | tr -s ' ' | tr '\n' ';'
echo
tidemark query -f jsonl run.tmk "SELECT what, count FROM loss WHERE count > 0"
