# A library that stands in for mmap() and munmap() and makes the call by syscall(), as gperftools' tcmalloc does
# (SWI-Prolog): a call is one mapping, of who called mmap().
. "$HERE/lib.sh"

cat >in.c <<'C'
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return (void *)syscall(SYS_mmap, at, bytes, protection, flags, fd, offset);
}
int munmap(void *at, size_t bytes)
{
    return (int)syscall(SYS_munmap, at, bytes);
}
int mprotect(void *at, size_t bytes, int protection)
{
    return (int)syscall(SYS_mprotect, at, bytes, protection);
}
int madvise(void *at, size_t bytes, int advice)
{
    return (int)syscall(SYS_madvise, at, bytes, advice);
}
C
cat >maps.c <<'C'
#include <string.h>
#include <sys/mman.h>
enum { MIB = 1 << 20 };
__attribute__((noipa)) void *keeps(size_t bytes)
{
    return mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
__attribute__((noipa)) void gives_back(void)
{
    char *area = mmap(0, 8 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(area, 1, 8 * MIB);
    madvise(area, 8 * MIB, MADV_DONTNEED);
    mprotect(area, MIB, PROT_NONE);
    munmap(area, 8 * MIB);
}
int main(void)
{
    memset(keeps(4 * MIB), 1, 4 * MIB);
    gives_back();
    return munmap((void *)1, 1) == -1 ? 0 : 1;
}
C
cc -O1 -g -fPIC -shared -o in.so in.c
cc -O1 -g -o maps maps.c "$PWD/in.so"
mapped() {
    query "$1" "SELECT function.name, sum(alloc_count), sum(alloc_bytes), sum(live_bytes) FROM mapped_site
        JOIN path ON path.id = mapped_site.path JOIN location_frame USING (location)
        JOIN function ON function.id = location_frame.function
        WHERE depth = 0 AND function.name IN ('keeps', 'gives_back', 'mmap') GROUP BY function.name ORDER BY 1"
}
try tidemark record -q -o linked.tmk ./maps
mapped linked.tmk
# In front of the recorder.
cc -O1 -g -o plain maps.c
LD_PRELOAD=$PWD/in.so try tidemark record -q -o before.tmk ./plain
mapped before.tmk
