/* Code without unwind tables that leaves its stack: as Go, GHC and boost.context do it. What comes
 * behind it must be the callers as they are without it, and what is not sure must end the path. */
#include "harness.h"

#include <errno.h>
#include <pthread.h>
#include "unwind/registered.h"

#define STACK_BYTES (64 * 1024)
#define MOST        64

static uintptr_t path[MOST];
static size_t path_count;

static WITH_FRAME void hook(void)
{
    struct unwind_start start = UNWIND_START_HERE();
    uint32_t remembered = unwind_capture(memory, &start), full = unwind_capture(NULL, &start);
    assert_int_equal(remembered, full);
    path_count = unwind_path_ips(full, path, MOST);
}

static NOINLINE void callee(void)
{
    hook();
    __asm__ volatile("");
}

/* Functions without rows, but for `room`. */
void as_go(void (*function)(void), void *top);
void as_go_broken(void (*function)(void), void *top, uintptr_t returns);
void room(void (*function)(void)) __attribute__((visibility("hidden")));
void as_boost(void (*function)(void), void *top);
extern const char as_go_returns[], in_room_returns[], as_boost_ends[];
__asm__(".text\n"
        /* cgocall() keeps a frame pointer, asmcgocall() keeps it as it is and switches stacks. */
        "as_go:\n"
        "	push %rbp\n"
        "	mov %rsp, %rbp\n"
        "	call switches\n"
        "	pop %rbp\n"
        "	ret\n"
        "switches:\n"
        "	mov %rsp, %rdx\n"
        "	mov %rsi, %rsp\n"
        "	sub $16, %rsp\n"
        "	mov %rdx, 8(%rsp)\n"
        "	call *%rdi\n"
        "as_go_returns:\n"
        "	mov 8(%rsp), %rsp\n"
        "	ret\n"
        /* The frame pointer leads to a record of any return address. */
        "as_go_broken:\n"
        "	push %rbp\n"
        "	push %rdx\n"
        "	push %rbp\n"
        "	mov %rsp, %rbp\n"
        "	call switches\n"
        "	add $16, %rsp\n"
        "	pop %rbp\n"
        "	ret\n"
        /* StgRun() makes room for code that it jumps to, and that keeps the stack pointer. */
        "room:\n"
        "	.cfi_startproc\n"
        "	sub $0x30, %rsp\n"
        "	mov %rsp, %rax\n"
        "	sub $0x4000, %rsp\n"
        "	mov %rbx, (%rax)\n"
        "	mov %rbp, 8(%rax)\n"
        "	.cfi_def_cfa rsp, 0\n"
        "	.cfi_offset rbx, 16384\n"
        "	.cfi_offset rbp, 16392\n"
        "	.cfi_offset rip, 16432\n"
        "	.cfi_escape 0x16, 7, 4, 0x77, 0xb8, 0x80, 0x01\n" /* rsp = rsp + 16440 */
        "	jmp in_room\n"
        "room_ends:\n"
        "	add $0x4000, %rsp\n"
        "	mov (%rsp), %rbx\n"
        "	mov 8(%rsp), %rbp\n"
        "	add $0x30, %rsp\n"
        "	ret\n"
        "	.cfi_endproc\n"
        "in_room:\n"
        "	lea 7(%rsp), %rbp\n" /* its own stack pointer */
        "	sub $40, %rsp\n"
        "	call *%rdi\n"
        "in_room_returns:\n"
        "	add $40, %rsp\n"
        "	jmp room_ends\n"
        /* make_fcontext(): the address behind the fiber's function is in the frame pointer. */
        "as_boost:\n"
        "	push %rbp\n"
        "	push %rbx\n"
        "	mov %rsp, %rbx\n"
        "	mov %rsi, %rsp\n"
        "	lea as_boost_ends(%rip), %rbp\n"
        "	push %rbp\n"
        "	jmp *%rdi\n"
        "as_boost_ends:\n"
        "	mov %rbx, %rsp\n"
        "	pop %rbx\n"
        "	pop %rbp\n"
        "	ret\n");

static uintptr_t wrong_return;

static char *stack_top(void)
{
    return (char *)host_map_private(STACK_BYTES) + STACK_BYTES;
}

/* Each calls callee() from one place, the first without anything between. */
enum { PLAIN, GO, GO_BROKEN, ROOM, BOOST };
static NOINLINE void call(int how, void *top)
{
    switch (how) {
    case GO:
        as_go(callee, top);
        break;
    case GO_BROKEN:
        as_go_broken(callee, top, wrong_return);
        break;
    case ROOM:
        room(callee);
        break;
    case BOOST:
        as_boost(callee, top);
        break;
    default:
        callee();
    }
    __asm__ volatile("");
}

static NOINLINE void at_depth(int depth, int how, void *top)
{
    if (depth) {
        at_depth(depth - 1, how, top);
    } else {
        call(how, top);
    }
    __asm__ volatile("");
}

/* The frames of call()'s callers are those of a plain call. */
static void assert_same_callers(int how, uintptr_t between)
{
    const int both[] = {PLAIN, how};
    uintptr_t paths[2][MOST];
    size_t counts[2];
    void *top = stack_top();
    for (int depth = 0; depth < 16; depth++) {
        for (volatile int i = 0; i < 2; i++) { /* one place calls both */
            at_depth(depth / 2, both[i], top);
            memcpy(paths[i], path, sizeof path);
            counts[i] = path_count;
        }
        assert_int_equal(paths[1][0], paths[0][0]); /* in callee() */
        assert_int_equal(paths[1][1], between);
        assert_int_equal(counts[1], counts[0] + 1);
        /* in call(), but at another place */
        assert_true(paths[1][2] > (uintptr_t)call && paths[1][2] < (uintptr_t)call + 512);
        assert_memory_equal(&paths[1][3], &paths[0][2], (counts[0] - 2) * sizeof *path);
    }
    assert_int_equal(unwind_counters_read().unwalkable, 0);
}

static void frame_pointers_lead_back_from_another_stack(void **state)
{
    (void)state;
    assert_same_callers(GO, (uintptr_t)as_go_returns);
}

static void code_in_a_room_that_a_table_describes_is_left(void **state)
{
    (void)state;
    assert_same_callers(ROOM, (uintptr_t)in_room_returns);
}

static void a_fiber_that_boost_began_has_no_caller(void **state)
{
    (void)state;
    at_depth(3, BOOST, stack_top());
    assert_int_equal(path_count, 2);
    assert_int_equal(path[1], (uintptr_t)as_boost_ends);
    assert_int_equal(unwind_counters_read().unwalkable, 0);
}

static void what_is_behind_no_call_is_no_return_address(void **state)
{
    (void)state;
    wrong_return = (uintptr_t)&wrong_return;
    at_depth(3, GO_BROKEN, stack_top());
    assert_int_equal(path_count, 3);
    assert_int_equal(path[1], (uintptr_t)as_go_returns);
    assert_int_equal(path[2], WIRE_MARK_NO_TABLE);
    assert_int_equal(unwind_counters_read().unwalkable, 2);
}

/* The call is the last instruction of a page, and nothing can be read behind it. */
static void a_call_at_the_end_of_what_can_be_read_is_read(void **state)
{
    (void)state;
    uint8_t *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(pages + 4094, "\xff\xd7", 2);
    assert_int_equal(mprotect(pages + 4096, 4096, PROT_NONE), 0);
    wrong_return = (uintptr_t)pages + 4096;
    at_depth(3, GO_BROKEN, stack_top());
    assert_int_equal(path[1], (uintptr_t)as_go_returns);
    assert_int_equal(path[2], wrong_return);
    munmap(pages, 8192);
}

/* push %rbp; mov $1, %ebp; sub $16, %rsp; call *%rdi; add $16, %rsp; pop %rbp; ret */
static const uint8_t made_code[] = {0x55, 0xbd, 1,    0,    0,    0,    0x48, 0x83, 0xec,
                                    0x10, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3};
/* A CIE (CFA = rsp + 8, the return address at CFA - 8), an FDE whose code is filled in, the end. */
struct frames {
    uint8_t cie[24];
    uint32_t fde_bytes, to_cie;
    uint64_t code, bytes;
    uint8_t program[12];
    uint32_t end;
} __attribute__((packed));
static const struct frames made_frames = {
    {20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0, 0x0c, 7, 8, 0x90, 1},
    32,
    28,
    0,
    sizeof made_code,
    {0, 0x41, 0x0e, 16, 0x86, 2, 0x49, 0x0e, 32},
    0};

static uint8_t *make_code(void)
{
    uint8_t *at =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(at, made_code, sizeof made_code);
    return at;
}

/* Nobody has registered it, it is registered, it is gone; once more, at the same address. */
static void code_is_walked_as_long_as_its_frames_are_registered(void **state)
{
    (void)state;
    uint8_t *code = make_code();
    struct frames frames = made_frames;
    frames.code = (uintptr_t)code;
    for (int i = 0; i < 6; i++) {
        bool is_known = i % 3 == 1;
        if (is_known) {
            unwind_frames_added(&frames);
        }
        ((void (*)(void (*)(void)))code)(callee);
        assert_int_equal(path[1], (uintptr_t)code + 12);
        if (is_known) {
            assert_true(path_count > 4);
            assert_true(path[2] > (uintptr_t)code_is_walked_as_long_as_its_frames_are_registered);
            assert_true(path[path_count - 1] >= WIRE_MARK_LIMIT);
            unwind_frames_removed(&frames);
        } else {
            assert_int_equal(path_count, 3);
            assert_int_equal(path[2], WIRE_MARK_NO_TABLE);
        }
    }
}

/* As JIT compilers of several threads do it; what is gone is overwritten at once. */
static _Atomic bool is_over;
static void *come_and_go(void *nothing)
{
    while (!is_over) {
        struct frames *frames = malloc(sizeof *frames);
        *frames = made_frames;
        frames->code = (uintptr_t)make_code();
        unwind_frames_added(frames);
        unwind_frames_removed(frames);
        munmap((void *)frames->code, 4096);
        memset(frames, 0xff, sizeof *frames);
        free(frames);
    }
    return nothing;
}

static void frames_come_and_go_while_others_walk(void **state)
{
    (void)state;
    pthread_t threads[2];
    uint8_t *code = make_code();
    struct frames frames = made_frames;
    frames.code = (uintptr_t)code;
    is_over = false;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, NULL), 0);
    }
    unwind_frames_added(&frames);
    for (int i = 0; i < 2000; i++) {
        ((void (*)(void (*)(void)))code)(callee);
        assert_true(path_count > 4);
    }
    is_over = true;
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    unwind_frames_removed(&frames);
}

/* A slot of the table is freed and taken again between any two reads of it. */
static void *register_again_and_again(void *frames)
{
    uintptr_t lo, hi;
    while (!is_over) {
        registered_add(frames);
        registered_remove(frames, &lo, &hi);
    }
    return NULL;
}

static void frames_go_while_they_are_searched(void **state)
{
    (void)state;
    pthread_t threads[2];
    struct frames frames[2] = {made_frames, made_frames};
    struct cfi_row row;
    is_over = false;
    for (int i = 0; i < 2; i++) {
        frames[i].code = (uintptr_t)made_code;
        assert_int_equal(pthread_create(&threads[i], NULL, register_again_and_again, &frames[i]),
                         0);
    }
    for (int i = 0, found = 0; i < 1000000 || found < 1000; i++) {
        int status = registered_find_row((uintptr_t)made_code + 12, &row);
        assert_true(status == 0 || status == -ENOENT);
        found += status == 0;
    }
    is_over = true;
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
}

static int set_up(void **state)
{
    (void)state;
    begin_unwind(UNWIND_CFI, 0);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(frame_pointers_lead_back_from_another_stack, set_up),
        cmocka_unit_test_setup(code_in_a_room_that_a_table_describes_is_left, set_up),
        cmocka_unit_test_setup(a_fiber_that_boost_began_has_no_caller, set_up),
        cmocka_unit_test_setup(what_is_behind_no_call_is_no_return_address, set_up),
        cmocka_unit_test_setup(a_call_at_the_end_of_what_can_be_read_is_read, set_up),
        cmocka_unit_test_setup(code_is_walked_as_long_as_its_frames_are_registered, set_up),
        cmocka_unit_test_setup(frames_come_and_go_while_others_walk, set_up),
        cmocka_unit_test_setup(frames_go_while_they_are_searched, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
