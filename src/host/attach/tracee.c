/* Holds one thread by ptrace and makes it call functions (tracee.h). The first part depends on the
 * processor. On other processors all calls return -ENOTSUP, and attach_check() refuses before. */
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
#include "attach/way_back.h"

#if defined(__x86_64__)

/* ---- x86-64 ---- */

/* Internal values of the kernel (include/linux/errno.h). An interrupted system call leaves one of
 * them, by which the kernel decides on the way back whether the call begins again. */
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
                                       uintptr_t sp, long number,
                                       const uintptr_t arguments[TRACEE_ARGUMENTS])
{
    tracee_prepare_call(registers, gadget, sp, arguments);
    registers->rax = (unsigned long long)number;
    registers->r10 = arguments[3];
}

/* Sets the registers that functions preserve. The instruction that stores the result finds its
 * place by one of them. */
static void tracee_set_kept(struct user_regs_struct *registers, uintptr_t value)
{
    registers->rbx = registers->rbp = value;
    registers->r12 = registers->r13 = registers->r14 = registers->r15 = value;
}

/* Whether the thread is stopped at the entry of the system call of its way back. */
static bool tracee_has_returned(const struct user_regs_struct *registers, uintptr_t sigreturn,
                                uintptr_t sp)
{
    return registers->rip == sigreturn + TARGET_SIGRETURN_BYTES && registers->rsp == sp;
}

/* Postpones the way back: a harmless system call takes the place of this one, and then the
 * instruction in front of it begins again. */
static void tracee_put_off(struct user_regs_struct *registers)
{
    registers->orig_rax = SYS_getpid;
    registers->rip -= TARGET_SIGRETURN_BYTES;
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

static void tracee_set_number(struct user_regs_struct *registers, long number)
{
    registers->orig_rax = (unsigned long long)number;
}

static struct user_regs_struct tracee_failed(struct user_regs_struct registers)
{
    registers.rax = (unsigned long long)-EINTR;
    return registers;
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

/* Waits for the next stop or the end. `patience_ms` < 0: without limit. */
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

/* Waits until the thread has stopped for our request. Signals that come first are passed on. */
static int tracee_stop_here(struct tracee *tracee)
{
    int status;
    if (ptrace(PTRACE_INTERRUPT, tracee->tid, NULL, NULL) < 0)
        return -errno;
    if (tracee->stopped && ptrace(PTRACE_CONT, tracee->tid, NULL, NULL) < 0)
        return -errno; /* it gets no further than to the kernel's check for signals */
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

/* Whether the system call would fail because of our stop. tracee_stop() mends that at once, in case
 * we die. */
static bool tracee_would_fail(const struct tracee *tracee)
{
    return tracee_error_of(&tracee->registers) == EINTR &&
           tracee_is_never_restarted(tracee_number_of(&tracee->registers));
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
    error = tracee_get_registers(tracee->tid, &tracee->registers);
    tracee->known = error == 0;
    if (error < 0 || !tracee_would_fail(tracee))
        return error;
    struct user_regs_struct registers = tracee->registers;
    tracee_begin_again(&registers);
    return tracee_set_registers(tracee->tid, &registers);
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

/* Runs the thread to its next entry into or exit from a system call. Signals are blocked, so only a
 * crash or SIGSTOP can come before. A crash is not passed on. SIGSTOP is: it stops the process, and
 * this thread when it is released. */
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

static int tracee_run_system_call(struct tracee *tracee, uintptr_t *result)
{
    struct user_regs_struct registers;
    int error = 0;
    for (int stop = 0; stop < 2 && !error; stop++)
        error = tracee_run_to_system_call(tracee);
    if (!error)
        error = tracee_get_registers(tracee->tid, &registers);
    if (!error)
        *result = tracee_system_call_result(&registers);
    return error;
}

/* Sets up a system call by registers alone. Its return address is the way back. */
static int tracee_set_system_call(struct tracee *tracee, long number,
                                  const uintptr_t arguments[TRACEE_ARGUMENTS])
{
    struct user_regs_struct registers = tracee->registers;
    tracee_prepare_system_call(&registers, tracee->gadgets.system_call, tracee->frame, number,
                               arguments);
    return tracee_set_registers(tracee->tid, &registers);
}

/* The number of the interrupted call whose rest the kernel keeps (restart_syscall hides it), from
 * the code in front of the instruction. 0: not found. */
static long tracee_number_by_code(const struct tracee *tracee)
{
    static const uint32_t numbers[] = {SYS_nanosleep, SYS_clock_nanosleep, SYS_poll, SYS_futex};
    enum { LOAD_EAX = 0xb8, LOAD_BYTES = 5 };
    unsigned char code[32];
    uint32_t number;
    if (memory_read(tracee->pid, tracee_ip(tracee) - TARGET_SYSCALL_BYTES - sizeof code, code,
                    sizeof code) < 0)
        return 0;
    for (size_t at = sizeof code - LOAD_BYTES + 1; at-- > 0;) {
        memcpy(&number, code + at + 1, sizeof number);
        for (size_t i = 0; code[at] == LOAD_EAX && i < sizeof numbers / sizeof *numbers; i++)
            if (number == numbers[i])
                return number;
    }
    return 0;
}

/* The registers with which the thread goes on if we die. After a frame the kernel has no rest of an
 * interrupted call, so the call itself begins again. */
static struct user_regs_struct tracee_resumed(const struct tracee *tracee)
{
    struct user_regs_struct registers = tracee->registers;
    long error = tracee_error_of(&registers);
    if (tracee_number_of(&registers) == SYS_restart_syscall && tracee_is_interrupted(tracee)) {
        long number = tracee_number_by_code(tracee);
        if (number)
            tracee_set_number(&registers, number);
        else
            return tracee_failed(registers);
    }
    if (tracee_would_fail(tracee) || (error != EINTR && tracee_is_interrupted(tracee)))
        tracee_begin_again(&registers);
    return registers;
}

/* Writes the frame of the way back, before it is used. */
static int tracee_put_frame(struct tracee *tracee)
{
    struct user_regs_struct registers = tracee_resumed(tracee);
    size_t bytes = way_back_frame_bytes(tracee->vector, tracee->vector_bytes);
    uintptr_t place = way_back_place(tracee->pid, &tracee->gadgets, &registers, bytes);
    if (!place)
        return -EAGAIN;
    void *made = malloc(bytes);
    if (!made)
        return -ENOMEM;
    way_back_frame(made, place, &tracee->gadgets, &registers, tracee->signal_mask, tracee->vector,
                   tracee->vector_bytes);
    int error = memory_force(tracee->pid, place, made, bytes);
    free(made);
    tracee->frame = place;
    return error;
}

/* Maps a stack, because the thread's own one may be too small for the loader. Signals are blocked
 * only after the registers are set: if we die in between, the frame unblocks them again. */
static int tracee_map_stack(struct tracee *tracee)
{
    const uintptr_t arguments[TRACEE_ARGUMENTS] = {
        0, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, (uintptr_t)-1, 0};
    uintptr_t result;
    int error = tracee_set_system_call(tracee, SYS_mmap, arguments);
    tracee->borrowed = !error;
    if (!error)
        error = tracee_set_mask(tracee, UINT64_MAX);
    if (!error)
        error = tracee_run_system_call(tracee, &result);
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

static uintptr_t tracee_call_place(const struct tracee *tracee)
{
    return tracee_scratch(tracee) - WAY_BACK_CALL_BYTES;
}

/* *sp: the stack pointer with which the way back begins. */
static int tracee_put_call(const struct tracee *tracee, uintptr_t *sp)
{
    unsigned char made[WAY_BACK_CALL_BYTES];
    struct way_back_call call = {tracee->stack, STACK_BYTES, tracee->frame, tracee->errno_place,
                                 tracee->errno_value};
    *sp = way_back_call(made, tracee_call_place(tracee), &tracee->gadgets, &call);
    return memory_write(tracee->pid, tracee_call_place(tracee), made, sizeof made);
}

static int tracee_run_until_returned(struct tracee *tracee, uintptr_t sp)
{
    struct user_regs_struct registers;
    int error;
    do {
        error = tracee_run_to_system_call(tracee);
        if (!error)
            error = tracee_get_registers(tracee->tid, &registers);
    } while (!error && !tracee_has_returned(&registers, tracee->gadgets.sigreturn, sp));
    if (error)
        return error;
    tracee_put_off(&registers);
    error = tracee_set_registers(tracee->tid, &registers);
    return error ? error : tracee_run_to_system_call(tracee);
}

int tracee_call(struct tracee *tracee, uintptr_t function,
                const uintptr_t arguments[TRACEE_ARGUMENTS], uintptr_t *result)
{
    struct user_regs_struct registers = tracee->registers;
    uintptr_t place = tracee_call_place(tracee), sp;
    int error = tracee_put_call(tracee, &sp);
    if (error)
        return error;
    tracee_prepare_call(&registers, function, place + WAY_BACK_RETURN, arguments);
    tracee_set_kept(&registers, way_back_kept_register(place, &tracee->gadgets));
    error = tracee_set_registers(tracee->tid, &registers);
    if (!error)
        error = tracee_run_until_returned(tracee, sp);
    return error ? error
                 : memory_read(tracee->pid, place + WAY_BACK_RESULT, result, sizeof *result);
}

static int tracee_find_errno(struct tracee *tracee, uintptr_t locate_errno)
{
    const uintptr_t none[TRACEE_ARGUMENTS] = {0};
    uintptr_t place;
    int error = tracee_call(tracee, locate_errno, none, &place);
    if (!error)
        error = memory_read(tracee->pid, place, &tracee->errno_value, sizeof tracee->errno_value);
    tracee->errno_place = error ? 0 : place;
    return error;
}

int tracee_borrow(struct tracee *tracee, const struct target_gadgets *gadgets,
                  uintptr_t locate_errno)
{
    tracee->gadgets = *gadgets;
    int error = tracee_save_vector(tracee);
    if (!error)
        error = tracee_put_frame(tracee);
    if (!error)
        error = tracee_map_stack(tracee);
    if (!error && locate_errno)
        error = tracee_find_errno(tracee, locate_errno);
    return error;
}

/* ---- Back ---- */

/* Whether a signal is pending that the thread itself does not block: we may be blocking all of
 * them. */
static bool tracee_has_pending_signal(const struct tracee *tracee)
{
    char path[64], line[128];
    uint64_t pending = 0, value;
    snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)tracee->pid, (int)tracee->tid);
    FILE *status = fopen(path, "re");
    while (status && fgets(line, sizeof line, status)) {
        if (sscanf(line, "SigPnd: %lx", &value) == 1 || sscanf(line, "ShdPnd: %lx", &value) == 1)
            pending |= value;
    }
    if (status)
        fclose(status);
    return pending & ~tracee->signal_mask;
}

/* Restores the thread where the kernel is about to check for signals, because only there
 * interrupted system calls begin again. The registers come last: until then the thread stands on
 * its way back, where signals may come. */
static void tracee_put_back(struct tracee *tracee)
{
    struct user_regs_struct registers = tracee->registers;
    if (tracee->borrowed && tracee_stop_here(tracee) < 0)
        return;
    if (tracee_would_fail(tracee) && !tracee_has_pending_signal(tracee))
        tracee_begin_again(&registers);
    if (tracee->borrowed) {
        tracee_restore_vector(tracee);
        tracee_set_mask(tracee, tracee->signal_mask);
    }
    if (tracee_set_registers(tracee->tid, &registers) == 0)
        way_back_leave_place(tracee->pid, &tracee->gadgets, tracee->frame);
}

void tracee_give_back(struct tracee *tracee)
{
    const uintptr_t stack[TRACEE_ARGUMENTS] = {tracee->stack, STACK_BYTES};
    uintptr_t result;
    if (!tracee->borrowed || !tracee->stopped)
        return;
    if (tracee->errno_place)
        memory_write(tracee->pid, tracee->errno_place, &tracee->errno_value,
                     sizeof tracee->errno_value);
    if (tracee->stack && tracee_set_system_call(tracee, SYS_munmap, stack) == 0)
        tracee_run_system_call(tracee, &result);
    tracee->stack = 0;
}

void tracee_release(struct tracee *tracee)
{
    /* It is gone or could not be stopped: the end of our thread releases it. */
    if (!tracee->stopped) {
        free(tracee->vector);
        tracee->vector = NULL;
        return;
    }
    tracee_give_back(tracee);
    if (tracee->known)
        tracee_put_back(tracee);
    ptrace(PTRACE_DETACH, tracee->tid, NULL, NULL);
    free(tracee->vector); /* of a thread that could not be borrowed */
    tracee->vector = NULL;
    tracee->stopped = tracee->known = tracee->borrowed = false;
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

int tracee_borrow(struct tracee *tracee, const struct target_gadgets *gadgets,
                  uintptr_t locate_errno)
{
    (void)tracee, (void)gadgets, (void)locate_errno;
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
