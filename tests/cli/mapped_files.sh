# Of mappings of files the first screen says which files, beside the function that mapped them.
. "$HERE/lib.sh"

cat >reader.c <<'C'
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
static volatile char seen;
static void __attribute__((noinline)) map_table(const char *name, size_t mib)
{
    int fd = open(name, O_RDONLY);
    const char *bytes = mmap(NULL, mib << 20, PROT_READ, MAP_PRIVATE, fd, 0);
    for (size_t at = 0; at < mib << 20; at += 4096)
        seen = bytes[at];
    close(fd);
}
static void __attribute__((noinline)) map_nothing(size_t mib)
{
    char *bytes = mmap(NULL, mib << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t at = 0; at < mib << 20; at += 4096)
        bytes[at] = 1;
}
int main(void)
{
    map_table("prices.table", 24);
    map_table("names.table", 8);
    map_table("names.table", 8);
    map_nothing(28);
}
C
cc -g -O1 -o reader reader.c
truncate -s 24M prices.table
truncate -s 8M names.table
try tidemark record -q -o reader.tmk ./reader
tidemark report reader.tmk | sed -n '/^Resident  /,/^$/p' | awk '/ mapping / { $3 = $4 = ""; print }' | tr -s " "
echo "== a hostile name"
mv prices.table "$(printf 'pri\033[31mces.table')"
sed -i 's/prices\.table/pri\\033[31mces.table/' reader.c
cc -g -O1 -o reader reader.c
try tidemark record -q -o hostile.tmk ./reader
tidemark report hostile.tmk | grep -c "$(printf '\033')" || true
