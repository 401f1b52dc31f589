/* What a memory may and may not remember; modes, depths, unloaded code, code without entries. */
#include "unwind/capture_memory.h" /* first: the harness has a variable `memory` */

#include "harness.h"

#include <signal.h>
#include <unistd.h>

static uint32_t last_node;

static WITH_FRAME void hook(void)
{
    struct unwind_start start = UNWIND_START_HERE();
    last_node = unwind_capture(memory, &start);
}

static NOINLINE void at_depth(int depth, void (*function)(void))
{
    if (depth) {
        at_depth(depth - 1, function);
    } else {
        function();
    }
    __asm__ volatile("");
}

static size_t last_path(uintptr_t *ips, size_t max)
{
    return unwind_path_ips(last_node, ips, max);
}

static void the_same_stack_has_the_same_node(void **state)
{
    uint32_t first = 0;
    (void)state;
    begin_unwind(UNWIND_CFI, 0);
    for (int i = 0; i < 3; i++) {
        at_depth(20, hook);
        assert_int_not_equal(last_node, 0);
        first = i ? first : last_node;
        assert_int_equal(last_node, first);
        assert_true(published > last_node);
    }
}

/* A walk would put the frames that it has met on top of what is remembered. */
static void ways_that_were_taken_before_are_not_walked(void **state)
{
    uint32_t nodes[2] = {0, 0};
    (void)state;
    begin_unwind(UNWIND_CFI, 0);
    for (int i = 0; i < 40; i++) {
        struct word top = memory->remembered->slots[memory->count];
        at_depth(5 + i % 2, hook);
        if (i >= 8) {
            assert_int_equal(last_node, nodes[i % 2]);
            assert_int_equal(memory->remembered->slots[memory->count].at, top.at);
            assert_int_equal(memory->remembered->slots[memory->count].value, top.value);
        }
        nodes[i % 2] = last_node;
    }
    assert_int_not_equal(nodes[0], nodes[1]);
}

/* As many ways as there is room for, and more. */
static void more_ways_than_are_kept_have_their_nodes(void **state)
{
    enum { WAYS = 400 };
    static uint32_t nodes[WAYS];
    (void)state;
    begin_unwind(UNWIND_CFI, 0);
    for (int i = 0; i < 10 * WAYS; i++) {
        int way = i * 7 % WAYS;
        at_depth(way, hook);
        if (i >= WAYS) {
            assert_int_equal(last_node, nodes[way]);
        }
        nodes[way] = last_node;
    }
}

static void max_depth_keeps_the_innermost_frames_and_says_so(void **state)
{
    uintptr_t ips[64];
    (void)state;
    begin_unwind(UNWIND_CFI, 8);
    for (int i = 0; i < 3; i++) {
        at_depth(20, hook);
        assert_int_equal(last_path(ips, 64), 9);
        assert_int_equal(ips[8], WIRE_MARK_MAX_DEPTH);
        assert_int_equal(ips[4], ips[3]);
    }
    assert_int_equal(unwind_counters_read().cut, 3);
}

static NOINLINE void shallow_then_deep(void)
{
    hook();
    at_depth(3, hook);
    at_depth(3, hook);
    __asm__ volatile("");
}

static void a_path_that_a_base_makes_too_long_is_cut_too(void **state)
{
    uintptr_t ips[64], all;
    (void)state;
    begin_unwind(UNWIND_CFI, 0);
    shallow_then_deep();
    all = last_path(ips, 64);
    begin_unwind(UNWIND_CFI, (uint32_t)all - 1);
    shallow_then_deep();
    assert_int_equal(last_path(ips, 64), all);
    assert_int_equal(ips[all - 1], WIRE_MARK_MAX_DEPTH);
    begin_unwind(UNWIND_CFI, (uint32_t)all);
    shallow_then_deep();
    assert_int_equal(last_path(ips, 64), all);
    assert_int_not_equal(ips[all - 1], WIRE_MARK_MAX_DEPTH);
}

static void without_stacks_a_path_is_the_caller(void **state)
{
    uintptr_t ips[4];
    (void)state;
    unwind_code_gone(0, UINTPTR_MAX);
    begin_unwind(UNWIND_NONE, 0);
    at_depth(20, hook);
    assert_int_equal(last_path(ips, 4), 1);
    unwind_code_gone(0, UINTPTR_MAX);
}

/* Callers by the thousand, so that they share places, and now and then their code is gone. The
 * quick way is asked first, so that it has to make the paths; a walk without memory knows nothing
 * of it. */
static void a_caller_has_one_number_whichever_way_it_is_asked(void **state)
{
    enum { CALLERS = 6000, LOW = 0x10000 };
    static uintptr_t callers[CALLERS];
    struct unwind_start start = UNWIND_START_HERE();
    (void)state;
    unwind_code_gone(0, UINTPTR_MAX);
    begin_unwind(UNWIND_NONE, 0);
    for (int i = 0; i < CALLERS; i++) { /* some are the upper bits of others, as in programs without
                                         * PIE */
        callers[i] = i % 3 == 2 ? callers[i - 1] >> 16 | LOW
                                : (uintptr_t)chance(1 << 30) << 17 ^ (uintptr_t)chance(1 << 20);
    }
    for (int i = 0; i < 200000; i++) {
        uintptr_t gone = callers[chance(CALLERS)], ip = 0;
        start.ip = callers[chance(i % 2 ? CALLERS : 100)] | LOW;
        uint32_t node = unwind_capture_caller(memory, &start);
        assert_int_equal(node, unwind_capture(i % 4 ? memory : NULL, &start));
        assert_int_equal(node, unwind_capture_caller(memory, &start));
        assert_int_equal(unwind_path_ips(node, &ip, 1), 1);
        assert_int_equal(ip, start.ip);
        if (i % 5000 == 0) {
            unwind_code_gone(gone, gone + (1 << 24));
        }
    }
    unwind_code_gone(0, UINTPTR_MAX);
}

static WITH_FRAME void framed(int depth)
{
    if (depth) {
        framed(depth - 1);
    } else {
        hook();
    }
    __asm__ volatile("");
}

static void frame_pointers_find_functions_that_keep_them(void **state)
{
    uintptr_t ips[256];
    (void)state;
    begin_unwind(UNWIND_FP, 0);
    framed(20);
    assert_true(last_path(ips, 256) > 20);
    for (int i = 2; i <= 20; i++) {
        assert_int_equal(ips[i], ips[1]);
    }
    unwind_code_gone(0, UINTPTR_MAX);
}

static void unloaded_code_gets_new_numbers(void **state)
{
    uintptr_t ips[64];
    uint32_t node[4];
    (void)state;
    begin_unwind(UNWIND_CFI, 0);
    for (int i = 0; i < 4; i++) {
        at_depth(5, hook);
        node[i] = last_node;
        last_path(ips, 64);
        unwind_code_gone(i == 1 ? ips[2] : 1, i == 1 ? ips[2] + 1 : 2);
    }
    assert_int_equal(node[0], node[1]); /* other code went */
    assert_true(node[2] > node[1]);
    assert_int_equal(node[2], node[3]);
    assert_true(unwind_path_ips(node[0], ips, 64) > 5); /* old numbers stay valid */
}

#if defined(__x86_64__)
static void *jit(const uint8_t *code, size_t bytes)
{
    void *at =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(at, code, bytes);
    return at;
}

static void code_without_entries_is_walked_by_frame_pointer(void **state)
{
    /* push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret */
    static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
    void (*function)(void (*)(void)) = (void (*)(void (*)(void)))jit(code, sizeof code);
    uintptr_t ips[64], direct[64];
    size_t count, direct_count;
    (void)state;
    begin_unwind(UNWIND_CFI, 0);
    for (int i = 0; i < 2; i++) {
        function(hook);
        count = last_path(ips, 64);
        assert_int_equal(ips[0], (uintptr_t)function + 6);
    }
    hook();
    direct_count = last_path(direct, 64);
    assert_int_equal(count, direct_count + 1);
    assert_memory_equal(ips + 2, direct + 1, (direct_count - 1) * sizeof *ips);
}

static void a_walk_that_cannot_go_on_says_so(void **state)
{
    /* push %rbp; mov $1, %ebp; sub $16, %rsp; call *%rdi; add $16, %rsp; pop %rbp; ret */
    static const uint8_t code[] = {0x55, 0xbd, 1,    0,    0,    0,    0x48, 0x83, 0xec,
                                   0x10, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3};
    void (*function)(void (*)(void)) = (void (*)(void (*)(void)))jit(code, sizeof code);
    uintptr_t ips[64];
    (void)state;
    begin_unwind(UNWIND_CFI, 0);
    for (int i = 0; i < 3; i++) {
        function(hook);
        assert_int_equal(last_path(ips, 64), 2);
        assert_int_equal(ips[0], (uintptr_t)function + 12);
        assert_int_equal(ips[1], WIRE_MARK_NO_TABLE);
    }
    assert_int_equal(unwind_counters_read().unwalkable, 3);
    at_depth(3, hook);
    assert_true(last_path(ips, 64) > 4);
    assert_int_equal(unwind_counters_read().unwalkable, 3);
}
#endif

/* ---- Captures that a longjmp abandons ---- */

static sigjmp_buf out;
static int abandon;

static void *map_or_abandon(size_t bytes)
{
    if (abandon) {
        abandon = 0;
        siglongjmp(out, 1);
    }
    return host_map_private(bytes);
}

static void an_abandoned_capture_is_forgotten(void **state)
{
    static const struct unwind_host jumpy = {
        map_or_abandon, host_give_back, host_map_nodes, host_publish_nodes,
        NULL,           host_module_of, host_map_kept,  NULL};
    (void)state;
    unwind_init(&jumpy, UNWIND_CFI, 0);
    memory = unwind_memory_new();
    at_depth(10, check);
    if (!sigsetjmp(out, 1)) {
        abandon = 1;
        at_depth(2000, hook); /* needs more memory in the middle of the capture */
        fail();
    }
    at_depth(10, check);
    at_depth(2000, check);
    assert_agreement(6);
}

/* As the recorder does: a capture that interrupts another one goes without memory. */
static volatile sig_atomic_t capturing;
static struct unwind_memory *mine;

static void check_as_the_recorder_does(void)
{
    sig_atomic_t nested = capturing;
    capturing = 1;
    memory = nested ? NULL : mine;
    check();
    memory = mine;
    capturing = nested;
}

static NOINLINE void capture_often(int depth)
{
    struct unwind_start start = UNWIND_START_HERE();
    if (depth) {
        capture_often(depth - 1);
    }
    for (int i = 0; i < 30; i++) {
        capturing = 1;
        unwind_capture(mine, &start);
        capturing = 0;
    }
    __asm__ volatile("");
}

static void on_timer(int number)
{
    uint32_t full;
    struct unwind_start start = UNWIND_START_HERE();
    (void)number;
    full = unwind_capture(capturing ? NULL : mine, &start);
    if (full == 0) {
        differences++;
    }
    checks++;
    if (chance(2) == 0) {
        siglongjmp(out, 1);
    }
}

static void captures_nest_and_are_abandoned_at_any_instruction(void **state)
{
    struct sigaction action = {.sa_handler = on_timer};
    (void)state;
    begin_unwind(UNWIND_CFI, 0);
    mine = memory;
    sigaction(SIGALRM, &action, NULL);
    for (volatile int i = 0; i < 400; i++) {
        if (!sigsetjmp(out, 1)) {
            ualarm(20 + chance(100), 0);
            for (int k = 0; k < 50; k++) {
                capture_often((int)chance(30));
            }
        }
        capturing = 0;
        ualarm(0, 0);
        check_as_the_recorder_does();
    }
    signal(SIGALRM, SIG_IGN);
    assert_agreement(900);
}

/* A thread that takes one way has no routes. Its memory's pages for them stay untouched. */
static void what_is_not_used_takes_no_memory(void **state)
{
    enum { PAGE = 4096, MOST = 256 };
    unsigned char resident[MOST] = {0};
    size_t bytes = (sizeof *memory + PAGE - 1) / PAGE * PAGE, pages = 0;
    (void)state;
    begin_unwind(UNWIND_CFI, 0);
    assert_true(bytes / PAGE <= MOST);
    for (int i = 0; i < 3; i++) {
        unwind_memory_forget(memory);
        at_depth(5, hook);
        assert_int_not_equal(last_node, 0);
    }
    assert_int_equal(mincore(memory, bytes, resident), 0);
    for (size_t i = 0; i < bytes / PAGE; i++) {
        pages += resident[i] & 1;
    }
    assert_in_range(pages, 1, offsetof(struct unwind_memory, routes) / PAGE + 1);
}

static uint64_t mapped_bytes;

static void *map_counted(size_t bytes)
{
    mapped_bytes += bytes;
    return host_map_private(bytes);
}

static void modules_that_come_and_go_do_not_make_the_index_grow(void **state)
{
    static const struct unwind_host counting = {
        map_counted, host_give_back, host_map_nodes, host_publish_nodes,
        NULL,        host_module_of, host_map_kept,  NULL};
    uintptr_t ips[8];
    (void)state;
    unwind_init(&counting, UNWIND_CFI, 0);
    memory = unwind_memory_new();
    at_depth(5, hook);
    unwind_path_ips(last_node, ips, 8);
    mapped_bytes = 0;
    for (int i = 0; i < 2000; i++) {
        unwind_code_gone(ips[0], ips[0] + 1);
        at_depth(5, hook);
        assert_int_not_equal(last_node, 0);
    }
    assert_true(mapped_bytes < 1 << 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_stack_has_the_same_node),
        cmocka_unit_test(ways_that_were_taken_before_are_not_walked),
        cmocka_unit_test(more_ways_than_are_kept_have_their_nodes),
        cmocka_unit_test(max_depth_keeps_the_innermost_frames_and_says_so),
        cmocka_unit_test(a_path_that_a_base_makes_too_long_is_cut_too),
        cmocka_unit_test(without_stacks_a_path_is_the_caller),
        cmocka_unit_test(a_caller_has_one_number_whichever_way_it_is_asked),
        cmocka_unit_test(frame_pointers_find_functions_that_keep_them),
        cmocka_unit_test(unloaded_code_gets_new_numbers),
#if defined(__x86_64__)
        cmocka_unit_test(code_without_entries_is_walked_by_frame_pointer),
        cmocka_unit_test(a_walk_that_cannot_go_on_says_so),
#endif
        cmocka_unit_test(an_abandoned_capture_is_forgotten),
        cmocka_unit_test(captures_nest_and_are_abandoned_at_any_instruction),
        cmocka_unit_test(what_is_not_used_takes_no_memory),
        cmocka_unit_test(modules_that_come_and_go_do_not_make_the_index_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
