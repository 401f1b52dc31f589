/* Runs a filter on each system call of ours, as the kernel would (filter.h). The language is the
 * part of classic BPF that seccomp accepts (kernel/seccomp.c, seccomp_check_filter): no loops, and
 * all loads are 32-bit words of seccomp_data. */
#include "recorder/filter.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include "recorder/session.h"
#include "unwind/permitted_calls.h"
#include "wire/write_watch.h"

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

/* ---- Running a filter ---- */

struct filter_machine {
    uint32_t a, x, memory[BPF_MEMWORDS];
};

static uint32_t filter_alu(uint32_t a, unsigned operation, uint32_t by)
{
    switch (operation) {
    case BPF_ADD:
        return a + by;
    case BPF_SUB:
        return a - by;
    case BPF_MUL:
        return a * by;
    case BPF_DIV:
        return by ? a / by : 0;
    case BPF_AND:
        return a & by;
    case BPF_OR:
        return a | by;
    case BPF_XOR:
        return a ^ by;
    case BPF_LSH:
        return by < 32 ? a << by : 0;
    case BPF_RSH:
        return by < 32 ? a >> by : 0;
    default: /* BPF_NEG */
        return -a;
    }
}

static bool filter_jumps(uint32_t a, unsigned operation, uint32_t with)
{
    switch (operation) {
    case BPF_JEQ:
        return a == with;
    case BPF_JGT:
        return a > with;
    case BPF_JGE:
        return a >= with;
    default: /* BPF_JSET */
        return a & with;
    }
}

static uint32_t filter_load(const struct filter_machine *machine,
                            const struct sock_filter *instruction, const struct seccomp_data *data)
{
    uint32_t word = 0;
    switch (BPF_MODE(instruction->code)) {
    case BPF_ABS:
        if (instruction->k <= sizeof *data - sizeof word)
            memcpy(&word, (const char *)data + instruction->k, sizeof word);
        return word;
    case BPF_MEM:
        return machine->memory[instruction->k % BPF_MEMWORDS];
    case BPF_LEN:
        return sizeof *data;
    default: /* BPF_IMM */
        return instruction->k;
    }
}

/* Executes an instruction that is no jump and no return. */
static void filter_step(struct filter_machine *machine, const struct sock_filter *instruction,
                        const struct seccomp_data *data)
{
    unsigned code = instruction->code;
    uint32_t operand = BPF_SRC(code) == BPF_X ? machine->x : instruction->k;
    switch (BPF_CLASS(code)) {
    case BPF_LD:
        machine->a = filter_load(machine, instruction, data);
        break;
    case BPF_LDX:
        machine->x = filter_load(machine, instruction, data);
        break;
    case BPF_ST:
        machine->memory[instruction->k % BPF_MEMWORDS] = machine->a;
        break;
    case BPF_STX:
        machine->memory[instruction->k % BPF_MEMWORDS] = machine->x;
        break;
    case BPF_ALU:
        machine->a = filter_alu(machine->a, BPF_OP(code), operand);
        break;
    default: /* BPF_MISC */
        *(BPF_MISCOP(code) == BPF_TAX ? &machine->x : &machine->a) =
            BPF_MISCOP(code) == BPF_TAX ? machine->a : machine->x;
        break;
    }
}

static uint32_t filter_jump_of(const struct filter_machine *machine,
                               const struct sock_filter *instruction)
{
    unsigned code = instruction->code;
    if (BPF_OP(code) == BPF_JA)
        return instruction->k;
    uint32_t with = BPF_SRC(code) == BPF_X ? machine->x : instruction->k;
    return filter_jumps(machine->a, BPF_OP(code), with) ? instruction->jt : instruction->jf;
}

uint32_t filter_run(const struct sock_fprog *filter, const struct seccomp_data *data)
{
    struct filter_machine machine = {0};
    for (uint64_t at = 0; at < filter->len; at++) {
        const struct sock_filter *instruction = &filter->filter[at];
        switch (BPF_CLASS(instruction->code)) {
        case BPF_RET:
            return BPF_RVAL(instruction->code) == BPF_A ? machine.a : instruction->k;
        case BPF_JMP:
            at += filter_jump_of(&machine, instruction);
            break;
        default:
            filter_step(&machine, instruction, data);
            break;
        }
    }
    return SECCOMP_RET_KILL_PROCESS; /* the kernel accepts no filter without a return */
}

/* ---- Our system calls ---- */

#define MADVISE(what)                                                                              \
    SYS_madvise,                                                                                   \
    {                                                                                              \
        0, 0, what                                                                                 \
    }

static const struct use {
    enum call call;
    int number;
    uint64_t arguments[6];
} uses[] = {
    {CALL_SIGNALS, SYS_rt_sigprocmask, {SIG_SETMASK}},
    {CALL_PROBE, SYS_rt_sigprocmask, {~0ull}},
    {CALL_YIELD, SYS_sched_yield, {0}},
    {CALL_ALTSTACK, SYS_sigaltstack, {0}},
    {CALL_TID, SYS_gettid, {0}},
    {CALL_PID, SYS_getpid, {0}},
    {CALL_GONE, SYS_getpid, {0}},
    {CALL_GONE, SYS_tgkill, {1, 1, 0}},
    {CALL_WAIT, SYS_futex, {0, FUTEX_WAIT}},
    {CALL_TIME, SYS_clock_gettime, {CLOCK_MONOTONIC}},
    {CALL_WAKE, SYS_futex, {0, FUTEX_WAKE}},
    {CALL_MAP, SYS_mmap, {0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, ~0ull}},
    {CALL_MAP, SYS_mremap, {0, 0, 4096, MREMAP_MAYMOVE}},
    {CALL_MAP, SYS_munmap, {0}},
    {CALL_MAP, MADVISE(MADV_WIPEONFORK)},
    {CALL_MAP, MADVISE(MADV_DONTFORK)},
    {CALL_MAP, MADVISE(MADV_DONTNEED)},
    {CALL_LIMITS, MADVISE(MADV_DONTDUMP)},
    {CALL_LIMITS, SYS_munlock, {0}},
    {CALL_LIMITS, SYS_munlockall, {0}},
    {CALL_LIMITS, SYS_mlock2, {0}},
    {CALL_LIMITS, SYS_openat, {(uint32_t)AT_FDCWD, 0, O_RDONLY | O_CLOEXEC}},
    {CALL_LIMITS, SYS_newfstatat, {(uint32_t)AT_FDCWD, 0, 0, 0}},
    {CALL_LIMITS, SYS_faccessat, {(uint32_t)AT_FDCWD}},
    {CALL_LIMITS, SYS_read, {3}},
    {CALL_LIMITS, SYS_pread64, {3}},
    {CALL_LIMITS, SYS_close, {3}},
    {CALL_LIMITS, SYS_getuid, {0}},
    {CALL_LIMITS, SYS_getgid, {0}},
    {CALL_LIMITS, SYS_prlimit64, {0, RLIMIT_MEMLOCK}},
    {CALL_FILES, SYS_openat, {~0ull, 0, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY}},
    {CALL_FILES, SYS_lseek, {3, 0, SEEK_END}},
    {CALL_FILES, SYS_pread64, {3}},
    {CALL_FILES, SYS_mmap, {0, 4096, PROT_READ, MAP_PRIVATE, 3}},
    {CALL_FILES, SYS_close, {3}},
    {CALL_FILES, SYS_readlinkat, {~0ull}},
    {CALL_DIE, SYS_tgkill, {2, 2, SIGTERM}},
    {CALL_DIE, SYS_rt_sigreturn, {0}},
    {CALL_DIE, SYS_rt_sigaction, {SIGTERM}},
    {CALL_DIE, SYS_rt_sigprocmask, {SIG_UNBLOCK}},
    {CALL_PENDING, SYS_rt_sigpending, {0}},
    {CALL_PAGES, SYS_openat, {(uint32_t)AT_FDCWD, 0, O_RDONLY | O_CLOEXEC}},
    {CALL_PAGES, SYS_ioctl, {3, WRITE_WATCH_SCAN}},
    {CALL_PAGES, SYS_close, {3}},
    {CALL_CODE, SYS_mprotect, {4096, 4096, PROT_READ | PROT_WRITE}},
    {CALL_CODE, SYS_mprotect, {4096, 4096, PROT_READ | PROT_EXEC}},
    {CALL_SEGMENT, SYS_shmctl, {1, IPC_STAT}},
    {CALL_TRACER, SYS_prctl, {PR_SET_PTRACER, 1}},
    {CALL_JOIN, SYS_socket, {AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC}},
    {CALL_JOIN, SYS_setsockopt, {3, SOL_SOCKET, SO_RCVTIMEO}},
    {CALL_JOIN, SYS_connect, {3}},
    {CALL_JOIN, SYS_getsockopt, {3, SOL_SOCKET, SO_PEERCRED}},
    {CALL_JOIN, SYS_getppid, {0}},
    {CALL_JOIN, SYS_getuid, {0}},
    {CALL_JOIN, SYS_geteuid, {0}},
    {CALL_JOIN, SYS_sendto, {3}},
    {CALL_JOIN, SYS_recvmsg, {3, 0, MSG_CMSG_CLOEXEC}},
    {CALL_JOIN, SYS_close, {3}},
    {CALL_JOIN, SYS_membarrier, {0}},
    {CALL_JOIN, SYS_mmap, {0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, 3}},
};

static bool filter_lets_pass(const struct sock_fprog *filter, const struct use *use)
{
    struct seccomp_data data = {.nr = use->number, .arch = ARCH};
    memcpy(data.args, use->arguments, sizeof data.args);
    uint32_t action = filter_run(filter, &data) & SECCOMP_RET_ACTION_FULL;
    return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG;
}

static void filter_forbid(uint32_t calls)
{
    __atomic_fetch_or(&calls_forbidden, calls, __ATOMIC_RELAXED);
    if (calls & CALL_JOIN)
        session_forbid_programs();
}

void filter_installed(const struct sock_fprog *filter)
{
    uint32_t calls = 0;
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        if (!filter_lets_pass(filter, &uses[i]))
            calls |= uses[i].call;
    filter_forbid(calls);
}

void filter_strict(void)
{
    filter_forbid(CALL_ALL | CALL_CLOCK);
}

void filter_clock(void)
{
    filter_forbid(CALL_CLOCK | CALL_JOIN); /* children cannot read the clock either */
}
