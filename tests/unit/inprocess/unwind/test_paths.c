/* The index of call paths under everything that may come at once: threads, signal handlers that
 * make paths and leave by longjmp, growth, retiring. The oracle is the tree of paths itself. */
#include "harness.h"

#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "unwind/paths.h"

/* Path i > 0 is frame i above path (i - 1) / 3; path 0 is the root. */
#define PATHS  90000u /* two chunks of nodes, seven tables */
#define MAKERS 4

static uint64_t hashes[PATHS];
static uint32_t first_seen[2 * MAKERS][PATHS]; /* by maker, then by the handler on each */
static _Atomic unsigned wrong, left_by_jump;
static _Atomic bool done;

static uint32_t parent_of(uint32_t path)
{
    return (path - 1) / 3;
}

static uintptr_t ip_of(uint32_t path)
{
    return 0x400000 + 16 * (uintptr_t)path;
}

static void make_hashes(void)
{
    for (uint32_t path = 1; path < PATHS; path++) {
        hashes[path] = path_hash(hashes[parent_of(path)], ip_of(path));
    }
}

static unsigned random_below(unsigned *seed, unsigned below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (unsigned)((uint64_t)*seed * below >> 32);
}

/* The number of a path that has one. A search in a table that is just being replaced may find
 * nothing, and nobody is told; there are not as many tables as tries. */
static uint32_t find_again(uint64_t hash)
{
    uint32_t number = 0;
    for (int tries = 0; !number && tries < 16; tries++) {
        number = paths_find(hash);
    }
    return number;
}

/* The number of a path; makes what is missing. */
static uint32_t make(uint32_t path, uint32_t *seen)
{
    uint32_t ancestors[16], count = 0, number = 0;
    for (; path; path = parent_of(path)) {
        ancestors[count++] = path;
    }
    while (count--) {
        path = ancestors[count];
        number = paths_child(number, hashes[path], ip_of(path));
        seen[path] = seen[path] ? seen[path] : number;
        wrong += number == 0 || seen[path] != number || published <= number;
        wrong += find_again(hashes[path]) != number; /* noted as recent, or found as such */
    }
    return number;
}

static unsigned make_some(unsigned seed, unsigned times, uint32_t *seen)
{
    while (times--) {
        make(random_below(&seed, PATHS), seen);
    }
    return seed;
}

static __thread sigjmp_buf way_out;
static __thread unsigned maker_seed, handler_seed, handler_index;
static __thread volatile sig_atomic_t may_leave;

static void make_in_handler(int number)
{
    (void)number;
    handler_seed = make_some(handler_seed, 3, first_seen[handler_index]);
    if (may_leave && random_below(&handler_seed, 2)) {
        left_by_jump++;
        siglongjmp(way_out, 1);
    }
}

static void *maker(void *which)
{
    size_t index = (size_t)which;
    handler_index = MAKERS + (unsigned)index;
    maker_seed = handler_seed = (unsigned)index * 77777u + maker_seed;
    for (volatile int round = 0; round < 1200; round++) {
        if (sigsetjmp(way_out, 1) == 0) {
            may_leave = 1;
            maker_seed = make_some(maker_seed, 100, first_seen[index]);
        }
        may_leave = 0;
    }
    return NULL;
}

/* Code goes, and other code comes in its place. */
static void retire(uintptr_t lo, uintptr_t hi)
{
    paths_code_gone(lo, hi);
    paths_code_seen(lo);
}

/* Interrupts them all, and has modules unloaded that no path leads through. */
static void *disturber(void *makers)
{
    pthread_t *threads = makers;
    for (unsigned i = 0; !done; i++) {
        struct timespec pause = {0, 100 * 1000};
        pthread_kill(threads[i % MAKERS], SIGUSR1);
        if (i % 64 == 0) {
            retire(0x1000, 0x2000);
        }
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static void assert_path_is_itself(uint32_t path)
{
    uintptr_t ips[16];
    size_t count = paths_ips(paths_find(hashes[path]), ips, 16);
    uint32_t node = paths_find(hashes[path]);
    for (size_t i = 0; i < count; i++, path = parent_of(path)) {
        uintptr_t ip;
        node = paths_step(node, &ip);
        assert_int_equal(ips[i], ip_of(path));
        assert_int_equal(ips[i], ip);
    }
    assert_int_equal(node, 0);
    assert_int_equal(path, 0);
}

static void paths_made_at_once_by_threads_and_handlers_have_one_number_each(void **state)
{
    struct sigaction action = {.sa_handler = make_in_handler};
    pthread_t makers[MAKERS], disturbing;
    (void)state;
    print_message("seed %u\n", maker_seed = (unsigned)time(NULL));
    make_hashes();
    begin_unwind(UNWIND_CFI, 0);
    sigaction(SIGUSR1, &action, NULL);
    for (size_t i = 0; i < MAKERS; i++) {
        pthread_create(&makers[i], NULL, maker, (void *)i);
    }
    pthread_create(&disturbing, NULL, disturber, makers);
    for (size_t i = 0; i < MAKERS; i++) {
        pthread_join(makers[i], NULL);
    }
    done = true;
    pthread_join(disturbing, NULL);
    assert_int_equal(wrong, 0);
    assert_true(left_by_jump > 10);
    for (uint32_t path = 1; path < PATHS; path++) {
        uint32_t number = make(path, first_seen[0]);
        for (size_t i = 0; i < 2 * MAKERS; i++) {
            assert_true(first_seen[i][path] == 0 || first_seen[i][path] == number);
        }
        assert_path_is_itself(path);
    }
    assert_int_equal(wrong, 0);
}

/* Threads that make nothing but new paths, each a part of its own, so that a table is replaced
 * under their hands again and again, while the first few are retired; then all others must be
 * there. */
#define RETIRED 100u
static _Atomic unsigned waiting_makers;

static void *retire_the_first(void *nothing)
{
    while (!done) {
        struct timespec pause = {0, 500 * 1000};
        retire(ip_of(1), ip_of(RETIRED - 1));
        nanosleep(&pause, NULL);
    }
    return nothing;
}

static void *make_part(void *which)
{
    size_t index = (size_t)which;
    waiting_makers--;
    while (waiting_makers) {
    }
    for (uint32_t path = 1 + (uint32_t)index; path < PATHS; path += MAKERS) {
        first_seen[index][path] = paths_child(0, hashes[path], ip_of(path));
    }
    return NULL;
}

static void no_path_is_lost_while_the_table_is_replaced(void **state)
{
    (void)state;
    make_hashes();
    for (int round = 0; round < 25; round++) {
        pthread_t makers[MAKERS], retiring;
        begin_unwind(UNWIND_CFI, 0);
        waiting_makers = MAKERS;
        done = false;
        pthread_create(&retiring, NULL, retire_the_first, NULL);
        for (size_t i = 0; i < MAKERS; i++) {
            pthread_create(&makers[i], NULL, make_part, (void *)i);
        }
        for (size_t i = 0; i < MAKERS; i++) {
            pthread_join(makers[i], NULL);
        }
        done = true;
        pthread_join(retiring, NULL);
        for (uint32_t path = RETIRED; path < PATHS; path++) {
            assert_int_equal(paths_find(hashes[path]), first_seen[(path - 1) % MAKERS][path]);
        }
    }
}

static void retired_paths_come_back_with_new_numbers_and_others_keep_theirs(void **state)
{
    static uint32_t before[PATHS], after[PATHS];
    (void)state;
    make_hashes();
    begin_unwind(UNWIND_CFI, 0);
    for (uint32_t path = 1; path < PATHS; path++) {
        before[path] = make(path, before);
    }
    uint64_t retired = paths_retired();
    retire(ip_of(7), ip_of(7));
    assert_int_not_equal(paths_retired(), retired);
    for (uint32_t path = 1; path < PATHS; path++) {
        bool below = false;
        for (uint32_t up = path; up; up = parent_of(up)) {
            below |= up == 7;
        }
        assert_int_equal(paths_find(hashes[path]), below ? 0 : before[path]);
        make(path, after);
        assert_true(below ? after[path] > before[path] : after[path] == before[path]);
        assert_path_is_itself(path);
    }
}

/* Many ranges, some within others, some side by side. Until code is seen in one of them, nothing is
 * retired; then all are. */
static void paths_through_code_that_went_are_retired_when_code_comes_there(void **state)
{
    static uint32_t before[PATHS];
    static bool gone[PATHS];
    unsigned seed = 29;
    (void)state;
    make_hashes();
    for (int round = 0; round < 40; round++) {
        unsigned ranges = 1 + random_below(&seed, 150); /* more than are kept */
        uint32_t from = 0;
        begin_unwind(UNWIND_CFI, 0);
        memset(before, 0, sizeof before);
        memset(gone, 0, sizeof gone);
        for (uint32_t path = 1; path < 4000; path++) {
            before[path] = make(path, before);
        }
        for (unsigned i = 0; i < ranges; i++) {
            from = 1 + random_below(&seed, 3000);
            uint32_t to = from + random_below(&seed, 20);
            paths_code_gone(ip_of(from), ip_of(to));
            paths_code_seen(ip_of(0)); /* no path leads there */
            memset(gone + from, true, to - from + 1);
        }
        if (ranges < 50) {
            assert_int_equal(paths_find(hashes[from]), before[from]);
        }
        paths_code_seen(ip_of(from));
        for (uint32_t path = 1; path < 4000; path++) {
            gone[path] |= gone[parent_of(path)];
            assert_int_equal(paths_find(hashes[path]), gone[path] ? 0 : before[path]);
        }
    }
}

/* Callers of one another, so that a run is cut by every end of a chunk, and is longer than one. The
 * table grows by its slots to 1.5 million places, and each path is found after each growth. */
#define LONG_RUNS 1000000u

static uint64_t hash_in_runs(uint32_t path)
{
    return path_hash(path_hash(0, 1 + path), 7);
}

static void assert_all_are_found(uint32_t count, const uint32_t *numbers)
{
    for (uint32_t path = 0; path < count; path++) {
        assert_int_equal(paths_find(hash_in_runs(path)), numbers[path]);
        assert_int_equal(paths_find_old(hash_in_runs(path), 1 + path), numbers[path]);
    }
}

static void every_path_is_found_after_each_growth(void **state)
{
    static uint32_t numbers[LONG_RUNS];
    struct path_step steps[PATHS_RUN];
    uint32_t parent = 0, checked = 5000;
    (void)state;
    begin_unwind(UNWIND_CFI, 0);
    for (uint32_t path = 0; path < LONG_RUNS;) {
        uint32_t count = path % 7 == 0 ? PATHS_RUN : 1 + path % PATHS_RUN;
        count = count < LONG_RUNS - path ? count : LONG_RUNS - path;
        for (uint32_t i = 0; i < count; i++) {
            steps[i] = (struct path_step){hash_in_runs(path + i), 1 + path + i};
        }
        uint32_t last = paths_make(parent, steps, count);
        for (uint32_t i = count; i--; last = paths_parent(last)) {
            numbers[path + i] = last;
        }
        assert_int_equal(last, parent);
        parent = numbers[(path += count) - 1];
        if (path >= checked) { /* closer than tables grow */
            assert_all_are_found(path, numbers);
            checked = checked / 5 * 6;
        }
    }
    assert_all_are_found(LONG_RUNS, numbers);
    assert_int_equal(paths_find(hash_in_runs(LONG_RUNS)), 0);
}

/* Numbers of retired paths are never used again, so they leave the bits that a small table has for
 * them. */
static void a_table_that_stays_small_has_room_for_large_numbers(void **state)
{
    static uint32_t numbers[400];
    uint32_t highest = 0;
    (void)state;
    begin_unwind(UNWIND_CFI, 0);
    for (uint32_t round = 0; round < 500; round++) {
        for (uint32_t i = 0; i < 400; i++) {
            numbers[i] = paths_child(0, path_hash(0, 0x5000 + i), 0x5000 + i);
            assert_true(numbers[i] > highest);
        }
        highest = numbers[399];
        for (uint32_t i = 0; i < 400; i++) {
            assert_int_equal(paths_find(path_hash(0, 0x5000 + i)), numbers[i]);
        }
        retire(0x5000, 0x6000);
    }
    assert_true(highest > 8192 * 16);
}

/* With large numbers a small table has few bits of the hash. The next one may want more than follow
 * from a slot. */
static void a_table_with_large_numbers_grows(void **state)
{
    enum { MANY = 30000 };
    static uint32_t numbers[MANY];
    a_table_that_stays_small_has_room_for_large_numbers(state);
    for (uint32_t i = 0; i < MANY; i++) {
        numbers[i] = paths_child(0, path_hash(0, 0x7000 + i), 0x7000 + i);
    }
    for (uint32_t i = 0; i < MANY; i++) {
        assert_int_equal(paths_find(path_hash(0, 0x7000 + i)), numbers[i]);
    }
}

/* A thread that makes a path is overtaken by one that makes the same, as soon as it has nodes. */
static struct path_step contended[PATHS_RUN];
static uint32_t overtaker;

static void publish_and_be_overtaken(uint32_t count)
{
    static bool overtaken;
    host_publish_nodes(count);
    if (!overtaken) {
        overtaken = true;
        overtaker = paths_make(0, contended, PATHS_RUN);
    }
}

static void who_is_overtaken_leaves_one_run_unused(void **state)
{
    static const struct unwind_host overtaking = {host_map_private,
                                                  host_give_back,
                                                  host_map_nodes,
                                                  publish_and_be_overtaken,
                                                  NULL,
                                                  host_module_of,
                                                  host_map_kept,
                                                  NULL};
    uint64_t hash = 0;
    (void)state;
    published = 0;
    unwind_init(&overtaking, UNWIND_CFI, 0);
    for (uint32_t i = 0; i < PATHS_RUN; i++) {
        hash = path_hash(hash, 1 + i);
        contended[i] = (struct path_step){hash, 1 + i};
    }
    uint32_t node = paths_make(0, contended, PATHS_RUN);
    assert_int_not_equal(node, 0);
    assert_int_equal(node, overtaker);
    assert_int_equal(published, 1 + 2 * PATHS_RUN);
}

/* ---- A sandbox in which every system call but read, write and exit is the end ---- */

static uint32_t sandboxed[1024];

static WITH_FRAME void capture_into(unsigned where)
{
    struct unwind_start start = UNWIND_START_HERE();
    sandboxed[where] = unwind_capture(memory, &start);
}

/* A path for each number: one of two call sites for each bit. */
static NOINLINE void by_bits(unsigned bits, unsigned left, unsigned where)
{
    if (left == 0) {
        capture_into(where);
    } else if (bits & 1) {
        by_bits(bits >> 1, left - 1, where);
        __asm__ volatile("# not the other call");
    } else {
        by_bits(bits >> 1, left - 1, where);
        __asm__ volatile("");
    }
}

static void capture_in_sandbox(void)
{
    by_bits(0, 10, 0);
    by_bits(1023, 10, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    for (unsigned bits = 0; bits < 1024; bits++) {
        by_bits(bits, 10, bits);
        if (!sandboxed[bits] || (bits && sandboxed[bits] <= sandboxed[bits - 1] && bits != 1023)) {
            syscall(SYS_exit, 2);
        }
    }
    syscall(SYS_exit, 0);
}

/* ThreadSanitizer makes system calls of its own, and its thread is not in the child of a fork. */
#ifdef __SANITIZE_THREAD__
#define HAS_OWN_CALLS 1
#else
#define HAS_OWN_CALLS 0
#endif

static void new_paths_ask_no_system_call(void **state)
{
    int status;
    pid_t child;
    (void)state;
    if (HAS_OWN_CALLS)
        skip();
    begin_unwind(UNWIND_CFI, 0);
    child = fork();
    if (child == 0) {
        begin_unwind(UNWIND_CFI, 0);
        capture_in_sandbox();
    }
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_made_at_once_by_threads_and_handlers_have_one_number_each),
        cmocka_unit_test(no_path_is_lost_while_the_table_is_replaced),
        cmocka_unit_test(retired_paths_come_back_with_new_numbers_and_others_keep_theirs),
        cmocka_unit_test(paths_through_code_that_went_are_retired_when_code_comes_there),
        cmocka_unit_test(every_path_is_found_after_each_growth),
        cmocka_unit_test(a_table_that_stays_small_has_room_for_large_numbers),
        cmocka_unit_test(a_table_with_large_numbers_grows),
        cmocka_unit_test(who_is_overtaken_leaves_one_run_unused),
        cmocka_unit_test(new_paths_ask_no_system_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
