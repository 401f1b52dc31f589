/* What is loaded into another process, and where its functions are: read from its memory alone, so
 * that files and mount namespaces do not matter. Trusts no length that it finds there. */
#ifndef TIDEMARK_ATTACH_TARGET_H
#define TIDEMARK_ATTACH_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct target_module {
    char *path;
    uint64_t inode;
    uintptr_t start, end;     /* of its mappings */
    uintptr_t code, code_end; /* of the executable ones */
    uintptr_t bias;
    uintptr_t symbols, strings, gnu_hash; /* 0: it has none */
};

struct target {
    pid_t pid;
    struct target_module *modules; /* in the order of their addresses */
    size_t count, room;
};

/* 0 or -errno. */
int target_open(struct target *target, pid_t pid);
void target_close(struct target *target);

/* What the headers in memory at module->start say: part of target_open(), which does this for
 * all. */
void target_read_module(const struct target *target, struct target_module *module);

struct target_symbol {
    uintptr_t address; /* 0: not found */
    size_t bytes;
};
struct target_symbol target_find_in(const struct target *target, const struct target_module *module,
                                    const char *name);
/* In any module. */
struct target_symbol target_find(const struct target *target, const char *name,
                                 const struct target_module **module);
/* NULL: none whose file is called so. */
const struct target_module *target_module_called(const struct target *target, const char *name);
bool target_is_loader(const struct target_module *module); /* glibc's */
const struct target_module *target_module_at(const struct target *target, uintptr_t address);

/* Instructions of its C library through which a call from outside comes back (way_back.h). */
struct target_gadgets {
    uintptr_t system_call; /* syscall … ret */
    uintptr_t sigreturn;   /* mov $SYS_rt_sigreturn, %rax; syscall */
    uintptr_t keep;        /* mov %rax, keep_offset(a register that functions keep) … ret */
    int keep_offset;
    unsigned keep_pops; /* bytes of stack before its ret */
    /* The longest rest of a module's last page of code or constants, behind them; it is
     * nobody's. memory_force() writes there. */
    uintptr_t margin;
    size_t margin_bytes;
};
enum { TARGET_SIGRETURN_BYTES = 9, TARGET_SYSCALL_BYTES = 2 };

/* False: one of them was not found. */
bool target_find_gadgets(const struct target *target, const struct target_module *libc,
                         struct target_gadgets *gadgets);

#endif
