/* Counts the instructions of each single call, exactly: a plug-in for qemu's user-mode emulator
 * (Debian's qemu-user), which runs a program and its allocator as they are and tells us of every
 * instruction.
 *
 *   qemu-x86_64 -plugin ./count_plugin.so,out=FILE -E LD_PRELOAD=… bench_alloc PATTERN --mode=count
 *
 * The program marks where a call begins and ends (marks.h); what is executed between the marks is
 * the call, on whatever thread: the streams' threads take turns. The kernel's instructions are not
 * counted, so this is the allocator's own work; its system calls are counted beside it. An
 * instruction that repeats (rep movs) counts once each time.
 *
 * Valgrind's callgrind gives sums over calls and never the worst one, and stepping by ptrace takes
 * two switches of process an instruction. The few declarations of qemu's interface (version 1, that
 * of Debian 12's qemu 7.2) stand here because its package has no header. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "marks.h"

#define EXPORT __attribute__((visibility("default")))

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_info_t;
typedef uint64_t qemu_plugin_id_t;
typedef void (*translate_t)(qemu_plugin_id_t, struct qemu_plugin_tb *);
typedef void (*executed_t)(unsigned, void *);
typedef void (*exit_t)(qemu_plugin_id_t, void *);
typedef void (*syscall_t)(qemu_plugin_id_t, unsigned, int64_t, uint64_t, uint64_t, uint64_t,
                          uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

extern void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, translate_t);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
extern struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
extern const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);
extern size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *);
extern void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *, int, void *,
                                                       uint64_t);
extern void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, executed_t, int,
                                                   void *);
extern void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, exit_t, void *);
extern void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t, syscall_t);

EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t *info, int argc,
                               char **argv);

enum { ADD = 0, CALLBACK_NO_REGISTERS = 0 }; /* qemu_plugin_op, qemu_plugin_cb_flags */

struct figures {
    uint64_t calls, sum, max, max_call, max_syscalls;
    uint64_t powers[65]; /* calls of up to 2^k instructions */
};

static uint64_t executed, begun_at, syscalls, syscalls_begun;
static bool inside;
static struct figures of_malloc, of_free;
static char out_path[4096];

static void count_begin(unsigned cpu, void *unused)
{
    (void)cpu;
    (void)unused;
    begun_at = executed;
    syscalls_begun = syscalls;
    inside = true;
}

/* The mark itself was counted on the way in, and not on the way out: both are counted before they
 * are executed, so the difference holds the closing mark. */
static void count_end(unsigned cpu, void *figures_of)
{
    struct figures *figures = figures_of;
    uint64_t count = executed - begun_at - 1, power = 0, called = syscalls - syscalls_begun;
    (void)cpu;
    if (!inside)
        return;
    inside = false;
    if (count > figures->max) {
        figures->max = count;
        figures->max_call = figures->calls;
    }
    if (called > figures->max_syscalls)
        figures->max_syscalls = called;
    figures->calls++;
    figures->sum += count;
    while (count > (uint64_t)1 << power)
        power++;
    figures->powers[power]++;
}

/* The number in "nopl NUMBER(%rax)", 0 if it is another instruction. */
static uint32_t count_mark_of(const struct qemu_plugin_insn *insn)
{
    static const unsigned char nopl[] = {0x0f, 0x1f, 0x80};
    uint32_t mark;
    if (qemu_plugin_insn_size(insn) != sizeof nopl + sizeof mark)
        return 0;
    const unsigned char *code = qemu_plugin_insn_data(insn);
    memcpy(&mark, code + sizeof nopl, sizeof mark);
    return memcmp(code, nopl, sizeof nopl) == 0 ? mark : 0;
}

static void count_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(block, i);
        uint32_t mark = count_mark_of(insn);
        qemu_plugin_register_vcpu_insn_exec_inline(insn, ADD, &executed, 1);
        if (mark == MARK_BEGIN)
            qemu_plugin_register_vcpu_insn_exec_cb(insn, count_begin, CALLBACK_NO_REGISTERS, NULL);
        else if (mark == MARK_END)
            qemu_plugin_register_vcpu_insn_exec_cb(insn, count_end, CALLBACK_NO_REGISTERS,
                                                   &of_malloc);
        else if (mark == MARK_END_FREE)
            qemu_plugin_register_vcpu_insn_exec_cb(insn, count_end, CALLBACK_NO_REGISTERS,
                                                   &of_free);
    }
}

static void count_note_syscall(qemu_plugin_id_t id, unsigned cpu, int64_t number, uint64_t a1,
                               uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6,
                               uint64_t a7, uint64_t a8)
{
    (void)id, (void)cpu, (void)number;
    (void)a1, (void)a2, (void)a3, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8;
    syscalls++;
}

static void count_write_figures(FILE *file, const char *name, const struct figures *figures)
{
    fprintf(file,
            "\"%s\": {\"calls\": %llu, \"sum\": %llu, \"max\": %llu, \"max_call\": %llu, "
            "\"max_syscalls\": %llu, \"powers\": [",
            name, (unsigned long long)figures->calls, (unsigned long long)figures->sum,
            (unsigned long long)figures->max, (unsigned long long)figures->max_call,
            (unsigned long long)figures->max_syscalls);
    unsigned last = 64;
    while (last > 0 && !figures->powers[last])
        last--;
    for (unsigned k = 0; k <= last; k++)
        fprintf(file, "%s%llu", k ? ", " : "", (unsigned long long)figures->powers[k]);
    fprintf(file, "]}");
}

static void count_finish(qemu_plugin_id_t id, void *unused)
{
    (void)id;
    (void)unused;
    FILE *file = fopen(out_path, "w");
    if (!file) {
        perror(out_path);
        return;
    }
    fprintf(file, "{");
    count_write_figures(file, "malloc", &of_malloc);
    fprintf(file, ", ");
    count_write_figures(file, "free", &of_free);
    fprintf(file, "}\n");
    fclose(file);
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t *info, int argc, char **argv)
{
    (void)info;
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "out=", 4) == 0)
            snprintf(out_path, sizeof out_path, "%s", argv[i] + 4);
    }
    if (!out_path[0]) {
        fprintf(stderr,
                "count_plugin: say where its figures go: -plugin count_plugin.so,out=FILE\n");
        return -1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, count_translate);
    qemu_plugin_register_vcpu_syscall_cb(id, count_note_syscall);
    qemu_plugin_register_atexit_cb(id, count_finish, NULL);
    return 0;
}
