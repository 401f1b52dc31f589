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
    usleep(50000);
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
