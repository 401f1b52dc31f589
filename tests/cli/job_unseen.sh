# What ranks lack is said of the job too: in its report, as JSON, and in the profile that is made of it.
. "$HERE/lib.sh"
cat >own.c <<'EOC'
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
void *volatile kept;
int main(int argc, char **argv)
{
    char *own = (char *)syscall(SYS_mmap, 0, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    kept = malloc(1000);
    if (argc > 1)
        memset(own, 1, 64 << 20);
    usleep(50000);
    return 0;
}
EOC
cc -o own own.c
for rank in 0 1 2; do
    PMI_RANK=$rank PMI_SIZE=3 tidemark record -q --job=runs --job-id=x ./own $([ $rank = 0 ] || echo more)
done
tidemark job runs | sed -n '/^Not as/,/^$/p'
tidemark job --json runs | jq -c '.ranks[] | [.unattributed, (.unseen | map(.what))]'
tidemark job -o job.tmk runs >/dev/null && tidemark report --json job.tmk | jq -c '.unseen | map(.what)'
