/* What the machine's view costs: the table of a process with many mappings, and the sweep of many
 * blocks over its page table, by both methods. By hand: `ninja bench_process`, then
 *   bench_process [MAPPINGS [BLOCKS]]      (2,000 and 5,000,000) */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "procfs/page_table.h"
#include "procfs/smaps.h"

#define ROUNDS 5

static char *heap;
static size_t heap_bytes;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static pid_t start_victim(size_t mappings)
{
    int ready[2];
    char byte;
    if (pipe(ready) != 0)
        abort();
    pid_t victim = fork();
    if (victim == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (size_t i = 0; i < mappings; i++) {
            char *memory = mmap(NULL, 8192, i & 1 ? PROT_READ : PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (!(i & 1))
                memory[0] = 1;
        }
        for (size_t at = 0; at < heap_bytes; at += 4096) {
            if (at / 4096 % 16 != 7) /* most pages are there, in runs of 15 */
                heap[at] = 1;
        }
        if (write(ready[1], "", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    if (read(ready[0], &byte, 1) != 1)
        abort();
    return victim;
}

static void bench_smaps(pid_t victim)
{
    struct smaps smaps = SMAPS_INIT;
    struct smaps_totals totals;
    struct smaps_bytes bytes;
    double best = 1e9, best_rollup = 1e9, begin;
    for (int i = 0; i < ROUNDS; i++) {
        begin = seconds();
        if (smaps_read(&smaps, victim) != 0)
            abort();
        smaps_sum(&smaps, &totals);
        best = seconds() - begin < best ? seconds() - begin : best;
        begin = seconds();
        if (smaps_rollup(victim, &bytes) != 0)
            abort();
        best_rollup = seconds() - begin < best_rollup ? seconds() - begin : best_rollup;
    }
    printf("smaps: %zu mappings, RSS %llu KiB, %.2f ms; rollup %.2f ms\n", smaps.count,
           (unsigned long long)figure_or(totals.all.rss, 0) >> 10, best * 1e3, best_rollup * 1e3);
    smaps_release(&smaps);
}

static void add(size_t index, const struct page_table_bytes *bytes, void *context)
{
    (void)index;
    *(uint64_t *)context += bytes->resident;
}

static void bench_blocks(pid_t victim, const struct page_table_block *blocks, size_t count)
{
    for (int method = PAGES_SCAN; method <= PAGES_PREAD; method++) {
        struct pages pages;
        uint64_t resident = 0;
        double best = 1e9;
        if (page_table_open_with(&pages, victim, (enum pages_method)method) != 0)
            continue;
        for (int i = 0; i < ROUNDS; i++) {
            double begin = seconds();
            resident = 0;
            if (page_table_blocks(&pages, blocks, count, add, &resident) != 0)
                abort();
            best = seconds() - begin < best ? seconds() - begin : best;
        }
        printf("blocks by %s: %zu in %zu MiB, %llu MiB resident, %.1f ms, %.1f ns each\n",
               method == PAGES_SCAN ? "scan " : "pread", count, heap_bytes >> 20,
               (unsigned long long)resident >> 20, best * 1e3, best * 1e9 / (double)count);
        page_table_close(&pages);
    }
}

int main(int argc, char **argv)
{
    size_t mappings = argc > 1 ? strtoul(argv[1], NULL, 10) : 2000;
    size_t count = argc > 2 ? strtoul(argv[2], NULL, 10) : 5000000;
    struct page_table_block *blocks = malloc(count * sizeof *blocks);
    heap_bytes = (count * 160 + 4095) / 4096 * 4096;
    heap = mmap(NULL, heap_bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!blocks || heap == MAP_FAILED)
        return 1;
    madvise(heap, heap_bytes, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < count; i++)
        blocks[i] = (struct page_table_block){(uintptr_t)heap + i * 160, 16 + (i * 7919) % 140};
    pid_t victim = start_victim(mappings);
    bench_smaps(victim);
    bench_blocks(victim, blocks, count);
    kill(victim, SIGKILL);
    waitpid(victim, NULL, 0);
    free(blocks);
    return 0;
}
