# The collector beside a rank has no files open for names once these are known, nor the memory that they took.
. "$HERE/lib.sh"

cat >rank.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__attribute__((noinline)) static char *load_mesh(void) { return memset(malloc(100000), 1, 100000); }
int main(void)
{
    char *mesh = load_mesh();
    for (int i = 0; i < 300000; i++)
        free(malloc(10));
    while (access("stop", F_OK))
        free(malloc(10)), usleep(10000);
    int status = mesh[5] - 1;
    free(mesh);
    return status;
}
END
cc -g -O1 -o rank rank.c
id=lean.$$
PMI_SIZE=1 PMI_RANK=0 tidemark record -q --job=runs --job-id=$id ./rank &
record=$!
# record has become the rank; its collector had 27 MiB for as long as that ran, with the C library's debug file.
named() {
    collector=$(pgrep -x -f "tidemark record -q --job=runs --job-id=$id ./rank") &&
    tidemark report runs/$id/rank-00000.*.tmk | grep -q load_mesh &&
        [ "$(awk '/^Pss_Anon:/ { print ($2 < 10000) }' /proc/$collector/smaps_rollup)" = 1 ]
}
until_true named && echo "names are known, and less than 10 MB are taken"
grep -c '\.debug$' /proc/$collector/maps
touch stop
wait $record
echo "status $?"
tidemark report runs/$id/rank-00000.*.tmk | grep -o 'load_mesh .*rank.c:4' | tr -s ' ' | head -1
