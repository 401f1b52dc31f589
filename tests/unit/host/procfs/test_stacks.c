#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <alloca.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "procfs/process.h"
#include "procfs/stacks.h"
#include "../../model/numbers.h"

#define UNKNOWN UINT64_MAX
#include "victim.h"

#define STACK_BYTES (512u << 10)
#define NO_INLINE   __attribute__((noinline))

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

enum shape { GUARDED, LIGHT_GUARD, NO_GUARD, RUNNING, SHAPES };

/* What a thread says about itself. */
struct thread {
    enum shape shape;
    size_t use_bytes;
    pid_t tid;
    uintptr_t start, end; /* by pthread_getattr_np */
    uintptr_t local;      /* in its outermost function */
    char *memory;         /* of its stack, if we made it */
    atomic_bool ready;
    bool possible;
};

struct process {
    struct thread threads[SHAPES];
    uintptr_t main_local;
    size_t main_use_bytes;
};

/* Fills so much of the stack; the compiler may not leave it out. */
static NO_INLINE void use_stack(size_t bytes)
{
    volatile char *room = alloca(bytes);
    for (size_t i = 0; i < bytes; i += 256)
        room[i] = (char)i;
}

/* Reads what was never written: the kernel maps the zero page there. */
static NO_INLINE void read_stack(size_t bytes)
{
    const volatile char *room = alloca(bytes);
    for (size_t i = 0; i < bytes; i += 256)
        (void)room[i];
}

static void *run(void *context)
{
    struct thread *thread = context;
    pthread_attr_t attributes;
    void *start;
    size_t size;
    volatile char local = 0;
    thread->tid = (pid_t)syscall(SYS_gettid);
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &start, &size);
    pthread_attr_destroy(&attributes);
    thread->start = (uintptr_t)start;
    thread->end = (uintptr_t)start + size;
    thread->local = (uintptr_t)&local;
    read_stack(thread->use_bytes + (100 << 10));
    use_stack(thread->use_bytes);
    atomic_store(&thread->ready, true);
    if (thread->shape == RUNNING) {
        for (;;)
            local++;
    }
    while (pause() < 0)
        continue;
    return NULL;
}

/* Memory between two areas without access, and a page of its own at the lower end. */
static char *stack_memory(enum shape shape, bool *possible)
{
    size_t page = process_page_bytes(), all = STACK_BYTES + 5 * page;
    char *memory = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *stack = memory + 2 * page;
    mprotect(stack - page, STACK_BYTES + page, PROT_READ | PROT_WRITE);
    *possible = true;
    if (shape == LIGHT_GUARD) { /* and above it another stack's guard, in the same mapping */
        mprotect(stack, STACK_BYTES + 2 * page, PROT_READ | PROT_WRITE);
        *possible = madvise(stack - page, page, MADV_GUARD_INSTALL) == 0 &&
                    madvise(stack + STACK_BYTES, page, MADV_GUARD_INSTALL) == 0;
    }
    if (shape == NO_GUARD) { /* what lies below is a file: no guard */
        char name[] = "/tmp/tidemark-stacks-XXXXXX";
        int fd = mkstemp(name);
        unlink(name);
        mmap(stack - 2 * page, 2 * page, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0);
        close(fd);
    }
    return stack;
}

static void start_thread(struct thread *thread)
{
    pthread_attr_t attributes;
    pthread_t id;
    pthread_attr_init(&attributes);
    thread->possible = true;
    if (thread->shape == LIGHT_GUARD || thread->shape == NO_GUARD) {
        thread->memory = stack_memory(thread->shape, &thread->possible);
        pthread_attr_setstack(&attributes, thread->memory, STACK_BYTES);
    } else {
        pthread_attr_setstacksize(&attributes, STACK_BYTES);
    }
    pthread_create(&id, &attributes, run, thread);
    pthread_attr_destroy(&attributes);
    while (!atomic_load(&thread->ready))
        usleep(100);
}

static void start_threads(void *shared)
{
    struct process *process = shared;
    volatile char local = 0;
    process->main_local = (uintptr_t)&local;
    use_stack(process->main_use_bytes);
    /* so that nothing is joined to the first stack from above */
    mmap(NULL, process_page_bytes(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < SHAPES; i++)
        start_thread(&process->threads[i]);
}

static struct process *process_new(void)
{
    struct process *process = victim_shared(sizeof *process);
    process->main_use_bytes = 300u << 10;
    for (size_t i = 0; i < SHAPES; i++) {
        process->threads[i].shape = (enum shape)i;
        process->threads[i].use_bytes = (size_t)(20 + random() % 300) << 10;
    }
    return process;
}

static const struct stacks_thread *thread_of(const struct stacks *stacks, pid_t tid)
{
    for (size_t i = 0; i < stacks->count; i++) {
        if (stacks->threads[i].tid == tid)
            return &stacks->threads[i];
    }
    fail();
    return NULL;
}

static bool knows_zero; /* the kernel tells the zero page */

/* More than it used, but not by more than a descriptor, some frames and a page. */
static void check_use(const struct stacks_thread *found, size_t use_bytes)
{
    assert_true(number_of(found->touched_bytes) >= use_bytes);
    if (knows_zero)
        assert_true(number_of(found->touched_bytes) <= use_bytes + (32u << 10));
    assert_true(number_of(found->resident_bytes) <= number_of(found->touched_bytes));
    assert_true(number_of(found->reach_bytes) >= use_bytes);
    assert_true(number_of(found->reach_bytes) <= found->end - found->start);
}

static void check_guarded(const struct stacks_thread *found, const struct thread *thread)
{
    assert_int_equal(found->evidence, STACKS_GUARDED);
    assert_int_equal(found->end, thread->end);
    /* the guard is inside of what pthread_getattr_np() says, or below it, as glibc is old or new */
    assert_true(found->start - thread->start <= 2 * process_page_bytes());
    check_use(found, thread->use_bytes);
    assert_true(found->stack_pointer <= thread->local);
    assert_true(thread->local - found->stack_pointer < 4096);
    assert_int_equal(number_of(found->depth_bytes), found->end - found->stack_pointer);
}

static void check_unknown(const struct stacks_thread *found)
{
    assert_int_equal(found->evidence, STACKS_UNKNOWN);
    assert_int_equal(found->start | found->end, 0);
    assert_int_equal(number_of(found->touched_bytes), UNKNOWN);
    assert_int_equal(number_of(found->reach_bytes), UNKNOWN);
    assert_int_equal(number_of(found->depth_bytes), UNKNOWN);
}

static void stacks_are_as_deep_as_they_were_used(void **state)
{
    (void)state;
    struct process *process = process_new();
    struct victim victim = victim_start(start_threads, process);
    victim_settle(victim, SHAPES); /* all but one, with main */
    struct smaps smaps = SMAPS_INIT;
    struct stacks stacks = STACKS_INIT;
    struct pages pages;
    assert_int_equal(smaps_read(&smaps, victim.pid), 0);
    assert_int_equal(page_table_open(&pages, victim.pid), 0);
    knows_zero = pages.knows_huge;
    assert_int_equal(stacks_list(&stacks, victim.pid), 0);
    assert_int_equal(stacks_read(&stacks, victim.pid, &smaps, &pages, NULL, 0), 0);
    assert_int_equal(stacks.count, 1 + SHAPES);

    const struct stacks_thread *main_thread = thread_of(&stacks, victim.pid);
    assert_int_equal(main_thread->evidence, STACKS_MAIN);
    assert_true(main_thread->start <= process->main_local);
    assert_true(main_thread->end > process->main_local);
    assert_true(number_of(main_thread->touched_bytes) >= process->main_use_bytes);
    assert_true(number_of(main_thread->reach_bytes) >= number_of(main_thread->touched_bytes));
    assert_true(number_of(main_thread->depth_bytes) < number_of(main_thread->reach_bytes));

    const struct thread *threads = process->threads;
    check_guarded(thread_of(&stacks, threads[GUARDED].tid), &threads[GUARDED]);
    if (threads[LIGHT_GUARD].possible)
        check_guarded(thread_of(&stacks, threads[LIGHT_GUARD].tid), &threads[LIGHT_GUARD]);
    else
        print_message("no guard pages here\n");
    check_unknown(thread_of(&stacks, threads[NO_GUARD].tid));
    check_unknown(thread_of(&stacks, threads[RUNNING].tid));
    assert_int_equal(thread_of(&stacks, threads[RUNNING].tid)->stack_pointer, 0);

    page_table_close(&pages);
    stacks_release(&stacks);
    smaps_release(&smaps);
    victim_end(victim);
    munmap(process, sizeof *process);
}

static void a_place_stands_in_for_a_stack_pointer(void **state)
{
    (void)state;
    struct process *process = process_new();
    struct victim victim = victim_start(start_threads, process);
    victim_settle(victim, SHAPES); /* all but one, with main */
    struct smaps smaps = SMAPS_INIT;
    struct stacks stacks = STACKS_INIT;
    const struct thread *running = &process->threads[RUNNING];
    const struct stacks_place place = {.tid = running->tid, .address = running->local};
    struct pages pages;
    assert_int_equal(smaps_read(&smaps, victim.pid), 0);
    assert_int_equal(page_table_open(&pages, victim.pid), 0);
    assert_int_equal(stacks_list(&stacks, victim.pid), 0);
    assert_int_equal(stacks_read(&stacks, victim.pid, &smaps, &pages, &place, 1), 0);
    const struct stacks_thread *found = thread_of(&stacks, running->tid);
    assert_int_equal(found->evidence, STACKS_GUARDED);
    assert_true(found->start - running->start <= 2 * process_page_bytes());
    assert_true(found->end >= running->end);
    assert_int_equal(found->stack_pointer, 0);
    assert_int_equal(number_of(found->depth_bytes), UNKNOWN);
    assert_true(number_of(found->touched_bytes) >= running->use_bytes);
    /* without a page table the extent is known, its use is not */
    assert_int_equal(stacks_list(&stacks, victim.pid), 0);
    assert_int_equal(stacks_read(&stacks, victim.pid, &smaps, NULL, &place, 1), 0);
    assert_int_equal(thread_of(&stacks, running->tid)->evidence, STACKS_GUARDED);
    assert_int_equal(number_of(thread_of(&stacks, running->tid)->touched_bytes), UNKNOWN);
    page_table_close(&pages);
    stacks_release(&stacks);
    smaps_release(&smaps);
    victim_end(victim);
    munmap(process, sizeof *process);
}

static void stack_pointers_name_their_mappings(void **state)
{
    (void)state;
    struct process *process = process_new();
    struct victim victim = victim_start(start_threads, process);
    victim_settle(victim, SHAPES); /* all but one, with main */
    struct smaps smaps = SMAPS_INIT;
    struct stacks stacks = STACKS_INIT;
    struct smaps_hints hints = {0};
    uint64_t *pointers;
    size_t count;
    assert_int_equal(stacks_list(&stacks, victim.pid), 0);
    assert_int_equal(stacks_pointers(&stacks, NULL, 0, &pointers, &count), 0);
    assert_int_equal(count, SHAPES); /* with main, without the one that runs */
    hints.stack_pointers = pointers;
    hints.stack_pointer_count = count;
    assert_int_equal(smaps_read(&smaps, victim.pid), 0);
    assert_int_equal(smaps_classify(&smaps, &hints), 0);
    const struct smaps_mapping *guarded = smaps_find(&smaps, process->threads[GUARDED].local);
    const struct smaps_mapping *other = smaps_find(&smaps, process->threads[NO_GUARD].local);
    assert_int_equal(guarded->kind, SMAPS_THREAD_STACK);
    assert_true(guarded->guessed);
    assert_int_equal(other->kind, SMAPS_ANONYMOUS);
    free(pointers);
    stacks_release(&stacks);
    smaps_release(&smaps);
    victim_end(victim);
    munmap(process, sizeof *process);
}

static void do_nothing(void *shared)
{
    (void)shared;
}

static void one_thread_that_is_known_is_not_read(void **state)
{
    (void)state;
    struct victim victim = victim_start(do_nothing, NULL);
    struct stacks read = STACKS_INIT, told = STACKS_INIT;
    do
        assert_int_equal(stacks_list(&read, victim.pid), 0);
    while (!read.threads[0].stack_pointer);
    assert_int_equal(read.count, 1);
    assert_int_equal(stacks_list_one(&told, victim.pid, read.threads[0].stack_pointer), 0);
    assert_int_equal(told.count, 1);
    assert_memory_equal(told.threads, read.threads, sizeof *told.threads);
    stacks_release(&read);
    stacks_release(&told);
    victim_end(victim);
}

static void a_syscall_line_is_taken_apart(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t pointer;
    } table[] = {
        {"0 0x3 0x7fd2886aa000 0x20000 0x7fd288739b60 0xffffffff 0x0 0x7ffe3cc162e8 "
         "0x7fd2888222ad\n",
         0x7ffe3cc162e8},
        {"-1 0x7ffe3cc162e8 0x7fd2888222ad\n", 0x7ffe3cc162e8},
        {"running\n", 0},
        {"", 0},
        {"-1 0x7ffe3cc162e8\n", 0},
        {"-1 0x7ffe3cc162e8 0x7fd2888", 0},
        {"-1\n", 0},
        {"x 0x1 0x2\n", 0},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        assert_int_equal(stacks_parse_syscall(table[i].text), table[i].pointer);
}

static void what_is_gone_is_said_so(void **state)
{
    (void)state;
    struct process *process = process_new();
    struct victim victim = victim_start(start_threads, process);
    victim_settle(victim, SHAPES); /* all but one, with main */
    struct smaps smaps = SMAPS_INIT;
    struct stacks stacks = STACKS_INIT;
    struct pages pages;
    assert_int_equal(smaps_read(&smaps, victim.pid), 0);
    assert_int_equal(page_table_open(&pages, victim.pid), 0);
    assert_int_equal(stacks_list(&stacks, victim.pid), 0);
    victim_end(victim);
    assert_int_equal(stacks_read(&stacks, victim.pid, &smaps, &pages, NULL, 0), -ESRCH);
    assert_int_equal(stacks.count, 0);
    assert_int_equal(stacks_list(&stacks, victim.pid), -ESRCH);
    page_table_close(&pages);
    stacks_release(&stacks);
    smaps_release(&smaps);
    munmap(process, sizeof *process);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks_are_as_deep_as_they_were_used),
        cmocka_unit_test(a_place_stands_in_for_a_stack_pointer),
        cmocka_unit_test(stack_pointers_name_their_mappings),
        cmocka_unit_test(one_thread_that_is_known_is_not_read),
        cmocka_unit_test(a_syscall_line_is_taken_apart),
        cmocka_unit_test(what_is_gone_is_said_so),
    };
    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
