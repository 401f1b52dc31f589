/* A look at a process that has touched known amounts of everything: each owner's row is what the
 * process says it did, and the sum is what another reader of smaps adds up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include "../../host/procfs/victim.h"
#include "../../model/numbers.h"

#include "collector/proc_look.h"
#include "procfs/process.h"

enum { PAGE = 4096, MIB = 1 << 20, HUGE = 2 << 20 };
enum {
    MAPPED = 64,      /* pages, of which … */
    TOUCHED = 24,     /* … so many are written, and of them … */
    BLANK = 8,        /* … so many with zeros, and … */
    COPIED = 6,       /* … so many again after a fork that lives */
    FILED = 32,       /* pages of a file */
    SEGMENT = 16,     /* pages of shared memory */
    DEEP = 40 * PAGE, /* bytes of a thread's stack */
};

struct known {
    char *anonymous, *file, *segment, *huge;
    char path[64];
    pid_t tid, forked;
    bool has_fork;
};

/* One of two halves is touched. */
static char global_array[64 * PAGE] __attribute__((aligned(4096)));

static void touch(char *memory, size_t pages, char value)
{
    for (size_t i = 0; i < pages; i++)
        ((volatile char *)memory)[i * PAGE] = value;
}

static void *use_stack(void *context)
{
    struct known *known = context;
    volatile char deep[DEEP];
    for (size_t i = 0; i < DEEP; i += PAGE)
        deep[i] = 1;
    prctl(PR_SET_NAME, "deep");
    known->tid = (pid_t)gettid();
    for (;;)
        pause();
    return (void *)(uintptr_t)deep[0];
}

static void map_all(struct known *known)
{
    int fd = open(known->path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || ftruncate(fd, FILED * PAGE) != 0)
        _exit(1);
    known->anonymous =
        mmap(NULL, MAPPED * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(known->anonymous, MAPPED * PAGE, MADV_NOHUGEPAGE);
    touch(known->anonymous, TOUCHED - BLANK, 1);
    touch(known->anonymous + (TOUCHED - BLANK) * PAGE, BLANK, 0);
    known->file = mmap(NULL, FILED * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    touch(known->file, FILED, 1);
    known->segment =
        mmap(NULL, SEGMENT * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    touch(known->segment, SEGMENT, 1);
    char *around = mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    known->huge = (char *)(((uintptr_t)around + HUGE - 1) & ~(uintptr_t)(HUGE - 1));
    madvise(known->huge, HUGE, MADV_HUGEPAGE);
    touch(known->huge, 1, 1);
    touch(global_array, 32, 1);
}

static void fork_and_copy(struct known *known)
{
    if (!known->has_fork)
        return;
    pid_t parent = getpid(), child = fork();
    if (child == 0) { /* goes with the victim, also if that has gone before */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        known->forked = getpid();
        while (getppid() == parent)
            pause();
        _exit(0);
    }
    while (!*(volatile pid_t *)&known->forked)
        usleep(1000);
    touch(known->anonymous, COPIED, 2);
}

static void have_everything(void *shared)
{
    struct known *known = shared;
    pthread_t thread;
    map_all(known);
    pthread_create(&thread, NULL, use_stack, known);
    while (!*(volatile pid_t *)&known->tid)
        usleep(1000);
    fork_and_copy(known);
}

/* ---- The look ---- */

static void claim(struct look *look, const char *start, size_t bytes, enum mapping_kind kind,
                  uint32_t path)
{
    look->claims = realloc(look->claims, (look->claim_count + 1) * sizeof *look->claims);
    look->claims[look->claim_count++] = (struct area_claim){.start = (uintptr_t)start,
                                                            .end = (uintptr_t)start + bytes,
                                                            .owner = AREA_MMAP,
                                                            .kind = kind,
                                                            .path = path};
}

/* The child of a fork copies a few pages of its own until it waits. */
static void settle(struct victim victim, const struct known *known)
{
    victim_settle(victim, 2);
    if (known->forked)
        victim_settle((struct victim){known->forked}, 1);
}

static void take(struct look *look, struct victim victim, const struct known *known, bool content)
{
    settle(victim, known);
    look_init(look, victim.pid);
    look->over_pages = true;
    look->wants_content = content;
    look->unknown = "before the recording";
    claim(look, known->anonymous, MAPPED * PAGE, MAPPING_ANONYMOUS, 1);
    claim(look, known->file, FILED * PAGE, MAPPING_FILE_SHARED, 2);
    claim(look, known->segment, SEGMENT * PAGE, MAPPING_SHARED, 3);
    claim(look, known->huge, HUGE, MAPPING_ANONYMOUS, 4);
    look_take(look);
    assert_int_equal(look->error, 0);
}

static const struct profile_owner *row_of(const struct look *look, int kind, uint32_t path,
                                          const char *name)
{
    for (size_t i = 0; i < look->owners.count; i++) {
        const struct profile_owner *row = &look->owners.rows[i];
        if (row->kind == kind && row->path == path &&
            (!name || (row->name && strcmp(row->name, name) == 0)))
            return row;
    }
    return NULL;
}

static uint64_t kernels_sum(pid_t pid, const char *key)
{
    char path[32], line[512];
    uint64_t sum = 0, kib;
    snprintf(path, sizeof path, "/proc/%d/smaps", (int)pid);
    FILE *file = fopen(path, "r");
    while (fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0 && sscanf(line + strlen(key), " %lu", &kib) == 1)
            sum += kib * 1024;
    fclose(file);
    return sum;
}

static uint64_t owned(const struct look *look)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < look->owners.count; i++)
        sum += number_of(look->owners.rows[i].resident_bytes);
    for (size_t i = 0; i < look->owners.touched_count; i++)
        sum += number_of(look->owners.touched[i].resident_bytes);
    return sum;
}

static uint64_t touched_of(const struct look *look, const char *start, size_t bytes)
{
    uint64_t sum = 0, from = (uintptr_t)start;
    for (size_t i = 0; i < look->owners.touched_count; i++) {
        const struct proc_touched *piece = &look->owners.touched[i];
        uint64_t low = piece->start > from ? piece->start : from;
        uint64_t high = piece->end < from + bytes ? piece->end : from + bytes;
        if (low < high && figure_positive(piece->resident_bytes))
            sum += high - low;
    }
    return sum;
}

static struct known *known_new(bool has_fork)
{
    struct known *known = victim_shared(sizeof *known);
    snprintf(known->path, sizeof known->path, "/tmp/tidemark-look-%d", (int)getpid());
    known->has_fork = has_fork;
    return known;
}

static void each_owner_has_what_it_touched(void **state)
{
    (void)state;
    struct known *known = known_new(false);
    struct victim victim = victim_start(have_everything, known);
    struct look look;
    take(&look, victim, known, false);
    assert_int_equal(owned(&look), kernels_sum(victim.pid, "Rss:"));
    assert_int_equal(owned(&look), number_of(look.sample.resident_bytes));
    const struct profile_owner *mapping = row_of(&look, PROFILE_OWNER_MAPPING, 1, NULL);
    assert_int_equal(number_of(mapping->resident_bytes), TOUCHED * PAGE);
    assert_int_equal(number_of(mapping->virtual_bytes), MAPPED * PAGE);
    assert_int_equal(number_of(mapping->count), 1);
    assert_false(figure_known(mapping->zero_bytes));
    const struct profile_owner *file = row_of(&look, PROFILE_OWNER_MAPPING, 2, known->path);
    assert_int_equal(number_of(file->resident_bytes), FILED * PAGE);
    const struct profile_owner *segment = row_of(&look, PROFILE_OWNER_MAPPING, 3, "shared memory");
    assert_int_equal(number_of(segment->resident_bytes), SEGMENT * PAGE);
    const struct profile_owner *stack = row_of(&look, PROFILE_OWNER_STACK, 0, "deep");
    assert_int_equal(number_of(stack->thread), known->tid);
    assert_in_range(number_of(stack->resident_bytes), DEEP, DEEP + 8 * PAGE);
    assert_int_equal(touched_of(&look, global_array, sizeof global_array), 32 * PAGE);
    assert_null(row_of(&look, PROFILE_OWNER_OTHER, 0, NULL));
    look_release(&look);
    victim_end(victim);
    unlink(known->path);
}

static void kinds_of_pages_are_told_by_owner(void **state)
{
    (void)state;
    struct known *known = known_new(true);
    struct victim victim = victim_start(have_everything, known);
    struct look look;
    settle(victim, known);
    uint64_t in_huge = kernels_sum(victim.pid, "AnonHugePages:");
    uint64_t proportional = kernels_sum(victim.pid, "Pss:"), sum = 0;
    take(&look, victim, known, true);
    uint64_t after = kernels_sum(victim.pid, "Pss:");
    assert_int_equal(owned(&look), kernels_sum(victim.pid, "Rss:"));
    const struct profile_owner *mapping = row_of(&look, PROFILE_OWNER_MAPPING, 1, NULL);
    assert_int_equal(number_of(mapping->shared_bytes), (TOUCHED - COPIED) * PAGE);
    assert_int_equal(number_of(mapping->zero_bytes), BLANK * PAGE);
    assert_int_equal(number_of(mapping->proportional_bytes), (TOUCHED + COPIED) * PAGE / 2);
    const struct profile_owner *huge = row_of(&look, PROFILE_OWNER_MAPPING, 4, NULL);
    assert_int_equal(number_of(huge->huge_bytes), in_huge);
    if (in_huge) {
        assert_int_equal(number_of(huge->resident_bytes), HUGE);
        assert_int_equal(number_of(huge->zero_bytes), HUGE - PAGE);
    }
    for (size_t i = 0; i < look.owners.count; i++)
        sum += number_of(look.owners.rows[i].proportional_bytes);
    for (size_t i = 0; i < look.owners.touched_count; i++)
        sum += number_of(look.owners.touched[i].proportional_bytes);
    /* It moves while other processes with the same libraries begin and end. */
    assert_in_range(sum, (proportional < after ? proportional : after) - 8192 - proportional / 50,
                    (proportional > after ? proportional : after) + 8192 + proportional / 50);
    /* Reading has copied and split nothing. */
    assert_int_equal(kernels_sum(victim.pid, "AnonHugePages:"), in_huge);
    look_release(&look);
    take(&look, victim, known, false);
    mapping = row_of(&look, PROFILE_OWNER_MAPPING, 1, NULL);
    assert_int_equal(number_of(mapping->shared_bytes), (TOUCHED - COPIED) * PAGE);
    look_release(&look);
    victim_end(victim);
    unlink(known->path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_owner_has_what_it_touched),
        cmocka_unit_test(kinds_of_pages_are_told_by_owner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
