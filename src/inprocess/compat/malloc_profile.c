/* libtidemark-malloc-profile: counts by region, their table at exit, and memprofile for C. Columns,
 * words and the bins of sizes are the original's, for scripts that read them. */
#include "tidemark/malloc_profile/malloc_profile.h"

#include <stdint.h>
#include <stdio.h>
#include "counters/counters.h"
#include "counters/line.h"
#include "compat/interface.h"

#define API __attribute__((visibility("default")))

/* ---- Regions ---- */

enum { BINS = 10, REGIONS = 3 };
static const unsigned bin_most[BINS - 1] = {16, 32, 48, 64, 96, 128, 256, 512, 1024};

static struct region {
    uint64_t mallocs, frees, bytes, bins[BINS];
} malloc_profile_regions[REGIONS];
static int64_t malloc_profile_live_blocks, malloc_profile_most_live_blocks;

static int malloc_profile_process_region = SEQ_REGION,
           malloc_profile_process_region_before = SEQ_REGION;
static __thread unsigned
    malloc_profile_transactions; /* transactional regions that this thread is in */

API int malloc_enter_region(region_type region)
{
    if (region == TX_REGION) {
        malloc_profile_transactions++;
    } else {
        int before =
            __atomic_exchange_n(&malloc_profile_process_region, (int)region, __ATOMIC_ACQ_REL);
        __atomic_store_n(&malloc_profile_process_region_before, before, __ATOMIC_RELEASE);
    }
    return 1;
}

API void malloc_exit_current_region(void)
{
    if (malloc_profile_transactions)
        malloc_profile_transactions--;
    else
        __atomic_store_n(&malloc_profile_process_region,
                         __atomic_load_n(&malloc_profile_process_region_before, __ATOMIC_ACQUIRE),
                         __ATOMIC_RELEASE);
}

static struct region *malloc_profile_region_now(void)
{
    return &malloc_profile_regions[malloc_profile_transactions
                                       ? (int)TX_REGION
                                       : __atomic_load_n(&malloc_profile_process_region,
                                                         __ATOMIC_ACQUIRE)];
}

static uint64_t malloc_profile_add(uint64_t *figure, uint64_t amount)
{
    return __atomic_add_fetch(figure, amount, __ATOMIC_RELAXED);
}

static void malloc_profile_count_block(int64_t change)
{
    int64_t now = __atomic_add_fetch(&malloc_profile_live_blocks, change, __ATOMIC_RELAXED);
    int64_t most = __atomic_load_n(&malloc_profile_most_live_blocks, __ATOMIC_RELAXED);
    while (now > most && !__atomic_compare_exchange_n(&malloc_profile_most_live_blocks, &most, now,
                                                      true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

static unsigned malloc_profile_bin_of(size_t size)
{
    unsigned bin = 0;
    while (bin < BINS - 1 && size > bin_most[bin])
        bin++;
    return bin;
}

static void malloc_profile_count_in_region(bool allocated, size_t size, size_t current)
{
    (void)current;
    struct region *region = malloc_profile_region_now();
    malloc_profile_count_block(allocated ? 1 : -1);
    if (!allocated) {
        malloc_profile_add(&region->frees, 1);
        return;
    }
    malloc_profile_add(&region->mallocs, 1);
    malloc_profile_add(&region->bytes, size);
    malloc_profile_add(&region->bins[malloc_profile_bin_of(size)], 1);
}

/* ---- The callback ---- */

static struct callback malloc_profile_callback;

#define SUM(field)                                                                                 \
    ((size_t)(malloc_profile_regions[SEQ_REGION].field + malloc_profile_regions[PAR_REGION].field))

static void malloc_profile_call_back(bool allocated, size_t size, size_t current)
{
    struct callback now = callback_get(&malloc_profile_callback);
    (void)allocated, (void)size;
    if (now.call)
        ((malloc_count_callback_type)now.call)(now.cookie, current, SUM(mallocs), SUM(frees),
                                               (size_t)malloc_profile_regions[TX_REGION].mallocs,
                                               (size_t)malloc_profile_regions[TX_REGION].frees);
}

API void malloc_count_set_callback(malloc_count_callback_type call, void *cookie)
{
    observers_set(NULL); /* no calls while the callback changes */
    callback_set(&malloc_profile_callback, (void (*)(void))call, cookie);
    if (call)
        observers_set(malloc_profile_call_back);
}

/* ---- memprofile ---- */

static struct tidemark_memprofile *profile;

static size_t malloc_profile_details(char *line, size_t bytes)
{
    int length = snprintf(line, bytes, " %zu %zu %zu %zu", SUM(mallocs), SUM(frees),
                          (size_t)malloc_profile_regions[TX_REGION].mallocs,
                          (size_t)malloc_profile_regions[TX_REGION].frees);
    return length < 0 ? 0 : (size_t)length < bytes ? (size_t)length : bytes - 1;
}

static void malloc_profile_changed(void *cookie, size_t current, size_t mallocs, size_t frees,
                                   size_t mallocs_tx, size_t frees_tx)
{
    (void)mallocs, (void)frees, (void)mallocs_tx, (void)frees_tx;
    memprofile_changed(cookie, current);
}

API void memprofile_start(const char *path, double time_resolution, size_t size_resolution,
                          const char *function)
{
    static const struct memprofile_source source = {malloc_count_current, malloc_profile_details};
    memprofile_end();
    profile = memprofile_open(path, time_resolution, size_resolution, function,
                              __builtin_frame_address(0), &source);
    if (profile)
        malloc_count_set_callback(malloc_profile_changed, profile);
}

API void memprofile_insertnull(void)
{
    static unsigned number;
    if (profile)
        printf("\nBeginRegion %u: %g\n", __atomic_fetch_add(&number, 1, __ATOMIC_RELAXED),
               memprofile_seconds(profile));
}

API void memprofile_end(void)
{
    struct tidemark_memprofile *ending = profile;
    if (!ending)
        return;
    malloc_count_set_callback(NULL, NULL);
    profile = NULL;
    memprofile_close(ending);
}

/* ---- Beginning and end ---- */

__attribute__((constructor)) static void malloc_profile_begin(void)
{
    observers_set_all(malloc_profile_count_in_region);
}

static void malloc_profile_print_region(const char *name, const struct region *region)
{
    struct line line = {0};
    line_add(&line, name);
    for (unsigned bin = 0; bin < BINS; bin++) {
        line_add_by_locale(&line, (int64_t)region->bins[bin]);
        line_add(&line, "  ");
    }
    line_add_by_locale(&line, (int64_t)region->mallocs);
    line_add(&line, "  ");
    line_add_by_locale(&line, (int64_t)region->frees);
    line_add(&line, "  ");
    line_add_by_locale(&line, (int64_t)region->bytes);
    puts(line.text);
}

static void malloc_profile_print_first_line(const struct count_figures *figures, uint64_t mallocs)
{
    struct line line = {0};
    if (count_nothing_came(&count_state)) {
        line_add(&line, "malloc_count ### exiting");
        line_add_in_front(&line, &count_state);
        puts(line.text);
        return;
    }
    line_add(&line, "malloc_count ### mallocs/peak: ");
    line_add_by_locale(&line, (int64_t)mallocs);
    line_add(&line, " ");
    line_add_by_locale(&line, malloc_profile_most_live_blocks);
    line_add(&line, "   frees: ");
    line_add_by_locale(&line, (int64_t)(SUM(frees) + malloc_profile_regions[TX_REGION].frees));
    line_add(&line, "    total: ");
    line_add_by_locale(&line, (int64_t)figures->requested_bytes);
    line_add(&line, "   peak: ");
    line_add_by_locale(&line, figures->peak_bytes);
    line_add(&line, "   current: ");
    line_add_by_locale(&line, figures->current_bytes);
    puts(line.text);
}

__attribute__((destructor)) static void malloc_profile_end(void)
{
    struct count_figures figures;
    struct line line = {0};
    uint64_t mallocs = SUM(mallocs) + malloc_profile_regions[TX_REGION].mallocs;
    observers_set(NULL);
    observers_set_all(NULL); /* so that the table does not count its own buffer */
    count_figures_of(&figures, &count_state);
    malloc_profile_print_first_line(&figures, mallocs);
    puts("==========\nbins: 16  32  48  64  96  128  256  512  1024  >1024 mallocs frees "
         "mem-allocated ");
    malloc_profile_print_region("sequential: ", &malloc_profile_regions[SEQ_REGION]);
    malloc_profile_print_region("parallel: ", &malloc_profile_regions[PAR_REGION]);
    malloc_profile_print_region("transactional: ", &malloc_profile_regions[TX_REGION]);
    line_add(&line, "==========\ntotal = ");
    line_add_by_locale(&line, (int64_t)mallocs);
    puts(line.text);
}
