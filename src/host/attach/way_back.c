/* Makes signal frames (way_back.h). A frame is struct rt_sigframe of the kernel without siginfo:
 * the address of rt_sigreturn, struct ucontext, and the vector state with the words by which the
 * kernel knows its size. glibc's ucontext_t begins as the kernel's does. */
#include "attach/way_back.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <errno.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include "attach/target_memory.h"
#include "procfs/process.h"

/* ---- Vector state ---- */

/* The layout of XSAVE (Intel SDM 1, 13.4), and the kernel's words in it (asm/sigcontext.h). */
enum {
    LEGACY_BYTES = 576, /* with the header */
    SOFTWARE_AT = 464,
    HEADER_AT = 512,
    MAGIC_1 = 0x46505853,
    MAGIC_2 = 0x46505845,
    STATE_PKRU = 9,
    STATE_TILE = 18, /* of AMX: only where the program has asked for it */
    STATES = 63
};

struct software_words {
    uint32_t magic, extended_bytes;
    uint64_t states;
    uint32_t bytes, padding[7];
};

static uint64_t way_back_word(const void *vector, size_t at)
{
    uint64_t word;
    memcpy(&word, (const char *)vector + at, sizeof word);
    return word;
}

/* The end of the state in the layout; 0: programs do not have this state. */
static size_t way_back_state_end(unsigned state)
{
    unsigned bytes, at, flags, unused;
    if (state < 2)
        return LEGACY_BYTES;
    if (!__get_cpuid_count(0xd, state, &bytes, &at, &flags, &unused) || flags & 1)
        return 0;
    return bytes ? (size_t)at + bytes : 0;
}

/* The states that the thread has, and the bytes up to the end of the last one. The kernel rejects a
 * frame with more states than it would write itself. */
static size_t way_back_states(const void *vector, size_t vector_bytes, uint64_t *states)
{
    uint64_t known = way_back_word(vector, SOFTWARE_AT), used = way_back_word(vector, HEADER_AT);
    size_t bytes = LEGACY_BYTES;
    *states = 0;
    for (unsigned state = 0; state < STATES; state++) {
        uint64_t bit = (uint64_t)1 << state;
        size_t end = known & bit ? way_back_state_end(state) : 0;
        if (!end || end > vector_bytes || (state == STATE_TILE && !(used & bit)))
            continue;
        *states |= bit;
        if (end > bytes && (used & bit || state == STATE_PKRU))
            bytes = end;
    }
    return bytes;
}

static void way_back_put_vector(char *made, const void *vector, size_t vector_bytes)
{
    uint64_t states, used = way_back_word(vector, HEADER_AT);
    uint32_t end = MAGIC_2;
    size_t bytes = way_back_states(vector, vector_bytes, &states);
    struct software_words words = {.magic = MAGIC_1,
                                   .extended_bytes = (uint32_t)(bytes + sizeof end),
                                   .states = states,
                                   .bytes = (uint32_t)bytes};
    /* PKRU is always valid, and its initial value in a thread is not 0. */
    used |= (uint64_t)1 << STATE_PKRU & states;
    memcpy(made, vector, bytes);
    memcpy(made + SOFTWARE_AT, &words, sizeof words);
    memcpy(made + HEADER_AT, &used, sizeof used);
    memcpy(made + bytes, &end, sizeof end);
}

/* ---- A frame ---- */

/* The kernel's ucontext has eight bytes of signals, glibc's has more. */
enum {
    CONTEXT_BYTES = offsetof(ucontext_t, uc_sigmask) + sizeof(uint64_t),
    HOP_BYTES = sizeof(uintptr_t) + CONTEXT_BYTES,
    FLAG_STATE = 1,
    FLAG_STACK_SEGMENT = 2 | 4,
    FLAGS_OF_NO_STACK = 0x7fffffff /* not known: sigaltstack() stays as it is */
};
#define NO_SIGNALS UINT64_MAX

static void way_back_put_registers(gregset_t to, const struct user_regs_struct *from)
{
    const struct {
        int at;
        unsigned long long value;
    } pairs[] = {
        {REG_R8, from->r8},
        {REG_R9, from->r9},
        {REG_R10, from->r10},
        {REG_R11, from->r11},
        {REG_R12, from->r12},
        {REG_R13, from->r13},
        {REG_R14, from->r14},
        {REG_R15, from->r15},
        {REG_RDI, from->rdi},
        {REG_RSI, from->rsi},
        {REG_RBP, from->rbp},
        {REG_RBX, from->rbx},
        {REG_RDX, from->rdx},
        {REG_RAX, from->rax},
        {REG_RCX, from->rcx},
        {REG_RSP, from->rsp},
        {REG_RIP, from->rip},
        {REG_EFL, from->eflags},
        {REG_CSGSFS, (from->cs & 0xffff) | (from->ss & 0xffff) << 48},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        to[pairs[i].at] = (long long)pairs[i].value;
}

/* `state`: the address of the vector state; 0: there is none. */
static void way_back_put_context(char *made, const struct user_regs_struct *registers,
                                 uint64_t mask, uintptr_t state)
{
    ucontext_t context;
    memset(&context, 0, sizeof context);
    context.uc_flags = (state ? FLAG_STATE : 0) | FLAG_STACK_SEGMENT;
    context.uc_stack.ss_flags = FLAGS_OF_NO_STACK;
    way_back_put_registers(context.uc_mcontext.gregs, registers);
    context.uc_mcontext.fpregs = (fpregset_t)state;
    memcpy(&context.uc_sigmask, &mask, sizeof mask);
    memcpy(made, &context, CONTEXT_BYTES);
}

static size_t way_back_state_at(void)
{
    return (HOP_BYTES + 63) & ~(size_t)63;
}

size_t way_back_frame_bytes(const void *vector, size_t vector_bytes)
{
    uint64_t states;
    return way_back_state_at() + way_back_states(vector, vector_bytes, &states) + sizeof(uint32_t);
}

void way_back_frame(void *made, uintptr_t address, const struct target_gadgets *gadgets,
                    const struct user_regs_struct *registers, uint64_t mask, const void *vector,
                    size_t vector_bytes)
{
    char *bytes = made;
    memset(bytes, 0, way_back_state_at());
    memcpy(bytes, &gadgets->sigreturn, sizeof gadgets->sigreturn);
    way_back_put_context(bytes + sizeof(uintptr_t), registers, mask, address + way_back_state_at());
    way_back_put_vector(bytes + way_back_state_at(), vector, vector_bytes);
}

/* ---- What follows a call ---- */

/* Makes a frame that leads to a system call, and then to the frame at `next`. */
static void way_back_put_hop(char *made, const struct target_gadgets *gadgets, long number,
                             const uintptr_t arguments[6], uintptr_t next)
{
    enum { CODE_SEGMENT = 0x33, DATA_SEGMENT = 0x2b };
    struct user_regs_struct registers = {.rip = gadgets->system_call,
                                         .rsp = next,
                                         .rax = (unsigned long long)number,
                                         .rdi = arguments[0],
                                         .rsi = arguments[1],
                                         .rdx = arguments[2],
                                         .r10 = arguments[3],
                                         .r8 = arguments[4],
                                         .r9 = arguments[5],
                                         .cs = CODE_SEGMENT,
                                         .ss = DATA_SEGMENT};
    memcpy(made, &gadgets->sigreturn, sizeof gadgets->sigreturn);
    way_back_put_context(made + sizeof(uintptr_t), &registers, NO_SIGNALS, 0);
}

/* Arguments of a futex operation that sets a word; every seccomp filter permits it. */
static bool way_back_set_word(uintptr_t arguments[6], uintptr_t nobody, uintptr_t place, int value)
{
    if (!place || value < 0 || value > 2047)
        return false; /* no value of errno */
    arguments[0] = nobody;
    arguments[1] = FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG;
    arguments[4] = place;
    arguments[5] = (uintptr_t)FUTEX_OP(FUTEX_OP_SET, (unsigned)value, FUTEX_OP_CMP_LT, 0);
    return true;
}

uintptr_t way_back_kept_register(uintptr_t address, const struct target_gadgets *gadgets)
{
    return address + WAY_BACK_RESULT - (uintptr_t)(intptr_t)gadgets->keep_offset;
}

uintptr_t way_back_call(unsigned char made[WAY_BACK_CALL_BYTES], uintptr_t address,
                        const struct target_gadgets *gadgets, const struct way_back_call *call)
{
    size_t errno_hop = WAY_BACK_RETURN + sizeof(uintptr_t) + gadgets->keep_pops;
    size_t stack_hop = errno_hop;
    uintptr_t set_errno[6] = {0}, unmap[6] = {call->stack, call->stack_bytes};
    char *bytes = (char *)made;
    memset(bytes, 0, WAY_BACK_CALL_BYTES);
    memcpy(bytes + WAY_BACK_RETURN, &gadgets->keep, sizeof gadgets->keep);
    if (way_back_set_word(set_errno, address + 8, call->errno_place, call->errno_value)) {
        stack_hop = (errno_hop + HOP_BYTES + 15) & ~(size_t)15;
        way_back_put_hop(bytes + errno_hop, gadgets, SYS_futex, set_errno, address + stack_hop);
    }
    way_back_put_hop(bytes + stack_hop, gadgets, SYS_munmap, unmap, call->frame);
    return address + errno_hop + sizeof(uintptr_t);
}

/* ---- Where the frame lies ---- */

enum { RED_ZONE = 128, ROOM_BELOW = 4096 };

struct way_back_search {
    uintptr_t sp, thread_pointer, guard_end;
    bool found;
    uintptr_t start;
};

/* A thread's stack of the C library has the thread's descriptor at its top and a guard below. The
 * ends of other stacks are not known. */
static int way_back_see_mapping(const struct process_mapping *mapping, void *context)
{
    struct way_back_search *search = context;
    if (search->sp - mapping->start < mapping->end - mapping->start) {
        bool is_main = !strcmp(mapping->path, "[stack]");
        bool is_thread = search->guard_end == mapping->start &&
                         search->thread_pointer > search->sp &&
                         search->thread_pointer < mapping->end;
        search->found = mapping->writable && (is_main || is_thread);
        search->start = mapping->start;
        return 1;
    }
    if (!mapping->readable && !mapping->writable)
        search->guard_end = mapping->end;
    return 0;
}

static uintptr_t way_back_place_on_stack(pid_t pid, const struct user_regs_struct *registers,
                                         size_t bytes)
{
    struct way_back_search search = {.sp = registers->rsp, .thread_pointer = registers->fs_base};
    if (process_maps(pid, way_back_see_mapping, &search) < 0 || !search.found ||
        search.sp - search.start < RED_ZONE + bytes + 64 + ROOM_BELOW)
        return 0;
    return (search.sp - RED_ZONE - bytes) & ~(uintptr_t)63;
}

/* Whether the margin is free: another thread may be on its way back through it after its caller
 * died. If the process has a single thread, it is free. */
static bool way_back_margin_is_free(pid_t pid, const struct target_gadgets *gadgets, size_t bytes)
{
    enum { MARGIN_MOST = 4096, LINKS_OF_ONE = 3 };
    char path[64], found[MARGIN_MOST];
    struct stat threads;
    if (bytes > gadgets->margin_bytes || bytes > sizeof found)
        return false;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    if (stat(path, &threads) == 0 && threads.st_nlink == LINKS_OF_ONE)
        return true;
    if (memory_read(pid, gadgets->margin, found, bytes) < 0)
        return false;
    for (size_t i = 0; i < bytes; i++)
        if (found[i])
            return false;
    return true;
}

uintptr_t way_back_place(pid_t pid, const struct target_gadgets *gadgets,
                         const struct user_regs_struct *registers, size_t bytes)
{
    uintptr_t place = way_back_place_on_stack(pid, registers, bytes);
    if (place)
        return place;
    return way_back_margin_is_free(pid, gadgets, bytes) ? gadgets->margin : 0;
}

void way_back_leave_place(pid_t pid, const struct target_gadgets *gadgets, uintptr_t place)
{
    static const char zeros[4096];
    if (place && place == gadgets->margin)
        memory_force(pid, place, zeros, gadgets->margin_bytes);
}

#endif
