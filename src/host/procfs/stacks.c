/* Finds the threads' stacks (stacks.h). The stack pointer comes from /proc/PID/task/TID/syscall or
 * from the caller. The mapping around it is found in smaps, its ends are cut at guards, and the
 * page table says which pages were touched. */
#include "procfs/stacks.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"

#include "procfs/proc_file.h"
#include "procfs/process.h"

/* ---- Stack pointers ------------------------------------------------------------------------ */

/* "NUMBER ARG1 … ARG6 SP PC" in a system call, "-1 SP PC" when blocked elsewhere, or "running". */
uint64_t stacks_parse_syscall(const char *text)
{
    const char *pc = NULL, *sp = NULL;
    if (!isdigit((unsigned char)*text) && *text != '-')
        return 0;
    for (const char *at = text; (at = strstr(at, " 0x")); at += 3) {
        sp = pc;
        pc = at;
    }
    if (!sp || !strchr(pc, '\n')) /* cut */
        return 0;
    return strtoull(sp, NULL, 16);
}

/* 0 if it is not known. kstkesp in stat, the other source, is only shown for a thread that
 * exits. */
static uint64_t stacks_read_pointer(pid_t pid, pid_t tid)
{
    char path[48];
    struct strbuf text = STRBUF_INIT;
    snprintf(path, sizeof path, "task/%d/syscall", (int)tid);
    uint64_t pointer = proc_read(pid, path, 4096, &text) == 0 ? stacks_parse_syscall(text.data) : 0;
    strbuf_release(&text);
    return pointer;
}

static int stacks_add_thread(struct stacks *stacks, pid_t tid, uint64_t pointer)
{
    if (!array_make_bare_room(&stacks->threads, &stacks->capacity, stacks->count,
                              sizeof *stacks->threads))
        return -ENOMEM;
    stacks->threads[stacks->count++] = (struct stacks_thread){
        .tid = tid,
        .stack_pointer = pointer,
        .touched_bytes = FIGURE_UNKNOWN,
        .resident_bytes = FIGURE_UNKNOWN,
        .reach_bytes = FIGURE_UNKNOWN,
        .depth_bytes = FIGURE_UNKNOWN,
    };
    return 0;
}

struct stacks_listing {
    struct stacks *stacks;
    pid_t pid;
};

static int stacks_list_thread(pid_t tid, void *context)
{
    struct stacks_listing *listing = context;
    return stacks_add_thread(listing->stacks, tid, stacks_read_pointer(listing->pid, tid));
}

static int stacks_thread_compare(const void *left, const void *right)
{
    const struct stacks_thread *a = left, *b = right;
    return (a->tid > b->tid) - (a->tid < b->tid);
}

int stacks_list(struct stacks *stacks, pid_t pid)
{
    struct stacks_listing listing = {stacks, pid};
    stacks->count = 0;
    int error = proc_threads(pid, stacks_list_thread, &listing);
    if (!error && !stacks->count)
        error = -ESRCH;
    if (error)
        stacks->count = 0;
    else
        qsort(stacks->threads, stacks->count, sizeof *stacks->threads, stacks_thread_compare);
    return error;
}

int stacks_list_one(struct stacks *stacks, pid_t tid, uint64_t pointer)
{
    stacks->count = 0;
    return stacks_add_thread(stacks, tid, pointer);
}

static int stacks_place_compare(const void *left, const void *right)
{
    const struct stacks_place *a = left, *b = right;
    return (a->tid > b->tid) - (a->tid < b->tid);
}

/* An address in the thread's stack; 0: not known. */
static uint64_t stacks_address_of(const struct stacks_thread *thread,
                                  const struct stacks_place *places, size_t count)
{
    const struct stacks_place key = {.tid = thread->tid};
    if (thread->stack_pointer || !count)
        return thread->stack_pointer;
    const struct stacks_place *place =
        bsearch(&key, places, count, sizeof key, stacks_place_compare);
    return place ? place->address : 0;
}

int stacks_pointers(const struct stacks *stacks, const struct stacks_place *places,
                    size_t place_count, uint64_t **pointers, size_t *count)
{
    *count = 0;
    *pointers = malloc((stacks->count + 1) * sizeof **pointers);
    if (!*pointers)
        return -ENOMEM;
    for (size_t i = 0; i < stacks->count; i++) {
        uint64_t address = stacks_address_of(&stacks->threads[i], places, place_count);
        if (address)
            (*pointers)[(*count)++] = address;
    }
    return 0;
}

void stacks_release(struct stacks *stacks)
{
    free(stacks->threads);
    *stacks = STACKS_INIT;
}

/* ---- Extents ------------------------------------------------------------------------------- */

static void stacks_set_extent(struct stacks_thread *thread, uint64_t start, uint64_t end,
                              enum stacks_evidence evidence)
{
    thread->start = start;
    thread->end = end;
    thread->evidence = evidence;
}

/* mprotect() may have split the stack. Only the part with the address where it began is named
 * [stack]. */
static bool stacks_set_main(struct stacks_thread *thread, const struct smaps *smaps)
{
    for (size_t i = 0; i < smaps->count; i++) {
        const struct smaps_mapping *mapping = &smaps->mappings[i];
        if (strcmp(mapping->path, "[stack]") == 0) {
            stacks_set_extent(thread, mapping->start, mapping->end, STACKS_MAIN);
            return true;
        }
    }
    return false;
}

/* The nearest guards below and above an address that are no mappings of their own
 * (MADV_GUARD_INSTALL). */
struct guards {
    uint64_t address, below_end, above_start; /* 0: none */
};

static int stacks_note_guard(const struct page_table_run *run, void *context)
{
    struct guards *guards = context;
    if (run->state != PAGES_GUARD)
        return 0;
    if (run->start <= guards->address) {
        guards->below_end = run->end;
    } else if (!guards->above_start) {
        guards->above_start = run->start;
        return 1; /* memory above the guard is not this stack's */
    }
    return 0;
}

static bool stacks_guard_below(const struct smaps *smaps, const struct smaps_mapping *mapping)
{
    return mapping > smaps->mappings && mapping[-1].end == mapping->start &&
           mapping[-1].kind == SMAPS_RESERVED;
}

static int stacks_set_guarded(struct stacks_thread *thread, const struct smaps *smaps,
                              const struct smaps_mapping *mapping, struct pages *pages,
                              uint64_t address)
{
    struct guards guards = {.address = address};
    const struct page_table_range range = {mapping->start, mapping->end};
    int result = pages ? page_table_visit(pages, &range, 1, stacks_note_guard, &guards) : 0;
    if (result < 0)
        return result;
    uint64_t start = guards.below_end ? guards.below_end : mapping->start;
    uint64_t end = guards.above_start ? guards.above_start : mapping->end;
    if (guards.below_end || stacks_guard_below(smaps, mapping))
        stacks_set_extent(thread, start, end, STACKS_GUARDED);
    return 0;
}

static int stacks_set_found(struct stacks_thread *thread, const struct smaps *smaps,
                            struct pages *pages, uint64_t address)
{
    const struct smaps_mapping *mapping = address ? smaps_find(smaps, address) : NULL;
    if (!mapping)
        return 0;
    if (mapping->kind == SMAPS_MAIN_STACK ||
        (mapping->kind == SMAPS_THREAD_STACK && !mapping->guessed)) {
        stacks_set_extent(thread, mapping->start, mapping->end, STACKS_NAMED);
        return 0;
    }
    if (mapping->writable &&
        (mapping->kind == SMAPS_THREAD_STACK || mapping->kind == SMAPS_ANONYMOUS))
        return stacks_set_guarded(thread, smaps, mapping, pages, address);
    return 0;
}

/* ---- What was touched ---------------------------------------------------------------------- */

struct touched {
    uint64_t resident, swapped, lowest; /* lowest 0: nothing */
};

/* The zero page is no memory. It lies where a page was only read, as the recorder does to learn how
 * far down the stack is mapped. */
static int stacks_note_touched(const struct page_table_run *run, void *context)
{
    struct touched *touched = context;
    if ((run->state != PAGES_RESIDENT && run->state != PAGES_SWAPPED) || run->zero)
        return 0;
    if (!touched->lowest)
        touched->lowest = run->start;
    *(run->state == PAGES_RESIDENT ? &touched->resident : &touched->swapped) +=
        run->end - run->start;
    return 0;
}

static int stacks_measure(struct stacks_thread *thread, struct pages *pages)
{
    struct touched touched = {0};
    const struct page_table_range range = {thread->start, thread->end};
    if (thread->stack_pointer >= thread->start && thread->stack_pointer < thread->end)
        thread->depth_bytes = figure_of(thread->end - thread->stack_pointer);
    int error = pages ? page_table_visit(pages, &range, 1, stacks_note_touched, &touched) : 0;
    if (error || !pages)
        return error;
    thread->resident_bytes = figure_of(touched.resident);
    thread->touched_bytes = figure_of(touched.resident + touched.swapped);
    thread->reach_bytes = figure_of(touched.lowest ? thread->end - touched.lowest : 0);
    return 0;
}

static int stacks_read_thread(struct stacks_thread *thread, pid_t pid, const struct smaps *smaps,
                              struct pages *pages, uint64_t address)
{
    int error = 0;
    if (thread->tid != pid || !stacks_set_main(thread, smaps))
        error = stacks_set_found(thread, smaps, pages, address);
    return error || !thread->evidence ? error : stacks_measure(thread, pages);
}

int stacks_read(struct stacks *stacks, pid_t pid, const struct smaps *smaps, struct pages *pages,
                const struct stacks_place *places, size_t place_count)
{
    int error = 0;
    for (size_t i = 0; !error && i < stacks->count; i++)
        error = stacks_read_thread(&stacks->threads[i], pid, smaps, pages,
                                   stacks_address_of(&stacks->threads[i], places, place_count));
    if (error)
        stacks->count = 0;
    return error;
}
