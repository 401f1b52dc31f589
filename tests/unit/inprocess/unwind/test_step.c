/* Captures at every single instruction of code that is hard to unwind: lazily bound calls from the
 * stub through the loader's resolver, exceptions, longjmp, fibers, signal handlers, realigned
 * frames, prologues and epilogues of all of these. The processor traps after each instruction (TF),
 * and the handler of that captures.
 *
 * The oracle is a shadow stack, kept by watching calls: an instruction that pushed the address
 * behind itself. What lies below the stack pointer has returned, by ret or otherwise. backtrace()
 * is asked too, and it is the oracle where stacks are switched; but it reads through null pointers
 * where the call frame information is wrong, so that is caught. */
#include "harness.h"

#include <alloca.h>
#include <dlfcn.h>
#include <math.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include "unwind/arch.h"

static void *volatile sink;
static volatile unsigned steps;

void step_on(void);
void step_off(void);
__asm__(".text\n"
        "step_on:\n"
        "	.cfi_startproc\n"
        "	pushf\n"
        "	.cfi_adjust_cfa_offset 8\n"
        "	orq $0x100, (%rsp)\n"
        "	popf\n"
        "	.cfi_adjust_cfa_offset -8\n"
        "	ret\n"
        "	.cfi_endproc\n"
        "step_off:\n"
        "	.cfi_startproc\n"
        "	pushf\n"
        "	.cfi_adjust_cfa_offset 8\n"
        "	andq $~0x100, (%rsp)\n"
        "	popf\n"
        "	.cfi_adjust_cfa_offset -8\n"
        "	ret\n"
        "	.cfi_endproc\n");

/* ---- The oracle ---- */

#define SHADOWS 4096

static struct {
    uintptr_t slot, ip;
} shadows[SHADOWS];
static size_t shadow_count, base_count;
static uintptr_t base_ips[64], last_ip, last_sp;
static bool stacks_switch;
static unsigned backtrace_crashed, backtrace_differs;

static void shadow_follow(uintptr_t ip, uintptr_t sp)
{
    uintptr_t top = *(const uintptr_t *)sp;
    while (shadow_count && shadows[shadow_count - 1].slot < sp) {
        shadow_count--;
    }
    if (last_ip && sp == last_sp - 8 && top - last_ip >= 2 && top - last_ip <= 7 && ip != top &&
        shadow_count < SHADOWS) {
        shadows[shadow_count].slot = sp;
        shadows[shadow_count++].ip = top;
    }
    last_ip = ip, last_sp = sp;
}

static void shadow_answer(uintptr_t ip, struct answer *answer)
{
    size_t count = 0;
    answer->ips[count++] = ip;
    for (size_t i = shadow_count; i-- > 0;) {
        answer->ips[count++] = shadows[i].ip;
    }
    memcpy(&answer->ips[count], base_ips, base_count * sizeof *base_ips);
    answer->count = count + base_count;
}

static sigjmp_buf after_crash;

static void on_crash(int number)
{
    (void)number;
    siglongjmp(after_crash, 1);
}

/* False: it crashed. */
static bool ask_glibc_from(uintptr_t ip, struct answer *glibc)
{
    static void *frames[1024];
    struct sigaction crash = {.sa_handler = on_crash, .sa_flags = SA_NODEFER}, before;
    volatile bool answered = false;
    sigaction(SIGSEGV, &crash, &before);
    if (!sigsetjmp(after_crash, 1)) {
        size_t all = (size_t)backtrace(frames, 1024), first = 0;
        while (first < all && (uintptr_t)frames[first] != ip) {
            first++;
        }
        glibc->count = all - first;
        memcpy(glibc->ips, frames + first, glibc->count * sizeof *frames);
        answered = true;
    }
    sigaction(SIGSEGV, &before, NULL);
    return answered;
}

static bool same(const struct answer *a, const struct answer *b)
{
    return a->count == b->count && memcmp(a->ips, b->ips, a->count * sizeof *a->ips) == 0;
}

/* Frames as the call frame information has them, where that is not what was called:
 *   - longjmp and swapcontext, once they read their buffer, call themselves a callee of their
 *     target;
 *   - libgcc, about to enter a handler, writes over the registers that its caller had it save.
 * backtrace() says the same or crashes. */
struct excuse {
    const char *module; /* the interrupted code's, part of its path */
    unsigned most;
};
static struct excuse excuse;
static unsigned excused;

static bool is_excused(uintptr_t ip, const struct answer *ours, const struct answer *glibc)
{
    Dl_info info = {0};
    bool as_glibc = !glibc || same(ours, glibc);
    return excuse.module && as_glibc && dladdr((void *)ip, &info) && info.dli_fname &&
           strstr(info.dli_fname, excuse.module) && excused++ < excuse.most;
}

/* Of a path through switched stacks that backtrace() crashes on we know how it ends. */
static bool ends_in_base(const struct answer *answer)
{
    return answer->count > base_count && memcmp(&answer->ips[answer->count - base_count], base_ips,
                                                base_count * sizeof *base_ips) == 0;
}

/* ---- Stepping ---- */

static void path_from(uint32_t node, uintptr_t ip, struct answer *answer)
{
    static uintptr_t ips[MOST_FRAMES];
    size_t all = unwind_path_ips(node, ips, MOST_FRAMES), first = 0;
    while (first < all && ips[first] != ip) {
        first++;
    }
    answer->count = all - first;
    answer->count -= answer->count && wire_mark_is_unwalkable(ips[all - 1]);
    memcpy(answer->ips, ips + first, answer->count * sizeof *ips);
}

static void report(const char *what, uintptr_t ip, const struct answer *ours,
                   const struct answer *right)
{
    Dl_info info = {0};
    size_t i = 0;
    while (i < ours->count && i < right->count && ours->ips[i] == right->ips[i]) {
        i++;
    }
    dladdr((void *)ip, &info);
    print_error("%s at %s + %lx in %s: %zu frames, not %zu; at %zu: %lx, not %lx\n", what,
                info.dli_sname ? info.dli_sname : "?",
                ip - (uintptr_t)(info.dli_sname ? info.dli_saddr : info.dli_fbase), info.dli_fname,
                ours->count, right->count, i, i < ours->count ? ours->ips[i] : 0,
                i < right->count ? right->ips[i] : 0);
}

static void judge(const char *what, uintptr_t ip, const struct answer *ours,
                  const struct answer *right, const struct answer *glibc)
{
    checks++;
    if ((right ? !same(ours, right) : !ends_in_base(ours)) && !is_excused(ip, ours, glibc)) {
        if (differences++ < 20) {
            report(what, ip, ours, right ? right : &(struct answer){0});
        }
    }
}

static WITH_FRAME void step(uintptr_t ip)
{
    static struct answer ours, full, answer, shadow;
    const struct answer *glibc = &answer;
    struct unwind_start start = UNWIND_START_HERE();
    const struct answer *right;
    path_from(unwind_capture(memory, &start), ip, &ours);
    path_from(unwind_capture(NULL, &start), ip, &full);
    shadow_answer(ip, &shadow);
    if (!ask_glibc_from(ip, &answer)) {
        backtrace_crashed++;
        glibc = NULL;
    }
    backtrace_differs += glibc && !stacks_switch && !same(glibc, &shadow);
    right = stacks_switch ? glibc : &shadow;
    judge("remembered", ip, &ours, right, glibc);
    judge("in full", ip, &full, right, glibc);
}

static void on_step(int number, siginfo_t *info, void *context)
{
    const greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    (void)number, (void)info;
    steps++;
    shadow_follow((uintptr_t)registers[REG_RIP], (uintptr_t)registers[REG_RSP]);
    step((uintptr_t)registers[REG_RIP]);
}

static int set_up(void **state)
{
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    (void)state;
    begin_unwind(UNWIND_CFI, 0);
    sigaction(SIGTRAP, &action, NULL);
    steps = backtrace_crashed = backtrace_differs = excused = 0;
    excuse = (struct excuse){NULL, 0};
    return 0;
}

/* In a test: what is outside of it stays. */
static NOINLINE void begin_steps(bool switching)
{
    void *frames[64];
    size_t all = (size_t)backtrace(frames, 64);
    base_count = all - 2;
    memcpy(base_ips, frames + 2, base_count * sizeof *base_ips);
    shadow_count = 0;
    last_ip = 0;
    stacks_switch = switching;
}

static void assert_agreed_at_each_step(unsigned at_least)
{
    print_message("%u instructions; backtrace() crashed at %u, differs at %u; %u excused\n", steps,
                  backtrace_crashed, backtrace_differs, excused);
    assert_true(steps >= at_least);
    assert_agreement(2 * at_least);
    assert_true(unwind_counters_read().unwalkable <= excuse.most);
}

/* ---- Lazily bound calls ---- */

static void step_through_plugin(const char *path)
{
    void *module = dlopen(path, RTLD_LAZY);
    double (*plugin)(const char *, char *);
    char room[32];
    double value;
    assert_non_null(module);
    *(void **)&plugin = dlsym(module, "plugin_step");
    begin_steps(false);
    step_on();
    value = plugin("27", room);
    step_off();
    assert_true(value == 3 + 27 + 0x27);
}

static void agrees_through_lazily_bound_calls(void **state)
{
    (void)state;
    step_through_plugin(STEP_PLUGIN);
    assert_agreed_at_each_step(1000);
}

static void agrees_through_lazily_bound_calls_with_branch_targets(void **state)
{
    (void)state;
    step_through_plugin(STEP_PLUGIN_IBT);
    assert_agreed_at_each_step(1000);
}

/* ---- Frames of all shapes ---- */

static NOINLINE int with_alloca(int depth)
{
    char *bytes = alloca((size_t)depth * 24 + 1);
    sink = bytes;
    return depth ? with_alloca(depth - 1) + 1 : 0;
}

static NOINLINE int realigned(int depth, ...)
{
    _Alignas(64) char bytes[128];
    char *more = alloca((size_t)depth * 8 + 8);
    sink = bytes, sink = more;
    return depth ? realigned(depth - 1, 1, 2) + 1 : 0;
}

static NOINLINE int large(int depth)
{
    char bytes[40000];
    sink = bytes;
    return depth ? large(depth - 1) + 1 : 0;
}

static NOINLINE long many_registers(long a, long b, long c, long d, long e, long f, int depth)
{
    long below = depth ? many_registers(b, c, d, e, f, a, depth - 1) : 1;
    return (a * below + b) ^ (c * below + d) ^ (e * below + f);
}

static NOINLINE __attribute__((optimize("optimize-sibling-calls"))) int tail(int depth)
{
    return with_alloca(depth);
}

static int by_value(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void agrees_in_frames_of_every_shape(void **state)
{
    int numbers[20];
    (void)state;
    for (int i = 0; i < 20; i++) {
        numbers[i] = (int)chance(1000);
    }
    begin_steps(false);
    step_on();
    with_alloca(5);
    realigned(5);
    large(3);
    many_registers(1, 2, 3, 4, 5, 6, 4);
    tail(3);
    qsort(numbers, 20, sizeof *numbers, by_value);
    sink = malloc(100000);
    sink = realloc(sink, 1000000);
    free(sink);
    step_off();
    assert_agreed_at_each_step(1000);
}

/* ---- Leaving frames in other ways ---- */

static jmp_buf target;

static NOINLINE _Noreturn void leave(void)
{
    longjmp(target, 1);
}

static NOINLINE void jump(int depth)
{
    if (depth) {
        jump(depth - 1);
    } else {
        leave();
    }
    __asm__ volatile("");
}

static void agrees_in_longjmp_and_calls_that_do_not_return(void **state)
{
    (void)state;
    excuse = (struct excuse){"libc.so", 60};
    begin_steps(false);
    step_on();
    for (volatile int i = 0; i < 3; i++) {
        if (!setjmp(target)) {
            jump(i);
        }
    }
    step_off();
    assert_agreed_at_each_step(100);
}

void throw_and_catch(void (*check)(void), int times);

static void nothing(void)
{
}

static void agrees_in_exceptions(void **state)
{
    (void)state;
    excuse = (struct excuse){"libgcc_s", 2000};
    begin_steps(false);
    step_on();
    throw_and_catch(nothing, 1);
    step_off();
    assert_agreed_at_each_step(1000);
}

static ucontext_t main_context, fiber_context;

static NOINLINE void fiber(int depth)
{
    if (depth) {
        fiber(depth - 1);
    } else {
        swapcontext(&fiber_context, &main_context);
    }
    __asm__ volatile("");
}

static void fiber_main(int depth)
{
    fiber(depth);
}

static void agrees_in_fibers_and_the_switches_to_them(void **state)
{
    static char stack[64 * 1024];
    (void)state;
    excuse = (struct excuse){"libc.so", 60};
    begin_steps(true);
    step_on();
    getcontext(&fiber_context);
    fiber_context.uc_stack.ss_sp = stack;
    fiber_context.uc_stack.ss_size = sizeof stack;
    fiber_context.uc_link = &main_context;
    makecontext(&fiber_context, (void (*)(void))fiber_main, 1, 4);
    swapcontext(&main_context, &fiber_context);
    swapcontext(&main_context, &fiber_context);
    step_off();
    assert_agreed_at_each_step(100);
}

/* ---- Signals ---- */

static void on_signal(int number)
{
    (void)number;
    step_on(); /* the kernel turned it off */
    with_alloca(2);
}

static void agrees_in_signal_handlers_and_their_returns(void **state)
{
    struct sigaction action = {.sa_handler = on_signal};
    (void)state;
    sigaction(SIGUSR1, &action, NULL);
    begin_steps(true);
    step_on();
    raise(SIGUSR1);
    step_off();
    assert_agreed_at_each_step(100);
}

static void agrees_in_handlers_on_the_alternate_stack(void **state)
{
    static char room[1 << 17];
    stack_t alternate = {.ss_sp = room, .ss_size = sizeof room};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    (void)state;
    sigaltstack(&alternate, NULL);
    sigaction(SIGUSR1, &action, NULL);
    begin_steps(true);
    step_on();
    raise(SIGUSR1);
    step_off();
    alternate.ss_flags = SS_DISABLE;
    sigaltstack(&alternate, NULL);
    assert_agreed_at_each_step(100);
}

static void agrees_in_the_kernels_own_code(void **state)
{
    struct timespec now;
    (void)state;
    begin_steps(false);
    step_on();
    for (int clock = CLOCK_REALTIME; clock <= CLOCK_BOOTTIME; clock++) {
        clock_gettime(clock, &now);
    }
    sink = (void *)(uintptr_t)time(NULL);
    step_off();
    assert_agreed_at_each_step(100);
}

/* ---- Our own code ---- */

static sigjmp_buf abandoned;
static unsigned steps_left;

static void on_countdown(int number)
{
    (void)number;
    if (steps_left-- == 0) {
        siglongjmp(abandoned, 1);
    }
}

static WITH_FRAME void capture_stepped(void)
{
    struct unwind_start start = UNWIND_START_HERE();
    step_on();
    unwind_capture(memory, &start);
    step_off();
}

/* A path for each number: one of two call sites for each bit. */
static NOINLINE void by_bits(unsigned bits, unsigned left, void (*function)(void))
{
    if (left == 0) {
        function();
    } else if (bits & 1) {
        by_bits(bits >> 1, left - 1, function);
        __asm__ volatile("# not the other call");
    } else {
        by_bits(bits >> 1, left - 1, function);
        __asm__ volatile("");
    }
}

/* Each time a new path, and a few instructions more of it; over many runs, at each. (All 4,000 in
 * one run take two minutes.) */
static void agrees_after_captures_abandoned_at_any_instruction(void **state)
{
    volatile unsigned count = (unsigned)time(NULL) % 150;
    volatile bool finished = false;
    struct sigaction action = {.sa_handler = on_countdown};
    (void)state;
    sigaction(SIGTRAP, &action, NULL);
    print_message("from instruction %u\n", count);
    while (!finished) {
        count += 150;
        if (!sigsetjmp(abandoned, 1)) {
            steps_left = count;
            by_bits(count, 12, capture_stepped);
            finished = true;
        } else {
            by_bits(count, 12, check);
            by_bits(count / 2, 12, check);
        }
    }
    print_message("%u instructions\n", count);
    assert_true(count > 300);
    assert_agreement(10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(agrees_through_lazily_bound_calls, set_up),
        cmocka_unit_test_setup(agrees_through_lazily_bound_calls_with_branch_targets, set_up),
        cmocka_unit_test_setup(agrees_in_frames_of_every_shape, set_up),
        cmocka_unit_test_setup(agrees_in_longjmp_and_calls_that_do_not_return, set_up),
        cmocka_unit_test_setup(agrees_in_exceptions, set_up),
        cmocka_unit_test_setup(agrees_in_fibers_and_the_switches_to_them, set_up),
        cmocka_unit_test_setup(agrees_in_signal_handlers_and_their_returns, set_up),
        cmocka_unit_test_setup(agrees_in_handlers_on_the_alternate_stack, set_up),
        cmocka_unit_test_setup(agrees_in_the_kernels_own_code, set_up),
        cmocka_unit_test_setup(agrees_after_captures_abandoned_at_any_instruction, set_up),
    };
#ifdef ARCH_SANITIZED
    print_message("skipped: sanitizers' own code is no part of the question\n");
    (void)tests;
    return 0;
#else
    return cmocka_run_group_tests(tests, NULL, NULL);
#endif
}
