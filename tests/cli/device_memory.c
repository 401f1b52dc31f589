/* Asks a driver (device_memory_driver.c) for memory of each space, in a way that is named: `linked`, by
 * dlopen and dlsym (`opened`), by the driver's own search (`asked`), and opened while other threads
 * run (`threads`). How much and from where is known. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef HIP
#define LIBRARY         "libamdhip64.so.6"
#define NAME(cuda, hip) hip
#else
#define LIBRARY         "libcuda.so.1"
#define NAME(cuda, hip) cuda
#endif
#define KIB (size_t)1024
#define MIB (1024 * KIB)

/* Each function, the end of its exported name where that is another than the one that is asked
 * for, and its parameters. */
#define FUNCTIONS(X)                                                                               \
    X(alloc, NAME("cuMemAlloc", "hipMalloc"), NAME("_v2", ""), (uintptr_t *, size_t))              \
    X(release, NAME("cuMemFree", "hipFree"), NAME("_v2", ""), (uintptr_t))                         \
    X(pitch, NAME("cuMemAllocPitch", "hipMallocPitch"), NAME("_v2", ""),                           \
      (uintptr_t *, size_t *, size_t, size_t, unsigned))                                           \
    X(managed, NAME("cuMemAllocManaged", "hipMallocManaged"), "", (uintptr_t *, size_t, unsigned)) \
    X(pin, NAME("cuMemHostAlloc", "hipHostMalloc"), "", (void **, size_t, unsigned))               \
    X(unpin, NAME("cuMemFreeHost", "hipHostFree"), "", (void *))                                   \
    X(enroll, NAME("cuMemHostRegister", "hipHostRegister"), NAME("_v2", ""),                       \
      (void *, size_t, unsigned))                                                                  \
    X(retire, NAME("cuMemHostUnregister", "hipHostUnregister"), "", (void *))                      \
    X(later, NAME("cuMemAllocAsync", "hipMallocAsync"), "", (uintptr_t *, size_t, void *))         \
    X(release_later, NAME("cuMemFreeAsync", "hipFreeAsync"), "", (uintptr_t, void *))              \
    X(create, NAME("cuMemCreate", "hipMemCreate"), "",                                             \
      (uintptr_t *, size_t, const unsigned *, unsigned long long))                                 \
    X(let_go, NAME("cuMemRelease", "hipMemRelease"), "", (uintptr_t))                              \
    X(map, NAME("cuMemMap", "hipMemMap"), "",                                                      \
      (uintptr_t, size_t, size_t, uintptr_t, unsigned long long))                                  \
    X(unmap, NAME("cuMemUnmap", "hipMemUnmap"), "", (uintptr_t, size_t))                           \
    X(end, NAME("cuCtxDestroy", "hipDeviceReset"), NAME("_v2", ""), (void *))

#define X(id, name, end, parameters) static int(*id) parameters;
FUNCTIONS(X)
#undef X

#ifdef LINKED
#ifdef HIP
int hipMalloc(), hipFree(), hipMallocPitch(), hipMallocManaged(), hipHostMalloc(), hipHostFree(),
    hipHostRegister(), hipHostUnregister(), hipMallocAsync(), hipFreeAsync(), hipMemCreate(),
    hipMemRelease(), hipMemMap(), hipMemUnmap(), hipDeviceReset();
static void *const linked[] = {hipMalloc,      hipFree,      hipMallocPitch,  hipMallocManaged,
                               hipHostMalloc,  hipHostFree,  hipHostRegister, hipHostUnregister,
                               hipMallocAsync, hipFreeAsync, hipMemCreate,    hipMemRelease,
                               hipMemMap,      hipMemUnmap,  hipDeviceReset};
#else
int cuMemAlloc_v2(), cuMemFree_v2(), cuMemAllocPitch_v2(), cuMemAllocManaged(), cuMemHostAlloc(),
    cuMemFreeHost(), cuMemHostRegister_v2(), cuMemHostUnregister(), cuMemAllocAsync(),
    cuMemFreeAsync(), cuMemCreate(), cuMemRelease(), cuMemMap(), cuMemUnmap(), cuCtxDestroy_v2();
static void *const linked[] = {
    cuMemAlloc_v2,   cuMemFree_v2,   cuMemAllocPitch_v2,   cuMemAllocManaged,
    cuMemHostAlloc,  cuMemFreeHost,  cuMemHostRegister_v2, cuMemHostUnregister,
    cuMemAllocAsync, cuMemFreeAsync, cuMemCreate,          cuMemRelease,
    cuMemMap,        cuMemUnmap,     cuCtxDestroy_v2};
#endif
#endif

static void *find(const char *way, void *library, const char *name, const char *end)
{
    char whole[64];
    void *function = NULL;
    int (*ask)(const char *, void **, int, unsigned long long, int *) =
        dlsym(library, NAME("cuGetProcAddress_v2", "hipGetProcAddress"));
    if (strcmp(way, "asked") == 0) {
        ask(name, &function, 12000, 0, NULL);
        return function;
    }
    snprintf(whole, sizeof whole, "%s%s", name, end);
    return dlsym(library, whole);
}

static void take_functions(const char *way)
{
#ifdef LINKED
    void *const *at = linked;
    (void)way;
#define X(id, name, end, parameters) *(void **)&id = *at++;
#else
    void *library = dlopen(LIBRARY, RTLD_NOW);
    if (!library) {
        printf("%s\n", dlerror());
        exit(1);
    }
#define X(id, name, end, parameters) *(void **)&id = find(way, library, name, end);
#endif
    FUNCTIONS(X)
#undef X
}

static int done, refused;
#define DO(call) ((call) ? (void)refused++ : (void)done++)

/* 10 MiB at once, then 2. */
__attribute__((noinline)) static void make_mesh(void)
{
    uintptr_t blocks[10];
    for (int i = 0; i < 10; i++)
        DO(alloc(&blocks[i], MIB));
    for (int i = 0; i < 8; i++)
        DO(release(blocks[i]));
}

/* Rows of 500 bytes, which the driver makes 512. */
__attribute__((noinline)) static void make_image(void)
{
    uintptr_t block;
    size_t row = 0;
    DO(pitch(&block, &row, 500, 100, 4));
    DO(release(block));
}

__attribute__((noinline)) static void make_managed(void)
{
    uintptr_t block;
    DO(managed(&block, 3 * MIB, 1));
    DO(release(block));
}

__attribute__((noinline)) static void make_pinned(void)
{
    void *one, *other;
    DO(pin(&one, 64 * KIB, 0));
    DO(pin(&other, 64 * KIB, 0));
    DO(unpin(other));
    void *own = malloc(32 * KIB);
    DO(enroll(own, 32 * KIB, 0));
    DO(retire(own));
    free(own);
}

/* The same address again and again. */
__attribute__((noinline)) static void make_later(void)
{
    for (int i = 0; i < 1000; i++) {
        uintptr_t block;
        DO(later(&block, 4 * KIB, NULL));
        DO(release_later(block, NULL));
    }
}

/* Released while it is mapped: it lives until it is unmapped. One is of the host, and is kept. */
__attribute__((noinline)) static void make_physical(void)
{
    static const unsigned on_device[8] = {1, 0, 1, 0}, on_host[8] = {1, 0, 2, 0};
    uintptr_t handle, other;
    DO(create(&handle, 16 * MIB, on_device, 0));
    DO(map(1ull << 40, 16 * MIB, 0, handle, 0));
    DO(let_go(handle));
    DO(create(&other, MIB, on_host, 0));
    DO(unmap(1ull << 40, 16 * MIB));
}

/* Too much; what is not there; no bytes. */
__attribute__((noinline)) static void be_refused(void)
{
    uintptr_t block = 77;
    for (int i = 0; i < 4; i++)
        DO(alloc(&block, (size_t)1 << 41));
    DO(release(0x1234));
    DO(alloc(&block, 0));
    printf("after refusals the block is %lu\n", (unsigned long)block);
}

static void *stay(void *unused)
{
    pause();
    return unused;
}

int main(int count, char **arguments)
{
    pthread_t thread;
    const char *way = count > 1 ? arguments[1] : "opened";
    for (int i = 0; i < 3 && strcmp(way, "threads") == 0; i++)
        pthread_create(&thread, NULL, stay, NULL);
    take_functions(way);
    make_mesh();
    make_image();
    make_managed();
    make_pinned();
    make_later();
    make_physical();
    be_refused();
    if (count > 2)
        DO(end(NULL));
    printf("%d done, %d refused\n", done, refused);
    return 7;
}
