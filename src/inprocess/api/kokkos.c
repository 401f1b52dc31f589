/* libtidemark-kokkos: what Kokkos tells its tools (KOKKOS_TOOLS_LIBS), told to the recorder.
 *
 *   View in memory of the host   a block of a pool, in a region "Host: label": memory by label, with
 *                                the call path that made the View
 *   View on a device             no memory of the process: its space is counted here, and a mark at
 *                                the end says "Cuda: 8000 bytes at most, 0 left"
 *   profiling region, event      a region, a mark
 *
 * Kokkos loads the library with dlopen() and finds these functions by name, as its documentation of
 * tools has them. Kokkos calls after it has allocated and before it frees. What it allocated is a
 * chunk of a pool from then on, so nothing counts twice. Without a recorder every call is a load
 * and a branch. Nothing here allocates. */
#include "api/provider.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define TOOL __attribute__((visibility("default")))

enum { SPACE_NAME_BYTES = 64, SPACES_MOST = 8 };

/* Passed by value in all calls. */
struct kokkos_space {
    char name[SPACE_NAME_BYTES];
};

/* Whether Kokkos waits for devices before it calls a tool. */
struct kokkos_tool_settings {
    bool requires_global_fencing;
    bool padding[255];
};

TOOL void kokkosp_init_library(int sequence, uint64_t interface, uint32_t device_count,
                               void *devices);
TOOL void kokkosp_finalize_library(void);
TOOL void kokkosp_request_tool_settings(uint32_t count, struct kokkos_tool_settings *settings);
TOOL void kokkosp_allocate_data(struct kokkos_space space, const char *label, const void *data,
                                uint64_t bytes);
TOOL void kokkosp_deallocate_data(struct kokkos_space space, const char *label, const void *data,
                                  uint64_t bytes);
TOOL void kokkosp_push_profile_region(const char *name);
TOOL void kokkosp_pop_profile_region(void);
TOOL void kokkosp_profile_event(const char *name);

static const struct tidemark_recorder *kokkos_recorder(void)
{
    return &tidemark_recorder_1;
}

/* ---- Spaces ---- */

/* Is it memory from malloc or mmap of this process? All other names are of devices, or of memory
 * from a driver. */
static bool kokkos_is_host(const struct kokkos_space *space)
{
    return !strncmp(space->name, "Host", SPACE_NAME_BYTES) ||
           !strncmp(space->name, "HBW", SPACE_NAME_BYTES);
}

static struct kokkos_device {
    _Atomic int taken; /* 0: free, 1: the name is being written, 2: the name is complete */
    char name[SPACE_NAME_BYTES];
    _Atomic uint64_t live_bytes, peak_bytes;
} kokkos_devices[SPACES_MOST];

/* The entry of a device's space, which is made if need be; NULL: there are too many spaces. */
static struct kokkos_device *kokkos_device_of(const struct kokkos_space *space)
{
    for (int i = 0; i < SPACES_MOST; i++) {
        struct kokkos_device *device = &kokkos_devices[i];
        int is_free = 0;
        if (atomic_compare_exchange_strong(&device->taken, &is_free, 1)) {
            memcpy(device->name, space->name, SPACE_NAME_BYTES - 1);
            atomic_store(&device->taken, 2);
        }
        while (atomic_load(&device->taken) == 1) {
        }
        if (!strncmp(device->name, space->name, SPACE_NAME_BYTES - 1))
            return device;
    }
    return NULL;
}

/* Memory that was allocated before the tool was loaded is not in `live_bytes`, so the result is at
 * least 0. */
static void kokkos_device_shrink(struct kokkos_device *device, uint64_t bytes)
{
    uint64_t live = atomic_load(&device->live_bytes);
    while (!atomic_compare_exchange_weak(&device->live_bytes, &live,
                                         live > bytes ? live - bytes : 0)) {
    }
}

static void kokkos_device_grow(struct kokkos_device *device, uint64_t bytes)
{
    uint64_t live = atomic_fetch_add(&device->live_bytes, bytes) + bytes;
    uint64_t peak = atomic_load(&device->peak_bytes);
    while (live > peak && !atomic_compare_exchange_weak(&device->peak_bytes, &peak, live)) {
    }
}

/* The block that malloc returned. Kokkos before 4 may align by itself; then the word before `data`
 * points to the block. At a page's beginning the word is not read, because the page before need not
 * be mapped. */
static const void *kokkos_block_of(const void *data)
{
    enum { PAGE = 4096, SHIFT_MOST = 256 };
    uintptr_t address = (uintptr_t)data, before;
    if (address % PAGE < sizeof before || address % sizeof before)
        return data;
    memcpy(&before, (const char *)data - sizeof before, sizeof before);
    bool is_shifted = address - before >= sizeof before && address - before <= SHIFT_MOST;
    return is_shifted ? (const char *)data - (address - before) : data;
}

/* ---- Called by Kokkos ---- */

void kokkosp_init_library(int sequence, uint64_t interface, uint32_t device_count, void *devices)
{
    (void)sequence, (void)interface, (void)device_count, (void)devices;
}

/* Allocations are complete when Kokkos calls the tool, so it need not wait for devices. */
void kokkosp_request_tool_settings(uint32_t count, struct kokkos_tool_settings *settings)
{
    if (count)
        settings->requires_global_fencing = false;
}

static void kokkos_name(char name[TIDEMARK_NAME_BYTES + 1], const struct kokkos_space *space,
                        const char *label)
{
    snprintf(name, TIDEMARK_NAME_BYTES + 1, "%.15s: %s", space->name,
             label && *label ? label : "(no label)");
}

void kokkosp_allocate_data(struct kokkos_space space, const char *label, const void *data,
                           uint64_t bytes)
{
    char name[TIDEMARK_NAME_BYTES + 1];
    const struct tidemark_recorder *recorder = kokkos_recorder();
    if (!recorder || !data)
        return;
    if (!kokkos_is_host(&space)) {
        struct kokkos_device *device = kokkos_device_of(&space);
        if (device)
            kokkos_device_grow(device, bytes);
        return;
    }
    kokkos_name(name, &space, label);
    recorder->region_begin(name);
    recorder->pool_chunk(kokkos_block_of(data));
    recorder->pool_alloc(data, bytes);
    recorder->region_end(name);
}

void kokkosp_deallocate_data(struct kokkos_space space, const char *label, const void *data,
                             uint64_t bytes)
{
    const struct tidemark_recorder *recorder = kokkos_recorder();
    (void)label;
    if (!recorder || !data)
        return;
    if (kokkos_is_host(&space)) {
        recorder->pool_free(data);
        return;
    }
    struct kokkos_device *device = kokkos_device_of(&space);
    if (device)
        kokkos_device_shrink(device, bytes);
}

void kokkosp_push_profile_region(const char *name)
{
    if (kokkos_recorder())
        kokkos_recorder()->region_begin(name);
}

void kokkosp_pop_profile_region(void)
{
    if (kokkos_recorder())
        kokkos_recorder()->region_end(NULL);
}

void kokkosp_profile_event(const char *name)
{
    if (kokkos_recorder())
        kokkos_recorder()->mark(name);
}

void kokkosp_finalize_library(void)
{
    char text[TIDEMARK_NAME_BYTES + 1];
    for (int i = 0; kokkos_recorder() && i < SPACES_MOST; i++) {
        struct kokkos_device *device = &kokkos_devices[i];
        if (atomic_load(&device->taken) != 2)
            break;
        snprintf(text, sizeof text, "%.15s: %llu bytes at most, %llu left", device->name,
                 (unsigned long long)atomic_load(&device->peak_bytes),
                 (unsigned long long)atomic_load(&device->live_bytes));
        kokkos_recorder()->mark(text);
    }
}
