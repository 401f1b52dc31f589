/* See tracee.h. What depends on the processor is in the first part. Where that is not written all
 * calls say -ENOTSUP; attach_check() has said so before. */
#include "attach/tracee.h"

#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "attach/target_memory.h"

#if defined(__x86_64__)

/* ---- x86-64 ---- */

/* Values of the kernel's own (include/linux/errno.h): what a system call that a signal has
 * interrupted leaves for the way back, where it is decided whether it begins again. */
enum { RESTART_SYS = 512, RESTART_NOINTR = 513, RESTART_NOHAND = 514, RESTART_BLOCK = 516 };

enum { VECTOR_SET = NT_X86_XSTATE, VECTOR_BYTES = 64 << 10 };

static int tracee_get_registers(pid_t tid, struct user_regs_struct *registers)
{
    return ptrace(PTRACE_GETREGS, tid, NULL, registers) < 0 ? -errno : 0;
}

static int tracee_set_registers(pid_t tid, const struct user_regs_struct *registers)
{
    return ptrace(PTRACE_SETREGS, tid, NULL, registers) < 0 ? -errno : 0;
}

/* orig_rax -1: not in a system call, so that the kernel does not begin one again. */
static void tracee_prepare_call(struct user_regs_struct *registers, uintptr_t function,
                                uintptr_t sp, const uintptr_t arguments[TRACEE_ARGUMENTS])
{
    registers->rip = function;
    registers->rsp = sp;
    registers->rax = 0; /* vector registers in use, for functions with a variable number */
    registers->orig_rax = (unsigned long long)-1;
    registers->rdi = arguments[0];
    registers->rsi = arguments[1];
    registers->rdx = arguments[2];
    registers->rcx = arguments[3];
    registers->r8 = arguments[4];
    registers->r9 = arguments[5];
    registers->eflags &= ~(unsigned long long)0x400; /* DF: functions expect it clear */
}

static void tracee_prepare_system_call(struct user_regs_struct *registers, uintptr_t gadget,
                                       long number, const uintptr_t arguments[TRACEE_ARGUMENTS])
{
    tracee_prepare_call(registers, gadget, registers->rsp, arguments);
    registers->rax = (unsigned long long)number;
    registers->r10 = arguments[3];
}

/* Stopped at the entry of the system call behind a call's end? The stack pointer tells it from
 * calls that the function itself makes with the same instruction. */
static bool tracee_has_returned(const struct user_regs_struct *registers, uintptr_t gadget,
                                uintptr_t sp)
{
    return registers->rip == gadget + 2 && registers->rsp == sp;
}

static uintptr_t tracee_returned(const struct user_regs_struct *registers)
{
    return registers->orig_rax;
}

static void tracee_turn_into_nothing(struct user_regs_struct *registers)
{
    registers->orig_rax = SYS_getpid; /* whatever filter there is lets it pass */
}

static uintptr_t tracee_system_call_result(const struct user_regs_struct *registers)
{
    return registers->rax;
}

static long tracee_error_of(const struct user_regs_struct *registers)
{
    long value = (long)registers->rax;
    return (long)registers->orig_rax >= 0 && value < 0 && value > -4096 ? -value : 0;
}

static long tracee_number_of(const struct user_regs_struct *registers)
{
    return (long)registers->orig_rax;
}

static void tracee_begin_again(struct user_regs_struct *registers)
{
    registers->rax = registers->orig_rax;
    registers->rip -= 2;
    registers->orig_rax = (unsigned long long)-1;
}

uintptr_t tracee_ip(const struct tracee *tracee)
{
    return tracee->registers.rip;
}

uintptr_t tracee_sp(const struct tracee *tracee)
{
    return tracee->registers.rsp;
}

/* ---- Stopping ---- */

enum { STOP_PATIENCE_MS = 10000, STACK_BYTES = 512 << 10 };

static void tracee_pause_ms(unsigned ms)
{
    struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&time, NULL);
}

/* The next stop, or the end. `patience_ms` < 0: however long it takes. */
static int tracee_wait_for_stop(struct tracee *tracee, int patience_ms, int *status)
{
    enum { YIELDS = 200 }; /* a thousand threads stop faster than a thousand milliseconds */
    for (int waited_ms = 0, tries = 0;; waited_ms += tries++ >= YIELDS) {
        pid_t got = waitpid(tracee->tid, status, __WALL | (patience_ms < 0 ? 0 : WNOHANG));
        if (got < 0 && errno != EINTR)
            return -ESRCH;
        if (got == tracee->tid)
            return WIFSTOPPED(*status) ? 0 : -ESRCH;
        if (patience_ms >= 0 && waited_ms >= patience_ms)
            return -ETIMEDOUT;
        if (got == 0 && tries < YIELDS)
            sched_yield();
        else if (got == 0)
            tracee_pause_ms(1);
    }
}

static bool tracee_is_event_stop(int status)
{
    return status >> 16 == PTRACE_EVENT_STOP;
}

static bool tracee_is_system_call_stop(int status)
{
    return WSTOPSIG(status) == (SIGTRAP | 0x80);
}

int tracee_seize(struct tracee *tracee, pid_t pid, pid_t tid)
{
    *tracee = (struct tracee){.pid = pid, .tid = tid};
    return ptrace(PTRACE_SEIZE, tid, NULL, (void *)PTRACE_O_TRACESYSGOOD) < 0 ? -errno : 0;
}

/* Until it stands where we asked it to: signals that come first are passed on. */
static int tracee_stop_here(struct tracee *tracee)
{
    int status;
    if (ptrace(PTRACE_INTERRUPT, tracee->tid, NULL, NULL) < 0)
        return -errno;
    if (tracee->stopped && ptrace(PTRACE_CONT, tracee->tid, NULL, NULL) < 0)
        return -errno; /* it comes no further than to the kernel's look for signals */
    for (;;) {
        int error = tracee_wait_for_stop(tracee, STOP_PATIENCE_MS, &status);
        if (error < 0)
            return error;
        if (tracee_is_event_stop(status))
            return 0;
        uintptr_t signal = tracee_is_system_call_stop(status) ? 0 : (uintptr_t)WSTOPSIG(status);
        if (ptrace(PTRACE_CONT, tracee->tid, NULL, (void *)signal) < 0)
            return -errno;
    }
}

int tracee_stop(struct tracee *tracee)
{
    int error = tracee_stop_here(tracee);
    if (error < 0)
        return error;
    tracee->stopped = true;
    if (ptrace(PTRACE_GETSIGMASK, tracee->tid, (void *)sizeof tracee->signal_mask,
               &tracee->signal_mask) < 0)
        return -errno;
    return tracee_get_registers(tracee->tid, &tracee->registers);
}

static bool tracee_is_interrupted(const struct tracee *tracee)
{
    long error = tracee_error_of(&tracee->registers);
    return error == EINTR || error == RESTART_SYS || error == RESTART_NOINTR ||
           error == RESTART_NOHAND || error == RESTART_BLOCK;
}

bool tracee_waits(const struct tracee *tracee, long *number)
{
    *number = tracee_number_of(&tracee->registers);
    return tracee_is_interrupted(tracee);
}

/* ---- Calling ---- */

static int tracee_save_vector(struct tracee *tracee)
{
    struct iovec part = {tracee->vector = malloc(VECTOR_BYTES), VECTOR_BYTES};
    if (!tracee->vector)
        return -ENOMEM;
    if (ptrace(PTRACE_GETREGSET, tracee->tid, (void *)(uintptr_t)VECTOR_SET, &part) < 0)
        return -errno;
    tracee->vector_bytes = part.iov_len;
    return 0;
}

static void tracee_restore_vector(struct tracee *tracee)
{
    struct iovec part = {tracee->vector, tracee->vector_bytes};
    ptrace(PTRACE_SETREGSET, tracee->tid, (void *)(uintptr_t)VECTOR_SET, &part);
    free(tracee->vector);
    tracee->vector = NULL;
}

static int tracee_set_mask(struct tracee *tracee, uint64_t mask)
{
    return ptrace(PTRACE_SETSIGMASK, tracee->tid, (void *)sizeof mask, &mask) < 0 ? -errno : 0;
}

/* Runs it to its next entry into or exit from a system call. Signals are blocked, so what can come
 * between is a crash, which is not passed on; or SIGSTOP, which is: the process stands still then,
 * and this thread when we let go of it. */
static int tracee_run_to_system_call(struct tracee *tracee)
{
    uintptr_t signal = 0;
    for (int status;;
         signal = WSTOPSIG(status) == SIGSTOP && !tracee_is_event_stop(status) ? SIGSTOP : 0) {
        if (ptrace(PTRACE_SYSCALL, tracee->tid, NULL, (void *)signal) < 0)
            return -errno;
        int error = tracee_wait_for_stop(tracee, -1, &status);
        if (error < 0) {
            tracee->stopped = false;
            return error;
        }
        if (tracee_is_system_call_stop(status))
            return 0;
        if (!tracee_is_event_stop(status) && WSTOPSIG(status) != SIGSTOP)
            return -EFAULT;
    }
}

static int tracee_system_call(struct tracee *tracee, long number,
                              const uintptr_t arguments[TRACEE_ARGUMENTS], uintptr_t *result)
{
    struct user_regs_struct registers = tracee->registers;
    tracee_prepare_system_call(&registers, tracee->gadget, number, arguments);
    int error = tracee_set_registers(tracee->tid, &registers);
    for (int stop = 0; stop < 2 && !error; stop++)
        error = tracee_run_to_system_call(tracee);
    if (!error)
        error = tracee_get_registers(tracee->tid, &registers);
    if (!error)
        *result = tracee_system_call_result(&registers);
    return error;
}

/* The thread's own stack may be too small for a loader, or no stack at all by its pointer. */
static int tracee_map_stack(struct tracee *tracee)
{
    const uintptr_t arguments[TRACEE_ARGUMENTS] = {
        0, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, (uintptr_t)-1, 0};
    uintptr_t result;
    int error = tracee_system_call(tracee, SYS_mmap, arguments, &result);
    if (error)
        return error;
    if (result > (uintptr_t)-4096)
        return (int)(intptr_t)result;
    tracee->stack = result;
    return 0;
}

uintptr_t tracee_scratch(const struct tracee *tracee)
{
    return tracee->stack + STACK_BYTES - TRACEE_SCRATCH_BYTES;
}

int tracee_call(struct tracee *tracee, uintptr_t function,
                const uintptr_t arguments[TRACEE_ARGUMENTS], uintptr_t *result)
{
    struct user_regs_struct registers = tracee->registers;
    uintptr_t sp = tracee_scratch(tracee) - sizeof(uintptr_t); /* as just behind a call */
    int error = memory_write(tracee->pid, sp, &tracee->gadget, sizeof tracee->gadget);
    if (error)
        return error;
    tracee_prepare_call(&registers, function, sp, arguments);
    error = tracee_set_registers(tracee->tid, &registers);
    do {
        if (!error)
            error = tracee_run_to_system_call(tracee);
        if (!error)
            error = tracee_get_registers(tracee->tid, &registers);
    } while (!error && !tracee_has_returned(&registers, tracee->gadget, sp + sizeof sp));
    if (error)
        return error;
    *result = tracee_returned(&registers);
    tracee_turn_into_nothing(&registers);
    error = tracee_set_registers(tracee->tid, &registers);
    return error ? error : tracee_run_to_system_call(tracee);
}

int tracee_borrow(struct tracee *tracee, uintptr_t gadget, uintptr_t locate_errno)
{
    const uintptr_t none[TRACEE_ARGUMENTS] = {0};
    tracee->gadget = gadget;
    int error = tracee_save_vector(tracee);
    if (!error)
        error = tracee_set_mask(tracee, UINT64_MAX);
    tracee->borrowed = !error;
    if (!error)
        error = tracee_map_stack(tracee);
    if (!error && locate_errno)
        error = tracee_call(tracee, locate_errno, none, &tracee->errno_address);
    if (!error && tracee->errno_address)
        error = memory_read(tracee->pid, tracee->errno_address, &tracee->errno_value,
                            sizeof tracee->errno_value);
    return error;
}

/* ---- Back ---- */

static bool tracee_has_pending_signal(const struct tracee *tracee)
{
    char path[64], line[128];
    uint64_t pending = 0, blocked = 0, value;
    snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)tracee->pid, (int)tracee->tid);
    FILE *status = fopen(path, "re");
    while (status && fgets(line, sizeof line, status)) {
        if (sscanf(line, "SigPnd: %lx", &value) == 1 || sscanf(line, "ShdPnd: %lx", &value) == 1)
            pending |= value;
        else if (sscanf(line, "SigBlk: %lx", &value) == 1)
            blocked = value;
    }
    if (status)
        fclose(status);
    return pending & ~blocked;
}

/* Calls that fail with EINTR whenever their thread is stopped (signal(7)), and mean the same when
 * they begin again. One with a time limit may wait for that once more. */
static bool tracee_is_never_restarted(long number)
{
    static const long numbers[] = {SYS_epoll_wait,   SYS_epoll_pwait,  SYS_epoll_pwait2,
                                   SYS_semop,        SYS_semtimedop,   SYS_rt_sigtimedwait,
                                   SYS_io_getevents, SYS_io_pgetevents};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (number == numbers[i])
            return true;
    return false;
}

/* Where the registers are given back the kernel must be about to look for signals: that is where
 * interrupted system calls begin again. */
static void tracee_put_back(struct tracee *tracee)
{
    struct user_regs_struct registers = tracee->registers;
    if (tracee->borrowed && tracee_stop_here(tracee) < 0)
        return;
    if (tracee_error_of(&registers) == EINTR &&
        tracee_is_never_restarted(tracee_number_of(&registers)) &&
        !tracee_has_pending_signal(tracee))
        tracee_begin_again(&registers);
    if (tracee->borrowed) {
        tracee_restore_vector(tracee);
        tracee_set_mask(tracee, tracee->signal_mask);
    }
    tracee_set_registers(tracee->tid, &registers);
}

void tracee_give_back(struct tracee *tracee)
{
    uintptr_t result;
    if (!tracee->borrowed || !tracee->stopped)
        return;
    if (tracee->errno_address)
        memory_write(tracee->pid, tracee->errno_address, &tracee->errno_value,
                     sizeof tracee->errno_value);
    if (tracee->stack)
        tracee_system_call(tracee, SYS_munmap,
                           (const uintptr_t[TRACEE_ARGUMENTS]){tracee->stack, STACK_BYTES},
                           &result);
    tracee->stack = 0;
}

void tracee_release(struct tracee *tracee)
{
    if (!tracee->stopped) { /* not there, or not to be stopped: our own end lets it go */
        free(tracee->vector);
        tracee->vector = NULL;
        return;
    }
    tracee_give_back(tracee);
    tracee_put_back(tracee);
    ptrace(PTRACE_DETACH, tracee->tid, NULL, NULL);
    tracee->stopped = tracee->borrowed = false;
}

#else

int tracee_seize(struct tracee *tracee, pid_t pid, pid_t tid)
{
    *tracee = (struct tracee){.pid = pid, .tid = tid};
    return -ENOTSUP;
}

int tracee_stop(struct tracee *tracee)
{
    (void)tracee;
    return -ENOTSUP;
}

bool tracee_waits(const struct tracee *tracee, long *number)
{
    (void)tracee;
    *number = -1;
    return false;
}

uintptr_t tracee_ip(const struct tracee *tracee)
{
    (void)tracee;
    return 0;
}

uintptr_t tracee_sp(const struct tracee *tracee)
{
    (void)tracee;
    return 0;
}

int tracee_borrow(struct tracee *tracee, uintptr_t gadget, uintptr_t locate_errno)
{
    (void)tracee, (void)gadget, (void)locate_errno;
    return -ENOTSUP;
}

int tracee_call(struct tracee *tracee, uintptr_t function,
                const uintptr_t arguments[TRACEE_ARGUMENTS], uintptr_t *result)
{
    (void)tracee, (void)function, (void)arguments, (void)result;
    return -ENOTSUP;
}

uintptr_t tracee_scratch(const struct tracee *tracee)
{
    (void)tracee;
    return 0;
}

void tracee_give_back(struct tracee *tracee)
{
    (void)tracee;
}

void tracee_release(struct tracee *tracee)
{
    (void)tracee;
}

#endif
