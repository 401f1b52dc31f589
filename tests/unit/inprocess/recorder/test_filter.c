/* Filters asked by our machine, against what the kernel makes of the same call in a child under the
 * same filter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/audit.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "recorder/filter.h"
#include "recorder/session.h"
#include "unwind/permitted_calls.h"

static unsigned told_programs;

void session_forbid_programs(void)
{
    told_programs++;
}

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#else
#define ARCH AUDIT_ARCH_AARCH64
#endif

#define LOAD_NUMBER          BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define RETURN(action)       BPF_STMT(BPF_RET | BPF_K, action)
#define ONLY(number, action) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), RETURN(action)
#define FILTER(rules)                                                                              \
    {                                                                                              \
        sizeof(rules) / sizeof *(rules), (struct sock_filter *)(rules)                             \
    }

static void forget(void)
{
    calls_forbidden = 0;
    told_programs = 0;
}

static void what_passes_is_allowed(void **state)
{
    (void)state;
    static const struct sock_filter everything[] = {RETURN(SECCOMP_RET_ALLOW)};
    static const struct sock_filter logged[] = {RETURN(SECCOMP_RET_LOG)};
    struct sock_fprog filter = FILTER(everything), logs = FILTER(logged);
    forget();
    filter_installed(&filter);
    filter_installed(&logs);
    assert_int_equal(calls_forbidden, 0);
    assert_int_equal(told_programs, 0);
}

static void what_kills_fails_or_asks_is_forbidden(void **state)
{
    (void)state;
    static const uint32_t actions[] = {SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_KILL_THREAD,
                                       SECCOMP_RET_TRAP,         SECCOMP_RET_ERRNO | 1,
                                       SECCOMP_RET_TRACE,        SECCOMP_RET_USER_NOTIF};
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        const struct sock_filter rules[] = {RETURN(actions[i])};
        struct sock_fprog filter = FILTER(rules);
        forget();
        filter_installed(&filter);
        assert_int_equal(calls_forbidden, CALL_ALL);
        assert_int_equal(told_programs, 1);
    }
    forget();
    filter_strict();
    assert_int_equal(calls_forbidden, CALL_ALL | CALL_CLOCK);
    calls_forbidden = 0;
    filter_clock();
    assert_int_equal(calls_forbidden, CALL_CLOCK | CALL_JOIN);
}

static void filters_add_up(void **state)
{
    (void)state;
    const struct sock_filter pid[] = {LOAD_NUMBER, ONLY(SYS_getpid, SECCOMP_RET_KILL_PROCESS),
                                      RETURN(SECCOMP_RET_ALLOW)};
    const struct sock_filter yield[] = {LOAD_NUMBER, ONLY(SYS_sched_yield, SECCOMP_RET_ERRNO | 1),
                                        RETURN(SECCOMP_RET_ALLOW)};
    struct sock_fprog first = FILTER(pid), second = FILTER(yield);
    forget();
    filter_installed(&first);
    assert_int_equal(calls_forbidden, CALL_PID | CALL_GONE);
    filter_installed(&second);
    assert_int_equal(calls_forbidden, CALL_PID | CALL_GONE | CALL_YIELD);
    assert_int_equal(told_programs, 0);
}

/* A look at a program that is executed, a locked memory's limit, and the join of a child. */
static void calls_that_are_seldom_made_are_known(void **state)
{
    (void)state;
    static const struct {
        int number;
        uint32_t calls;
    } seldom[] = {
        {SYS_pread64, CALL_FILES | CALL_LIMITS},
        {SYS_getuid, CALL_LIMITS | CALL_JOIN},
        {SYS_geteuid, CALL_JOIN},
        {SYS_getgid, CALL_LIMITS},
        {SYS_prlimit64, CALL_LIMITS},
        {SYS_clock_gettime, CALL_TIME},
    };
    for (size_t i = 0; i < sizeof seldom / sizeof *seldom; i++) {
        const struct sock_filter rules[] = {LOAD_NUMBER,
                                            ONLY(seldom[i].number, SECCOMP_RET_KILL_PROCESS),
                                            RETURN(SECCOMP_RET_ALLOW)};
        struct sock_fprog filter = FILTER(rules);
        forget();
        filter_installed(&filter);
        assert_int_equal(calls_forbidden, seldom[i].calls);
    }
}

/* As OpenSSH's sandbox does with futex. */
static void arguments_count(void **state)
{
    (void)state;
    const struct sock_filter rules[] = {
        LOAD_NUMBER,
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8),
        ONLY(1 /* FUTEX_WAKE */, SECCOMP_RET_KILL_PROCESS),
        RETURN(SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = FILTER(rules);
    forget();
    filter_installed(&filter);
    assert_int_equal(calls_forbidden, CALL_WAKE);
}

/* As systemd's MemoryDenyWriteExecute does. */
static void code_may_have_to_stay_as_it_is(void **state)
{
    (void)state;
    const struct sock_filter rules[] = {
        LOAD_NUMBER,
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 16),
        ONLY(5 /* PROT_READ | PROT_EXEC */, SECCOMP_RET_ERRNO | 1),
        RETURN(SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = FILTER(rules);
    forget();
    filter_installed(&filter);
    assert_int_equal(calls_forbidden, CALL_CODE);
}

/* ---- Against the kernel ---- */

enum { RULES = 24 };

static struct sock_filter any_rule(unsigned left)
{
    static const uint16_t plain[] = {BPF_LD | BPF_IMM,
                                     BPF_LDX | BPF_IMM,
                                     BPF_LD | BPF_MEM,
                                     BPF_LDX | BPF_MEM,
                                     BPF_ST,
                                     BPF_STX,
                                     BPF_LD | BPF_W | BPF_LEN,
                                     BPF_LDX | BPF_W | BPF_LEN,
                                     BPF_MISC | BPF_TAX,
                                     BPF_MISC | BPF_TXA,
                                     BPF_LD | BPF_W | BPF_ABS};
    static const uint16_t alu[] = {BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_AND,
                                   BPF_OR,  BPF_XOR, BPF_LSH, BPF_RSH, BPF_NEG};
    static const uint16_t jump[] = {BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET};
    uint32_t k = rand() % 3 ? (uint32_t)rand() % 16 : (uint32_t)rand() * 2654435761u;
    uint16_t source = rand() % 2 ? BPF_X : BPF_K;
    unsigned what = (unsigned)rand() % 4;
    if (what == 0 && left > 2)
        return (struct sock_filter){BPF_JMP | jump[rand() % 4] | source,
                                    (uint8_t)((unsigned)rand() % (left - 1)),
                                    (uint8_t)((unsigned)rand() % (left - 1)), k};
    if (what == 1) {
        uint16_t operation = alu[rand() % 10];
        if (operation == BPF_DIV) /* by X the kernel ends at 0, by K it takes none */
            return (struct sock_filter){BPF_ALU | operation | BPF_K, 0, 0, k | 1};
        if (operation == BPF_LSH || operation == BPF_RSH)
            return (struct sock_filter){BPF_ALU | operation | BPF_K, 0, 0, k % 32};
        return (struct sock_filter){
            (uint16_t)(BPF_ALU | operation | (operation == BPF_NEG ? 0 : source)), 0, 0, k};
    }
    uint16_t code = plain[rand() % 11];
    if (code == (BPF_LD | BPF_W | BPF_ABS))
        k = k % 16 * 4; /* but for the instruction pointer: */
    if (code == (BPF_LD | BPF_W | BPF_ABS) && k >= 8 && k < 16)
        k = 0;
    if (BPF_CLASS(code) == BPF_ST || BPF_CLASS(code) == BPF_STX || BPF_MODE(code) == BPF_MEM)
        k %= BPF_MEMWORDS;
    return (struct sock_filter){code, 0, 0, k};
}

/* What A is at the end, as far as it can be told: 12 bits of it as an error number. */
static void make_filter(struct sock_filter *rules)
{
    static const struct sock_filter tail[] = {BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x3ff),
                                              BPF_STMT(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_ERRNO),
                                              BPF_STMT(BPF_STX, 15), BPF_STMT(BPF_RET | BPF_A, 0)};
    rules[0] = (struct sock_filter)LOAD_NUMBER;
    rules[1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpgid, 1, 0);
    rules[2] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
    for (unsigned i = 0; i < BPF_MEMWORDS; i++) /* the kernel takes no words that were not stored */
        rules[3 + i] = (struct sock_filter)BPF_STMT(BPF_ST, i);
    for (unsigned i = 0; i < RULES; i++)
        rules[3 + BPF_MEMWORDS + i] = any_rule(RULES - i);
    for (unsigned i = 0; i < 4; i++)
        rules[3 + BPF_MEMWORDS + RULES + i] = tail[i];
}

/* The error, or 10000: the kernel did not take the filter. */
static int by_kernel(struct sock_fprog *filter, const uint64_t *arguments)
{
    int ends[2], said = -1;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        int told = 10000;
        if (!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
            !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter))
            told = syscall(SYS_getpgid, arguments[0], arguments[1], arguments[2], arguments[3],
                           arguments[4], arguments[5]) < 0
                       ? errno
                       : 0;
        _exit(write(ends[1], &told, sizeof told) != sizeof told);
    }
    assert_int_equal(read(ends[0], &said, sizeof said), sizeof said);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(ends[0]);
    close(ends[1]);
    return said;
}

static void any_filter_does_what_the_kernel_does(void **state)
{
    (void)state;
    unsigned seed = (unsigned)time(NULL), taken = 0;
    print_message("seed %u\n", seed);
    srand(seed);
    for (unsigned trial = 0; trial < 400; trial++) {
        struct sock_filter rules[3 + BPF_MEMWORDS + RULES + 4];
        make_filter(rules);
        struct sock_fprog filter = FILTER(rules);
        struct seccomp_data data = {.nr = SYS_getpgid, .arch = ARCH};
        for (unsigned i = 0; i < 6; i++)
            data.args[i] = (uint64_t)rand() << 32 | (uint64_t)rand() % 20;
        int kernel = by_kernel(&filter, (const uint64_t *)data.args);
        if (kernel == 10000)
            continue;
        taken++;
        assert_int_equal(filter_run(&filter, &data) & SECCOMP_RET_DATA, kernel);
    }
    print_message("%u filters were taken\n", taken);
    assert_true(taken > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_passes_is_allowed),
        cmocka_unit_test(what_kills_fails_or_asks_is_forbidden),
        cmocka_unit_test(filters_add_up),
        cmocka_unit_test(calls_that_are_seldom_made_are_known),
        cmocka_unit_test(arguments_count),
        cmocka_unit_test(code_may_have_to_stay_as_it_is),
        cmocka_unit_test(any_filter_does_what_the_kernel_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
