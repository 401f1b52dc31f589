/* What stands as bin/tidemark in a bundle (tidemark bundle): runs the real one beside it with the
 * bundle's own loader and libraries, so that it does not matter which C library the container has,
 * or whether it has one. Without a C library itself, and without anything of a fixed place:
 *
 *   DIR/bin/tidemark (this) ─▶ DIR/bin/ld.so --library-path DIR/lib/tidemark DIR/bin/tidemark.bin …
 *
 * The path of the libraries is not in the environment: what tidemark starts does not see it. */
#include <linux/auxvec.h>
#include <linux/fcntl.h>
#include <linux/limits.h>
#include <sys/syscall.h>

/* The kernel leaves argc, argv, the environment and the auxiliary vector on the stack. */
#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n\txorl %ebp, %ebp\n\tmovq %rsp, %rdi\n\tandq $-16, %rsp\n\tcall "
        "bundle_launch\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n_start:\n\tmov x29, #0\n\tmov x0, sp\n\tbl bundle_launch\n");
#else
#error "an entry point for this processor is missing"
#endif

static long bundle_launcher_call(long number, long a, long b, long c, long d)
{
#if defined(__x86_64__)
    long result;
    register long r10 __asm__("r10") = d;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "memory");
    return result;
#else
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b,
                     x2 __asm__("x2") = c, x3 __asm__("x3") = d;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
#endif
}

static unsigned long bundle_launcher_length_of(const char *text)
{
    unsigned long length = 0;
    while (((const volatile char *)text)[length])
        length++;
    return length;
}

static void bundle_launcher_fail(const char *text)
{
    bundle_launcher_call(SYS_write, 2, (long)text, (long)bundle_launcher_length_of(text), 0);
    bundle_launcher_call(SYS_exit_group, 125, 0, 0, 0);
}

/* Writes this file's path. Returns its bytes up to and with the last slash; 0: there is none. */
static unsigned long bundle_launcher_directory(char *path, unsigned long bytes,
                                               const char *started_as)
{
    long length = bundle_launcher_call(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)path,
                                       (long)bytes - 1);
    if (length < 0) { /* no /proc: the path that execve() was given (AT_EXECFN) */
        for (length = 0; started_as && started_as[length] && length < (long)bytes - 1; length++)
            ((volatile char *)path)[length] = started_as[length];
    }
    while (length > 0 && path[length - 1] != '/')
        length--;
    return (unsigned long)length;
}

static const char *bundle_launcher_in_directory(char *place, const char *path, unsigned long length,
                                                const char *name)
{
    volatile char *to = place;
    for (unsigned long i = 0; i < length; i++)
        *to++ = path[i];
    for (unsigned long i = 0; i <= bundle_launcher_length_of(name); i++)
        *to++ = name[i];
    return place;
}

static const char *bundle_launcher_started_as(char **environment)
{
    while (*environment)
        environment++;
    for (unsigned long *entry = (unsigned long *)(environment + 1); *entry != AT_NULL; entry += 2)
        if (*entry == AT_EXECFN)
            return (const char *)entry[1];
    return 0;
}

void bundle_launch(long *stack) __attribute__((used, noreturn));
void bundle_launch(long *stack)
{
    enum { MOST_NAME = 32 };
    static char path[PATH_MAX];
    static char loader[PATH_MAX + MOST_NAME], libraries[PATH_MAX + MOST_NAME],
        program[PATH_MAX + MOST_NAME];
    long count = stack[0];
    char **arguments = (char **)(stack + 1), **environment = arguments + count + 1;
    unsigned long length =
        bundle_launcher_directory(path, sizeof path, bundle_launcher_started_as(environment));
    const char **argv = __builtin_alloca(((unsigned long)count + 5) * sizeof *argv);
    argv[0] = bundle_launcher_in_directory(loader, path, length, "ld.so");
    argv[1] = "--library-path";
    argv[2] = bundle_launcher_in_directory(libraries, path, length, "../lib/tidemark");
    argv[3] = bundle_launcher_in_directory(program, path, length, "tidemark.bin");
    for (long i = 1; i < count; i++)
        argv[i + 3] = arguments[i];
    argv[count > 0 ? count + 3 : 4] = 0;
    bundle_launcher_call(SYS_execve, (long)loader, (long)argv, (long)environment, 0);
    bundle_launcher_fail(
        "tidemark: this bundle is not whole: bin/ld.so is not beside bin/tidemark (tidemark bundle "
        "makes a new one)\n");
    __builtin_unreachable();
}
