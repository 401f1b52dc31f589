# Behind the profile of each rank of a job stands its digest, which `tidemark job` reads in place of the profile. What it
# prints is the same without it.
. "$HERE/lib.sh"

cat >rank.c <<'END'
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) static char *load_mesh(size_t bytes) { return memset(malloc(bytes), 1, bytes); }
__attribute__((noinline)) static char *solve(size_t bytes) { return memset(malloc(bytes), 1, bytes); }
int main(void)
{
    int rank = atoi(getenv("PMI_RANK"));
    char *mesh = load_mesh(100000 + 50000 * (size_t)rank), *vector = solve(300000);
    int status = rank == 2 ? mesh[5] + 2 : mesh[5] - vector[7];
    free(vector);
    return status;
}
END
cc -g -O1 -o rank rank.c
for rank in 0 1 2; do
    PMI_SIZE=3 PMI_RANK=$rank tidemark record -q --separate --job=runs --job-id=x ./rank
    echo "status $?"
done
all_kept() { [ "$(tail -qc 8 runs/x/*.tmk | sed 's/TMKAPPX1/&\n/g' | grep -c TMKAPPX1)" = 3 ]; }
until_true all_kept && echo "all three have one"
cp -r runs bare
cat >strip.py <<'END'
import struct, sys
for name in sys.argv[1:]:
    data = open(name, "rb").read()
    open(name, "wb").write(data[:struct.unpack("<Q", data[-24:-16])[0]])
END
python3 strip.py bare/x/*.tmk
tail -qc 8 bare/x/*.tmk | grep -c TMKAPPX1
for how in "" --of=resident --of=mapped --json "--json --of=resident" "--json --of=mapped"; do
    tidemark job $how runs/x >with 2>&1
    tidemark job $how bare/x | sed 's,bare/x,runs/x,g' >without 2>&1
    cmp with without && [ "$(wc -l <with)" -gt 10 ] && echo "the same: job $how"
done
tidemark job runs | grep -o 'status 3' | head -1

echo "--- it is read, and the profile is not"
cp -r runs spoilt
for file in spoilt/x/*.tmk; do
    printf '%064d' 0 | dd of="$file" bs=1 seek=40 conv=notrunc status=none
done
cmp <(tidemark job --json runs/x) <(tidemark job --json spoilt/x | sed 's,spoilt/x,runs/x,g') && echo "the same of profiles that cannot be unpacked"
try tidemark report spoilt/x/rank-00000*.tmk
sentence damaged

echo "--- what else reads the file does not see it"
for file in runs/x/rank-00001*.tmk; do
    same=bare/${file#runs/}
    zstd -dc <$file | cmp - <(zstd -dc <$same) && echo "zstd -dc"
    cmp <(tidemark report --json $file) <(tidemark report --json $same | sed 's,bare/x,runs/x,g') && echo "report"
    tidemark unpack $file one.db && tidemark unpack $same two.db && cmp one.db two.db && echo "unpack"
done

echo "--- another program's profile in the place of a rank's is found out"
cp runs/x/rank-00000*.tmk "$(echo runs/x/rank-00001*.tmk)"
tidemark job --json runs/x | jq -r '.ranks[] | select(.note).note' | grep -o 'is the profile of another process.*rank'
cp bare/x/rank-00000*.tmk "$(echo bare/x/rank-00001*.tmk)"
cmp <(tidemark job --json runs/x) <(tidemark job --json bare/x | sed 's,bare/x,runs/x,g') && echo "the same"
