# Memory of devices, by stand-ins for the drivers of CUDA and HIP: how much of each space, whichever way
# the program takes to the driver's functions, and nothing of it in the heap.
. "$HERE/lib.sh"
export LC_ALL=C.UTF-8
make_driver() { # DIRECTORY FILE FLAGS…
    mkdir -p "$1"
    cc -O1 -g -shared -fPIC -Wl,-soname,"$2" "${@:3}" -o "$1/$2" "$HERE/device_memory_driver.c"
}
make_driver cuda libcuda.so.1 && make_driver hidden libcuda.so.1 -DHIDDEN &&
    make_driver hip libamdhip64.so.6 -DHIP || skip "no C compiler"
cc -O1 -g -o cuda_program "$HERE/device_memory.c" -ldl -lpthread
cc -O1 -g -DHIP -o hip_program "$HERE/device_memory.c" -ldl -lpthread
cc -w -O1 -g -DLINKED -o cuda_linked "$HERE/device_memory.c" cuda/libcuda.so.1 -lpthread
cc -w -O1 -g -DHIP -DLINKED -o hip_linked "$HERE/device_memory.c" hip/libamdhip64.so.6 -lpthread

run() { # DRIVER COMMAND…: output and status are those of the bare program
    local driver=$1
    shift
    LD_LIBRARY_PATH=$PWD/$driver "$@" >bare
    local status=$?
    LD_LIBRARY_PATH=$PWD/$driver tidemark record -q --trace $options -o run.tmk "$@" >out
    [ $? = $status ] && cmp bare out
}
figures() {
    tidemark report --json $1 | jq -r '.devices // [] | .[] |
        "\(.space) (\(.place)): peak \(.peak_bytes), left \(.live_bytes) in \(.live_count), " +
        "\(.alloc_count) allocs, \(.free_count) frees, refused \(.refused_count) to \(.refused_bytes), " +
        "unknown \(.unknown_count), ends \(.ended_count)"'
}

run cuda ./cuda_program opened
echo "What the program says:"
cat out
echo "CUDA:"
figures run.tmk | tee cuda.figures
echo "Who held what at the peak, and what is left:"
tidemark report --show=devices run.tmk | sed -n 's/ *…\/.*\|device_memory.c.*//; /make_/p'
echo "From the trace it is the same:"
tidemark replay run.tmt -o replayed.tmk >/dev/null
figures replayed.tmk | cmp - cuda.figures
query replayed.tmk "SELECT count(*) > 100, max(bytes) FROM device_level WHERE space = 0"
tidemark events --json -k device run.tmt | jq -r .kind | sort | uniq -c | tr -s ' '
echo "The heap has none of it, and what the driver took of it:"
tidemark report --json run.tmk | jq -c .unseen
query run.tmk "SELECT sum(at_peak_bytes) < 100000, sum(alloc_count) > 1000 FROM site"

echo "Other ways are the same:"
run cuda ./cuda_linked && figures run.tmk | cmp - cuda.figures
run cuda ./cuda_program asked && figures run.tmk | cmp - cuda.figures
run hidden ./cuda_program asked && figures run.tmk | cmp - cuda.figures
run cuda ./cuda_program threads && figures run.tmk | cmp - cuda.figures
options=--sample=512K
run cuda ./cuda_program opened && figures run.tmk | cmp - cuda.figures
options=
sed 's/CUDA/HIP/' cuda.figures >hip.figures
for way in opened asked; do
    run hip ./hip_program $way && figures run.tmk | cmp - hip.figures
done
run hip ./hip_linked && figures run.tmk | cmp - hip.figures
make_driver one_free libamdhip64.so.6 -DHIP -DONE_FREE
run one_free ./hip_program opened && figures run.tmk | cmp - hip.figures

echo "A context ends, and frees what was in it:"
run cuda ./cuda_program opened end
tidemark report --show=devices run.tmk | tr -s ' \n' ' ' | grep -o 'at most [^;]*is free;' | head -1

echo "Not asked for:"
options=--no-devices
run cuda ./cuda_program opened
figures run.tmk
tidemark report --show=devices run.tmk | tail -2

echo "Without a driver:"
options=
run nothing ./cuda_program opened
cat out | grep -o 'libcuda.so.1'
echo "Where the functions cannot be hooked:"
LD_LIBRARY_PATH=$PWD/cuda tidemark record -q --allocator=bfm --events=pages -o pages.tmk ./cuda_linked >/dev/null
tidemark report --json pages.tmk | jq -r '.unseen[] | .what, .why'

echo "A stub whose functions are all one is left alone:"
mkdir -p folded
cat >folded.c <<'P'
int cuMemAlloc_v2(void) { return 0; }
#define SAME(name) int name(void) __attribute__((alias("cuMemAlloc_v2")));
SAME(cuMemFree_v2) SAME(cuMemAllocPitch_v2) SAME(cuMemAllocManaged) SAME(cuMemHostAlloc)
SAME(cuMemFreeHost) SAME(cuMemHostRegister_v2) SAME(cuMemHostUnregister) SAME(cuMemAllocAsync)
SAME(cuMemFreeAsync) SAME(cuMemCreate) SAME(cuMemRelease) SAME(cuMemMap) SAME(cuMemUnmap)
SAME(cuCtxDestroy_v2) SAME(cuGetProcAddress_v2)
P
cc -O1 -shared -fPIC -Wl,-soname,libcuda.so.1 -o folded/libcuda.so.1 folded.c
cat >all_accepted.c <<'P'
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
int main(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    int (*end)(void *) = dlsym(library, "cuCtxDestroy_v2");
    int (*ask)(const char *, void *, int) = dlsym(library, "cuGetProcAddress_v2");
    int (*take)(void *, size_t) = dlsym(library, "cuMemAlloc_v2");
    void *block = NULL;
    return printf("%d %d %d\n", take(&block, 1000), end((void *)1), ask(NULL, NULL, 1)) < 0;
}
P
cc -O1 -o all_accepted all_accepted.c -ldl
run folded ./all_accepted && cat out
figures run.tmk
tidemark report --json run.tmk | jq -r '.unseen[] | .what, .why'

echo "Where the program's filter kills for what is asked about threads:"
cat >filtered.c <<'P'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static void *stay(void *unused) { return pause(), unused; }
int main(void)
{
    struct sock_filter rows[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_newfstatat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog filter = {4, rows};
    pthread_t thread;
    pthread_create(&thread, NULL, stay, NULL);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
    void *library = dlopen(NULL, RTLD_NOW);
    _exit(library && write(1, "loaded\n", 7) == 7 ? 5 : 1);
}
P
cc -w -O1 -o filtered filtered.c -ldl -lpthread
run nothing ./filtered && cat out
