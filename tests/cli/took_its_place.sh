# A process whose program executes another one, which is not recorded: what that one has is not the first one's.
. "$HERE/lib.sh"
cat >first.c <<'EOC'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void)
{
    char *block = malloc(3000000);
    memset(block, 1, 3000000);
    execl("/nowhere", "nowhere", (char *)NULL); /* fails: it goes on */
    usleep(400000); /* a look comes, on a busy machine too */
    if (vfork() == 0) /* executes in a process of its own */
        execlp("true", "true", (char *)NULL);
    usleep(50000);
    execlp("perl", "perl", "-e", "$x = q(a) x 60000000; select undef, undef, undef, 0.5", (char *)NULL);
    return 1;
}
EOC
cc -g -O1 -fno-builtin -o first first.c
tidemark record --no-follow -o run.tmk ./first 2>said || exit 1
grep 'not recorded' said
tidemark report --json run.tmk | jq -c '[.meta.end, .unseen, .resident_bytes > 3000000, .resident_bytes < 20000000,
    ([.owners[] | select(.name == "not seen when it was mapped").resident_bytes] | add // 0) < 500000,
    .program.peak_bytes, .process.resident_max_bytes < 20000000]'
tidemark report run.tmk | sed -n '3,9s/ran  *[0-9.]* ms/ran TIME/p'

echo "== threads allocate till it is executed: their last peak is not behind the end"
cat >growing.c <<'EOC'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *grow(void *argument)
{
    for (;;)
        *(char *volatile *)&argument = malloc(16);
    return argument;
}
int main(void)
{
    enum { WORDS = 15, BYTES = 128000 };
    char *words[WORDS + 4] = {"sh", "-c", "exit 3"};
    pthread_t thread;
    for (int i = 0; i < WORDS; i++)
        memset(words[3 + i] = calloc(1, BYTES), 'x', BYTES - 1);
    pthread_create(&thread, NULL, grow, NULL);
    usleep(2000);
    execv("/bin/sh", words);
    return 1;
}
EOC
cc -O1 -fno-builtin -o growing growing.c -pthread
for run in 1 2 3 4 5 6; do
    tidemark record -q --no-follow -o run.tmk ./growing
    tidemark report --json run.tmk | jq '.program.peak_ns <= (.meta.duration_ns | tonumber)'
done | sort | uniq -c | tr -s ' '
