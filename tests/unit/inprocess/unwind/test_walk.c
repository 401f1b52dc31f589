/* Captures against glibc's backtrace(), on every shape of stack that programs have. */
#include "harness.h"

#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static void *volatile sink;

static NOINLINE int down(int depth)
{
    int below;
    if (depth % 16 == 0) {
        check();
    }
    below = depth ? down(depth - 1) : 0;
    __asm__ volatile("" : "+r"(below));
    return below + 1;
}

static NOINLINE int straight_down(int depth, int times)
{
    int below = 0;
    if (depth) {
        below = straight_down(depth - 1, times);
    }
    while (depth == 0 && times--) {
        check();
    }
    __asm__ volatile("" : "+r"(below));
    return below + 1;
}

static void agrees_on_shallow_and_deep_recursion(void **state)
{
    (void)state;
    down(3);
    down(200);
    straight_down(2000, 3);
    assert_agreement(30);
}

static void agrees_ten_thousand_frames_deep(void **state)
{
    (void)state;
    straight_down(12000, 3);
    assert_agreement(6);
}

static void *very_deep(void *nothing)
{
    memory = unwind_memory_new();
    straight_down(200000, 2);
    straight_down(200000, 1);
    return nothing;
}

static void agrees_two_hundred_thousand_frames_deep(void **state)
{
    pthread_attr_t attributes;
    pthread_t thread;
    (void)state;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 20);
    pthread_create(&thread, &attributes, very_deep, NULL);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    assert_agreement(6);
}

static NOINLINE void with_alloca(int depth)
{
    char *bytes = alloca(chance(300) + 1);
    sink = bytes;
    check();
    if (depth) {
        with_alloca(depth - 1);
    }
    check();
}

static NOINLINE void realigned(int depth, ...)
{
    _Alignas(64) char bytes[128];
    char *more = alloca(chance(100) + 8);
    sink = bytes, sink = more;
    check();
    if (depth) {
        realigned(depth - 1, 1, 2);
    }
    check();
}

static NOINLINE void large(int depth)
{
    char bytes[40000];
    sink = bytes;
    if (depth) {
        large(depth - 1);
    }
    check();
}

static void agrees_on_frames_of_changing_size(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        with_alloca((int)chance(12));
        realigned((int)chance(8), 1);
        large((int)chance(4));
    }
    assert_agreement(400);
}

static NOINLINE void callee(void)
{
    check();
}

static NOINLINE void caller_with_two_call_sites(void)
{
    callee();
    callee();
    __asm__ volatile("");
}

static void tells_two_call_sites_of_one_caller_apart(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        caller_with_two_call_sites();
    }
    assert_agreement(12);
}

static NOINLINE void way_of(unsigned frames)
{
    if (frames > 1) {
        way_of(frames - 1);
    } else {
        check();
    }
    __asm__ volatile("");
}

/* The same ways again and again from one function, by several call sites. */
static NOINLINE void ways_in_turn(unsigned times)
{
    while (times--) {
        switch (chance(5)) {
        case 0:
            callee();
            break;
        case 1:
            callee();
            __asm__ volatile("" ::"i"(1));
            break;
        case 2:
            way_of(1 + chance(6));
            break;
        case 3:
            realigned(0, 1);
            break;
        default:
            with_alloca(0);
        }
    }
}

static NOINLINE void outside_of_ways(unsigned level)
{
    sink = alloca(64 * (1 + chance(2)));
    if (level == 0) {
        ways_in_turn(40);
    } else if (chance(2)) {
        outside_of_ways(level - 1);
    } else {
        outside_of_ways(level - 1);
        __asm__ volatile("" ::"i"(2));
    }
    __asm__ volatile("");
}

static void agrees_on_ways_that_are_taken_in_turn(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        outside_of_ways(chance(4));
    }
    assert_agreement(4000);
}

#if defined(__x86_64__)
/* The return addresses may all look unchanged while frames have moved: old ones lie about in
 * alloca's bytes. Only the frame pointer tells, live or saved. */
void call_with_live_bp(void (*function)(void));
void call_with_saved_bp(void (*function)(void));
__asm__(".text\n"
        "call_with_live_bp:\n"
        "	.cfi_startproc\n"
        "	sub $8, %rsp\n"
        "	.cfi_def_cfa_offset 16\n"
        "	call *%rdi\n"
        "	add $8, %rsp\n"
        "	.cfi_def_cfa_offset 8\n"
        "	ret\n"
        "	.cfi_endproc\n"
        "call_with_saved_bp:\n"
        "	.cfi_startproc\n"
        "	push %rbp\n"
        "	.cfi_def_cfa_offset 16\n"
        "	.cfi_offset rbp, -16\n"
        "	xor %ebp, %ebp\n"
        "	call *%rdi\n"
        "	pop %rbp\n"
        "	.cfi_def_cfa_offset 8\n"
        "	ret\n"
        "	.cfi_endproc\n");

static NOINLINE void moved_frame(size_t bytes, void (*through)(void (*)(void)))
{
    sink = alloca(bytes);
    through(check);
    __asm__ volatile("");
}

static NOINLINE void moving_frame(int second, void (*through)(void (*)(void)))
{
    sink = alloca(second ? 1024 : 512);
    if (second) {
        moved_frame(512, through);
    } else {
        moved_frame(1024, through);
    }
    __asm__ volatile("");
}

static void sees_frames_move_between_unchanged_return_addresses(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        moving_frame(i & 1, call_with_live_bp);
    }
    for (int i = 0; i < 6; i++) {
        moving_frame(i & 1, call_with_saved_bp);
    }
    for (int i = 0; i < 600; i++) {
        moving_frame((int)chance(2), chance(2) ? call_with_live_bp : call_with_saved_bp);
    }
    assert_agreement(1200);
}
#endif

static jmp_buf targets[8];

static NOINLINE void jump_from(int depth, unsigned target)
{
    char bytes[64];
    sink = bytes;
    check();
    if (depth == 0) {
        longjmp(targets[target], 1);
    } else {
        jump_from(depth - 1, target);
    }
    __asm__ volatile("");
}

static NOINLINE void set_targets(unsigned level)
{
    if (setjmp(targets[level])) {
        check();
        return;
    }
    check();
    if (level < 7 && chance(2)) {
        set_targets(level + 1);
    } else {
        jump_from((int)chance(20), chance(level + 1));
    }
    check();
}

static void agrees_after_longjmp(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++) {
        set_targets(0);
    }
    assert_agreement(1000);
}

#if defined(__x86_64__) /* elsewhere there may be no C++ runtime to link with */
void throw_and_catch(void (*check_here)(void), int times);

static void agrees_after_exceptions(void **state)
{
    (void)state;
    throw_and_catch(check, 200);
    assert_agreement(2000);
}
#endif

/* Random wandering up and down through functions of different shapes. */
static unsigned steps_left;
static void wander(unsigned depth);

static NOINLINE void wander_small(unsigned depth)
{
    wander(depth);
    check();
}

static NOINLINE void wander_alloca(unsigned depth)
{
    sink = alloca(chance(4) * 16 + 1);
    wander(depth);
    wander(depth);
}

static NOINLINE void wander_aligned(unsigned depth)
{
    _Alignas(32) char bytes[32];
    sink = bytes;
    wander(depth);
}

static NOINLINE void wander(unsigned depth)
{
    while (steps_left && chance(10) < (depth < 40 ? 6 : 3)) {
        steps_left--;
        switch (chance(3)) {
        case 0:
            wander_small(depth + 1);
            break;
        case 1:
            wander_alloca(depth + 1);
            break;
        default:
            wander_aligned(depth + 1);
        }
        check();
    }
}

static void agrees_wherever_the_stack_wanders(void **state)
{
    (void)state;
    steps_left = 20000;
    while (steps_left) {
        wander(0);
    }
    assert_agreement(30000);
}

/* ---- Signals ---- */

static void on_signal(int number)
{
    (void)number;
    with_alloca(3);
}

static NOINLINE void raise_at(int depth, int number)
{
    check();
    if (depth) {
        raise_at(depth - 1, number);
    } else {
        raise(number);
    }
    check();
}

static void handle(int number, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(number, &action, NULL);
}

static void agrees_in_signal_handlers(void **state)
{
    (void)state;
    handle(SIGUSR1, on_signal, 0);
    for (int i = 0; i < 20; i++) {
        raise_at((int)chance(20), SIGUSR1);
    }
    assert_agreement(400);
}

static void agrees_on_the_alternate_stack_and_back_to_the_main_one(void **state)
{
    stack_t alternate = {.ss_sp = malloc(1 << 20), .ss_size = 1 << 20};
    (void)state;
    sigaltstack(&alternate, NULL);
    handle(SIGUSR2, on_signal, SA_ONSTACK);
    for (int i = 0; i < 20; i++) {
        raise_at((int)chance(20), SIGUSR2);
    }
    alternate.ss_flags = SS_DISABLE;
    sigaltstack(&alternate, NULL);
    free(alternate.ss_sp);
    assert_agreement(400);
}

static sigjmp_buf after_fault;

static void on_fault(int number)
{
    (void)number;
    check();
    siglongjmp(after_fault, 1);
}

static NOINLINE void fault_at(int depth, volatile int *nowhere)
{
    check();
    if (depth) {
        fault_at(depth - 1, nowhere);
    } else {
        *nowhere = 1;
    }
    __asm__ volatile("");
}

static void agrees_where_a_fault_interrupted_an_exact_instruction(void **state)
{
    (void)state;
    handle(SIGSEGV, on_fault, SA_NODEFER);
    for (volatile int i = 0; i < 20; i++) {
        if (!sigsetjmp(after_fault, 1)) {
            fault_at((int)chance(10), NULL);
        }
    }
    signal(SIGSEGV, SIG_DFL);
    assert_agreement(100);
}

#if defined(__x86_64__)
/* Interrupted between pop and ret: the row still has the frame pointer saved, below rsp. */
void trap_before_ret(void);
__asm__(".text\n"
        "trap_before_ret:\n"
        "	.cfi_startproc\n"
        "	push %rbp\n"
        "	.cfi_def_cfa_offset 16\n"
        "	.cfi_offset rbp, -16\n"
        "	mov %rsp, %rbp\n"
        "	.cfi_def_cfa_register rbp\n"
        "	pop %rbp\n"
        "	.cfi_def_cfa rsp, 8\n"
        "	ud2\n"
        "	ret\n"
        "	.cfi_endproc\n");

static void step_over_ud2(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    check();
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
}

static NOINLINE void trap_with_alloca(size_t bytes)
{
    sink = alloca(bytes);
    trap_before_ret();
    check();
}

static void agrees_where_a_frame_pointer_was_just_restored(void **state)
{
    struct sigaction action = {.sa_sigaction = step_over_ud2, .sa_flags = SA_SIGINFO};
    (void)state;
    sigaction(SIGILL, &action, NULL);
    for (size_t i = 1; i < 10; i++) {
        trap_with_alloca(16 * i);
    }
    signal(SIGILL, SIG_DFL);
    assert_agreement(36);
    assert_int_equal(unwind_counters_read().unwalkable, 0);
}
#endif

/* ---- Other stacks ---- */

#if defined(__x86_64__)
/* Runs a function on another stack; its own frame is kept in rbp, or in r12, as its rows say. */
void on_stack_by_rbp(void (*function)(uintptr_t), uintptr_t argument, void *top);
void on_stack_by_r12(void (*function)(uintptr_t), uintptr_t argument, void *top);
#define ON_STACK(name, register_, number)                                                          \
    __asm__(".text\n" name ":\n"                                                                   \
            "	.cfi_startproc\n"                                                                    \
            "	push " register_ "\n"                                                              \
            "	.cfi_def_cfa_offset 16\n"                                                            \
            "	.cfi_offset " number ", -16\n"                                                     \
            "	mov %rsp, " register_ "\n"                                                         \
            "	.cfi_def_cfa_register " number "\n"                                                \
            "	mov %rdx, %rsp\n"                                                                    \
            "	mov %rdi, %rax\n"                                                                    \
            "	mov %rsi, %rdi\n"                                                                    \
            "	call *%rax\n"                                                                        \
            "	mov " register_ ", %rsp\n"                                                         \
            "	pop " register_ "\n"                                                               \
            "	.cfi_def_cfa rsp, 8\n"                                                               \
            "	ret\n"                                                                               \
            "	.cfi_endproc\n")
ON_STACK("on_stack_by_rbp", "%rbp", "rbp");
ON_STACK("on_stack_by_r12", "%r12", "r12");

/* As rustc's deep recursions and -fsplit-stack do: stacks that are one, piece by piece. */
static NOINLINE void in_pieces(uintptr_t more)
{
    with_alloca((int)chance(4));
    if (more) {
        size_t bytes = 64 * 1024;
        char *piece = (char *)host_map_private(bytes);
        (chance(4) ? on_stack_by_rbp : on_stack_by_r12)(in_pieces, more - 1, piece + bytes);
        munmap(piece, bytes);
    }
    with_alloca((int)chance(4));
}

/* What is outer lies below what is inner, all on one stack. */
static NOINLINE void in_a_variable(uintptr_t depth)
{
    _Alignas(16) char room[64 * 1024];
    sink = room;
    with_alloca((int)chance(4));
    on_stack_by_rbp(in_pieces, depth, room + sizeof room);
    with_alloca((int)chance(4));
}

static void agrees_where_a_stack_goes_on_elsewhere(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        in_pieces(chance(6));
        in_a_variable(chance(3));
    }
    assert_agreement(300);
    assert_int_equal(unwind_counters_read().unwalkable, 0);
}
#endif

#define FIBER_BYTES (128 * 1024)
static ucontext_t main_context, fiber_context[4];
static int fiber_alive[4];
static void *fiber_stack[4];

static NOINLINE void run_fiber(int fiber, int depth)
{
    check();
    if (depth) {
        run_fiber(fiber, depth - 1);
    } else {
        swapcontext(&fiber_context[fiber], &main_context);
    }
    check();
}

static void fiber_main(int fiber)
{
    for (int i = 0; i < 3; i++) {
        run_fiber(fiber, (int)chance(20));
    }
    fiber_alive[fiber] = 0;
}

static void start_fiber(int fiber)
{
    ucontext_t *context = &fiber_context[fiber];
    if (fiber_stack[fiber]) {
        munmap(fiber_stack[fiber], FIBER_BYTES);
    }
    fiber_stack[fiber] = host_map_private(FIBER_BYTES);
    getcontext(context);
    context->uc_stack.ss_sp = fiber_stack[fiber];
    context->uc_stack.ss_size = FIBER_BYTES;
    context->uc_link = &main_context;
    makecontext(context, (void (*)(void))fiber_main, 1, fiber);
    fiber_alive[fiber] = 1;
}

static void agrees_on_fibers(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        int fiber = (int)chance(4);
        if (!fiber_alive[fiber]) {
            start_fiber(fiber);
        }
        check();
        swapcontext(&main_context, &fiber_context[fiber]);
    }
    assert_agreement(400);
}

static void *thread_main(void *own_stack)
{
    (void)own_stack;
    memory = unwind_memory_new();
    for (int i = 0; i < 20; i++) {
        with_alloca((int)chance(10));
        down((int)chance(40));
    }
    return NULL;
}

static void agrees_in_threads_up_to_their_entry(void **state)
{
    pthread_t threads[4];
    (void)state;
    for (int i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, thread_main, NULL);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_agreement(800);
}

static void agrees_on_a_thread_stack_that_the_program_supplies(void **state)
{
    static char stack[8 << 20];
    pthread_attr_t attributes;
    pthread_t thread;
    (void)state;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, sizeof stack);
    pthread_create(&thread, &attributes, thread_main, NULL);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    assert_agreement(200);
}

static NOINLINE void plugin_calls_back(void)
{
    with_alloca(2);
}

static int compare_and_check(const void *a, const void *b)
{
    check();
    return *(const int *)a - *(const int *)b;
}

static void agrees_through_library_functions(void **state)
{
    int numbers[50];
    (void)state;
    for (int i = 0; i < 50; i++) {
        numbers[i] = (int)chance(1000);
    }
    qsort(numbers, 50, sizeof *numbers, compare_and_check);
    assert_agreement(100);
}

/* The two have different frames, and the one is loaded where the other was. */
static void agrees_in_a_module_that_comes_and_goes(void **state)
{
    uintptr_t last = 0, reused = 0;
    (void)state;
    for (int i = 0; i < 6; i++) {
        void *module = dlopen(i & 1 ? PLUGIN_A : PLUGIN_B, RTLD_NOW);
        void (*plugin)(void (*)(void), int), (*base)(void);
        Dl_info info;
        assert_non_null(module);
        *(void **)&plugin = dlsym(module, "plugin_run");
        *(void **)&base = *(void **)&plugin;
        plugin(plugin_calls_back, 5);
        dladdr(*(void **)&base, &info);
        dlclose(module);
        reused += (uintptr_t)info.dli_fbase == last;
        last = (uintptr_t)info.dli_fbase;
        unwind_code_gone((uintptr_t)info.dli_fbase, (uintptr_t)info.dli_fbase + 0x5000);
    }
#if defined(__x86_64__)
    assert_true(reused > 0); /* qemu-user maps anew */
#endif
    assert_agreement(6 * 6);
}

static void agrees_in_the_child_of_a_fork(void **state)
{
    int status;
    pid_t child;
    (void)state;
    down(30);
    child = fork();
    if (child == 0) {
        begin_unwind(UNWIND_CFI, 0);
        down(100);
        _exit(differences != 0 || checks == 0 || published < 50);
    }
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    down(30);
    assert_agreement(8);
}

#if defined(__x86_64__)
/* ---- Rows that fit no rule ---- */

void rare_by_rbx(void (*function)(void));
void rare_by_expression(void (*function)(void));
void rare_saved_elsewhere(void (*function)(void));
__asm__(".text\n"
        "rare_by_rbx:\n"
        "	.cfi_startproc\n"
        "	push %rbx\n"
        "	.cfi_def_cfa_offset 16\n"
        "	.cfi_offset rbx, -16\n"
        "	mov %rsp, %rbx\n"
        "	.cfi_def_cfa_register rbx\n"
        "	sub $48, %rsp\n"
        "	and $-32, %rsp\n"
        "	call *%rdi\n"
        "	mov %rbx, %rsp\n"
        "	.cfi_def_cfa_register rsp\n"
        "	pop %rbx\n"
        "	.cfi_def_cfa_offset 8\n"
        "	ret\n"
        "	.cfi_endproc\n"
        "rare_by_expression:\n"
        "	.cfi_startproc\n"
        "	mov %rsp, %rax\n"
        "	sub $56, %rsp\n"
        "	mov %rax, 16(%rsp)\n"
        /* CFA = *(rsp + 16) + 8 */
        "	.cfi_escape 0x0f, 5, 0x77, 16, 0x06, 0x23, 8\n"
        "	call *%rdi\n"
        "	add $56, %rsp\n"
        "	.cfi_def_cfa rsp, 8\n"
        "	ret\n"
        "	.cfi_endproc\n"
        "rare_saved_elsewhere:\n"
        "	.cfi_startproc\n"
        "	mov (%rsp), %rax\n"
        "	sub $24, %rsp\n"
        "	.cfi_def_cfa_offset 32\n"
        "	mov %rax, 8(%rsp)\n"
        "	.cfi_offset rip, -24\n"
        "	movq $0, 24(%rsp)\n"
        "	call *%rdi\n"
        "	mov 8(%rsp), %rax\n"
        "	mov %rax, 24(%rsp)\n"
        "	add $24, %rsp\n"
        "	.cfi_def_cfa_offset 8\n"
        "	.cfi_restore rip\n"
        "	ret\n"
        "	.cfi_endproc\n");

static NOINLINE void through_rare_rows(int depth)
{
    check();
    rare_by_rbx(callee);
    rare_by_expression(callee);
    rare_saved_elsewhere(callee);
    if (depth) {
        through_rare_rows(depth - 1);
    }
    check();
}

static NOINLINE void all_rare_at_once(void)
{
    rare_by_rbx(caller_with_two_call_sites);
    __asm__ volatile("");
}

static void agrees_on_rows_that_no_rule_can_say(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        through_rare_rows(4);
        rare_by_expression(all_rare_at_once);
        rare_saved_elsewhere(all_rare_at_once);
    }
    assert_agreement(100);
    assert_int_equal(unwind_counters_read().unwalkable, 0);
}
#endif

static int set_up(void **state)
{
    (void)state;
    begin_unwind(UNWIND_CFI, 0);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(agrees_on_shallow_and_deep_recursion, set_up),
        cmocka_unit_test_setup(agrees_ten_thousand_frames_deep, set_up),
        cmocka_unit_test_setup(agrees_two_hundred_thousand_frames_deep, set_up),
        cmocka_unit_test_setup(agrees_on_frames_of_changing_size, set_up),
        cmocka_unit_test_setup(tells_two_call_sites_of_one_caller_apart, set_up),
        cmocka_unit_test_setup(agrees_on_ways_that_are_taken_in_turn, set_up),
#if defined(__x86_64__)
        cmocka_unit_test_setup(sees_frames_move_between_unchanged_return_addresses, set_up),
#endif
        cmocka_unit_test_setup(agrees_after_longjmp, set_up),
#if defined(__x86_64__)
        cmocka_unit_test_setup(agrees_after_exceptions, set_up),
#endif
        cmocka_unit_test_setup(agrees_wherever_the_stack_wanders, set_up),
        cmocka_unit_test_setup(agrees_in_signal_handlers, set_up),
        cmocka_unit_test_setup(agrees_on_the_alternate_stack_and_back_to_the_main_one, set_up),
        cmocka_unit_test_setup(agrees_where_a_fault_interrupted_an_exact_instruction, set_up),
#if defined(__x86_64__)
        cmocka_unit_test_setup(agrees_where_a_frame_pointer_was_just_restored, set_up),
        cmocka_unit_test_setup(agrees_where_a_stack_goes_on_elsewhere, set_up),
#endif
        cmocka_unit_test_setup(agrees_on_fibers, set_up),
        cmocka_unit_test_setup(agrees_in_threads_up_to_their_entry, set_up),
        cmocka_unit_test_setup(agrees_on_a_thread_stack_that_the_program_supplies, set_up),
        cmocka_unit_test_setup(agrees_through_library_functions, set_up),
        cmocka_unit_test_setup(agrees_in_a_module_that_comes_and_goes, set_up),
        cmocka_unit_test_setup(agrees_in_the_child_of_a_fork, set_up),
#if defined(__x86_64__)
        cmocka_unit_test_setup(agrees_on_rows_that_no_rule_can_say, set_up),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
