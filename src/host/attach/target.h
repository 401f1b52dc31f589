/* The modules of another process and the addresses of their functions. They are read only from its
 * memory, so files and mount namespaces do not matter. Lengths found there are not trusted. */
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
    uintptr_t symbols, strings, gnu_hash; /* 0: there is none */
};

struct target {
    pid_t pid;
    struct target_module *modules; /* in the order of their addresses */
    size_t count, room;
};

/* 0 or -errno. */
int target_open(struct target *target, pid_t pid);
void target_close(struct target *target);

/* Reads the headers in memory at module->start. target_open() does this for all modules. */
void target_read_module(const struct target *target, struct target_module *module);

struct target_symbol {
    uintptr_t address; /* 0: not found */
    size_t bytes;
};
struct target_symbol target_find_in(const struct target *target, const struct target_module *module,
                                    const char *name);
/* Searches all modules. *module: the module found, or NULL. */
struct target_symbol target_find(const struct target *target, const char *name,
                                 const struct target_module **module);
/* The module whose file has that name, also if the file was deleted since; NULL: there is none. */
const struct target_module *target_module_called(const struct target *target, const char *name);
bool target_is_loader(const struct target_module *module); /* glibc's */
const struct target_module *target_module_at(const struct target *target, uintptr_t address);

/* Instructions of the process's C library by which a call from outside returns (way_back.h). */
struct target_gadgets {
    uintptr_t system_call; /* syscall … ret */
    uintptr_t sigreturn;   /* mov $SYS_rt_sigreturn, %rax; syscall */
    uintptr_t keep;        /* mov %rax, keep_offset(a register that functions keep) … ret */
    int keep_offset;
    unsigned keep_pops; /* bytes of stack before its ret */
    /* The longest unused rest of the last page of a module's code or constants. memory_force()
     * writes there. */
    uintptr_t margin;
    size_t margin_bytes;
};
enum { TARGET_SIGRETURN_BYTES = 9, TARGET_SYSCALL_BYTES = 2 };

/* False: one of them was not found. */
bool target_find_gadgets(const struct target *target, const struct target_module *libc,
                         struct target_gadgets *gadgets);

#endif
