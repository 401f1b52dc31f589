/* A stand-in for the drivers of graphics processors, made twice: with CUDA's names for libcuda.so.1
 * and with HIP's for libamdhip64.so.6. There is no such processor here, so blocks of the device lie in
 * a range that nothing may touch, as with a driver that has one range of addresses for both. HIDDEN:
 * functions that are asked for by name are others than those that are exported. ONE_FREE: one function
 * frees memory of the device and of the host. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef HIP
#define NAME(cuda, hip) hip
#else
#define NAME(cuda, hip) cuda
#endif
enum { DONE, INVALID, OUT_OF_MEMORY, GRAIN = 512, BLOCKS = 4096 };
#define DEVICE_BYTES ((size_t)1 << 32)

static struct block {
    uintptr_t address;
    size_t bytes;
    int is_free;
} blocks[BLOCKS];
static unsigned count;
static char *device;
static size_t used;

/* Freed blocks of the same size are handed out again, the last one first. */
static struct block *driver_reuse(size_t bytes)
{
    for (unsigned i = count; i-- > 0;)
        if (blocks[i].is_free && blocks[i].bytes == bytes)
            return &blocks[i];
    return NULL;
}

static int driver_take(uintptr_t *block, size_t bytes)
{
    size_t whole = (bytes + GRAIN - 1) / GRAIN * GRAIN;
    struct block *old = driver_reuse(bytes);
    if (!device)
        device =
            mmap(NULL, DEVICE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!bytes)
        return INVALID;
    if (old) {
        old->is_free = 0;
        *block = old->address;
        return DONE;
    }
    if (device == MAP_FAILED || bytes > DEVICE_BYTES - used || count == BLOCKS)
        return OUT_OF_MEMORY; /* and *block is as it was */
    blocks[count++] = (struct block){(uintptr_t)device + used, bytes, 0};
    *block = (uintptr_t)device + used;
    used += whole;
    return DONE;
}

static int driver_give(uintptr_t block)
{
    for (unsigned i = 0; i < count; i++)
        if (blocks[i].address == block && !blocks[i].is_free) {
            blocks[i].is_free = 1;
            return DONE;
        }
    return INVALID;
}

/* Memory of the host, with a header that says how much it is. */
static int driver_pin(void **block, size_t bytes)
{
    size_t *got =
        mmap(NULL, bytes + 64, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (got == MAP_FAILED)
        return OUT_OF_MEMORY;
    *got = bytes + 64;
    memset(got + 8, 1, bytes);
    *block = got + 8;
    return DONE;
}

static int driver_unpin(void *block)
{
    size_t *got = (size_t *)block - 8;
    return munmap(got, *got) == 0 ? DONE : INVALID;
}

/* ---- What both have ---- */

int NAME(cuMemAlloc_v2, hipMalloc)(uintptr_t *block, size_t bytes)
{
    void *volatile note = malloc(40); /* the driver's own, of the heap */
    int status = driver_take(block, bytes);
    free(note);
    return status;
}

int NAME(cuMemFree_v2, hipFree)(uintptr_t block)
{
#ifdef ONE_FREE
    if (block > DEVICE_BYTES && block - (uintptr_t)device >= DEVICE_BYTES)
        return driver_unpin((void *)block);
#endif
    return driver_give(block);
}

int NAME(cuMemAllocPitch_v2, hipMallocPitch)(uintptr_t *block, size_t *pitch, size_t width,
                                             size_t height)
{
    *pitch = (width + GRAIN - 1) / GRAIN * GRAIN;
    return driver_take(block, *pitch * height);
}

int NAME(cuMemAllocManaged, hipMallocManaged)(uintptr_t *block, size_t bytes, unsigned flags)
{
    (void)flags;
    return driver_take(block, bytes);
}

int NAME(cuMemHostAlloc, hipHostMalloc)(void **block, size_t bytes, unsigned flags)
{
    (void)flags;
    return driver_pin(block, bytes);
}

#ifdef ONE_FREE
int NAME(cuMemFreeHost, hipHostFree)(uintptr_t block)
    __attribute__((alias(NAME("cuMemFree_v2", "hipFree"))));
#else
int NAME(cuMemFreeHost, hipHostFree)(void *block)
{
    return driver_unpin(block);
}
#endif

int NAME(cuMemHostRegister_v2, hipHostRegister)(void *block, size_t bytes, unsigned flags)
{
    (void)bytes, (void)flags;
    return block ? DONE : INVALID;
}

int NAME(cuMemHostUnregister, hipHostUnregister)(void *block)
{
    return block ? DONE : INVALID;
}

/* By another function of the driver. */
int NAME(cuMemAllocAsync, hipMallocAsync)(uintptr_t *block, size_t bytes, void *stream)
{
    (void)stream;
    return NAME(cuMemAlloc_v2, hipMalloc)(block, bytes);
}

int NAME(cuMemFreeAsync, hipFreeAsync)(uintptr_t block, void *stream)
{
    (void)stream;
    return NAME(cuMemFree_v2, hipFree)(block);
}

int NAME(cuMemCreate, hipMemCreate)(uintptr_t *handle, size_t bytes, const unsigned *properties,
                                    unsigned long long flags)
{
    static uintptr_t handles;
    (void)properties, (void)flags;
    if (bytes > DEVICE_BYTES)
        return OUT_OF_MEMORY;
    *handle = ++handles;
    return DONE;
}

int NAME(cuMemRelease, hipMemRelease)(uintptr_t handle)
{
    return handle ? DONE : INVALID;
}

int NAME(cuMemMap, hipMemMap)(uintptr_t address, size_t bytes, size_t offset, uintptr_t handle,
                              unsigned long long flags)
{
    (void)address, (void)offset, (void)flags;
    return handle && bytes ? DONE : INVALID;
}

int NAME(cuMemUnmap, hipMemUnmap)(uintptr_t address, size_t bytes)
{
    return address && bytes ? DONE : INVALID;
}

int NAME(cuCtxDestroy_v2, hipDeviceReset)(void *context)
{
    (void)context;
    return DONE;
}

/* ---- By name ---- */

#ifdef HIDDEN
static int hidden_alloc(uintptr_t *block, size_t bytes)
{
    return driver_take(block, bytes);
}
static int hidden_free(uintptr_t block)
{
    return driver_give(block);
}
#else
#define hidden_alloc NAME(cuMemAlloc_v2, hipMalloc)
#define hidden_free  NAME(cuMemFree_v2, hipFree)
#endif

static const struct {
    const char *name;
    void *function;
} named[] = {
    {NAME("cuMemAlloc", "hipMalloc"), (void *)hidden_alloc},
    {NAME("cuMemFree", "hipFree"), (void *)hidden_free},
    {NAME("cuMemAllocPitch", "hipMallocPitch"), (void *)NAME(cuMemAllocPitch_v2, hipMallocPitch)},
    {NAME("cuMemAllocManaged", "hipMallocManaged"),
     (void *)NAME(cuMemAllocManaged, hipMallocManaged)},
    {NAME("cuMemHostAlloc", "hipHostMalloc"), (void *)NAME(cuMemHostAlloc, hipHostMalloc)},
    {NAME("cuMemFreeHost", "hipHostFree"), (void *)NAME(cuMemFreeHost, hipHostFree)},
    {NAME("cuMemHostRegister", "hipHostRegister"),
     (void *)NAME(cuMemHostRegister_v2, hipHostRegister)},
    {NAME("cuMemHostUnregister", "hipHostUnregister"),
     (void *)NAME(cuMemHostUnregister, hipHostUnregister)},
    {NAME("cuMemAllocAsync", "hipMallocAsync"), (void *)NAME(cuMemAllocAsync, hipMallocAsync)},
    {NAME("cuMemFreeAsync", "hipFreeAsync"), (void *)NAME(cuMemFreeAsync, hipFreeAsync)},
    {NAME("cuMemCreate", "hipMemCreate"), (void *)NAME(cuMemCreate, hipMemCreate)},
    {NAME("cuMemRelease", "hipMemRelease"), (void *)NAME(cuMemRelease, hipMemRelease)},
    {NAME("cuMemMap", "hipMemMap"), (void *)NAME(cuMemMap, hipMemMap)},
    {NAME("cuMemUnmap", "hipMemUnmap"), (void *)NAME(cuMemUnmap, hipMemUnmap)},
    {NAME("cuCtxDestroy", "hipDeviceReset"), (void *)NAME(cuCtxDestroy_v2, hipDeviceReset)},
};

int NAME(cuGetProcAddress_v2, hipGetProcAddress)(const char *name, void **function, int version,
                                                 unsigned long long flags, int *status)
{
    (void)version, (void)flags;
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (strcmp(named[i].name, name) == 0) {
            *function = named[i].function;
            if (status)
                *status = 0;
            return DONE;
        }
    *function = NULL;
    return INVALID;
}
