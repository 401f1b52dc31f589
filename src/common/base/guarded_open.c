/* Defines open() and open64() in front of libc's (guarded_open.h). A file that is refused gives
 * ENOENT, so that a library that searches several places goes on searching. */
#include "base/guarded_open.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdatomic.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/trust.h"

static __thread struct guarded_open guarded_open_held;

/* ---- Files that lose their end while they are mapped ---- */

static atomic_flag guarded_open_begun = ATOMIC_FLAG_INIT;
static _Atomic bool guarded_open_catches;
static struct sigaction guarded_open_before;
static uintptr_t guarded_open_page;

/* Restores the handler that was there before us. When ours returns, a fault comes again at once,
 * because the instruction runs again. A signal that was sent (si_code <= 0) is sent again. */
static void guarded_open_leave_to_others(int number, const siginfo_t *info)
{
    sigaction(number, &guarded_open_before, NULL);
    if (info->si_code <= 0)
        raise(number);
}

/* Maps a page of zeros where the page lies behind the end of its file; libdw takes zeros for
 * damage. This is safe because libdw's mappings are private and only read. In an unguarded thread
 * SIGBUS does what it did without us. */
static void guarded_open_on_bus_error(int number, siginfo_t *info, void *context)
{
    int saved_errno = errno;
    void *page = (void *)((uintptr_t)info->si_addr & ~(guarded_open_page - 1));
    (void)context;
    if (!guarded_open_held.is_on || info->si_code != BUS_ADRERR ||
        mmap(page, guarded_open_page, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
        guarded_open_leave_to_others(number, info);
    errno = saved_errno;
}

static void guarded_open_catch_bus_errors(void)
{
    struct sigaction action = {.sa_sigaction = guarded_open_on_bus_error, .sa_flags = SA_SIGINFO};
    guarded_open_page = (uintptr_t)sysconf(_SC_PAGESIZE);
    sigaction(SIGBUS, &action, &guarded_open_before);
}

/* The first thread installs the handler, once for the process; others wait until it is there. */
static void guarded_open_catch_once(void)
{
    if (!atomic_flag_test_and_set(&guarded_open_begun)) {
        guarded_open_catch_bus_errors();
        guarded_open_catches = true;
    }
    while (!guarded_open_catches)
        sched_yield();
}

/* ---- Opening ---- */

struct guarded_open guarded_open_begin(struct guarded_open guard)
{
    struct guarded_open before = guarded_open_held;
    guarded_open_catch_once();
    guarded_open_held = guard;
    guarded_open_held.is_on = true;
    return before;
}

struct guarded_open guarded_open_pause(void)
{
    struct guarded_open before = guarded_open_held;
    guarded_open_held = (struct guarded_open){0};
    return before;
}

void guarded_open_restore(struct guarded_open before)
{
    guarded_open_held = before;
}

/* Files of length 0 are refused: files of the kernel have that length, and reading some of them
 * blocks. */
static bool guarded_open_is_file(const struct stat *status)
{
    return S_ISREG(status->st_mode) && status->st_size > 0 &&
           (guarded_open_held.trusts_all || trust_holds(status, guarded_open_held.owner));
}

static bool guarded_open_is_place(const char *path)
{
    char directory[PATH_MAX];
    struct stat status;
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;
    if (guarded_open_held.trusts_all)
        return true;
    if (length >= sizeof directory)
        return false;
    memcpy(directory, slash ? path : ".", slash ? length : 1);
    directory[slash ? length : 1] = 0;
    return !stat(*directory ? directory : "/", &status) &&
           trust_holds(&status, guarded_open_held.owner);
}

/* Only ELF files pass: libdwfl would unpack others (gzip, bzip2, xz, zstd) without a limit of
 * size. */
static bool guarded_open_is_elf(int fd)
{
    unsigned char head[EI_NIDENT];
    return pread(fd, head, sizeof head, 0) == sizeof head && !memcmp(head, ELFMAG, SELFMAG) &&
           (head[EI_CLASS] == ELFCLASS32 || head[EI_CLASS] == ELFCLASS64) &&
           (head[EI_DATA] == ELFDATA2LSB || head[EI_DATA] == ELFDATA2MSB) &&
           head[EI_VERSION] == EV_CURRENT;
}

static bool guarded_open_is_below_root(const char *path)
{
    const char *root = guarded_open_held.root;
    size_t length = root ? strlen(root) : 0;
    return length && !strncmp(path, root, length) && path[length] == '/';
}

/* Opens as a process with that root would: symbolic links stay below it. Kernels before Linux 5.6
 * cannot do that, so links are followed from our root there. */
static int guarded_open_in_root(const char *path, int flags)
{
    const char *root = guarded_open_held.root;
    struct open_how how = {.flags = (uint64_t)flags, .resolve = RESOLVE_IN_ROOT};
    int directory = openat(AT_FDCWD, root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return -1;
    int fd = (int)syscall(SYS_openat2, directory, path + strlen(root) + 1, &how, sizeof how);
    if (fd < 0 && errno == ENOSYS)
        fd = openat(AT_FDCWD, path, flags);
    int error = errno;
    close(directory);
    errno = error;
    return fd;
}

static int guarded_open_at(const char *path, int flags)
{
    return guarded_open_is_below_root(path) ? guarded_open_in_root(path, flags)
                                            : openat(AT_FDCWD, path, flags);
}

static bool guarded_open_look(const char *path, struct stat *status)
{
    if (!guarded_open_is_below_root(path))
        return stat(path, status) == 0;
    int fd = guarded_open_at(path, O_PATH | O_CLOEXEC);
    bool is_there = fd >= 0 && fstat(fd, status) == 0;
    if (fd >= 0)
        close(fd);
    return is_there;
}

/* Opening a device can already act on it. So the file is tested before it is opened, and again
 * afterwards, because it may have been replaced meanwhile. */
static int guarded_open_carefully(const char *path, int flags)
{
    struct stat status;
    int fd = -1;
    if (guarded_open_look(path, &status) && guarded_open_is_file(&status) &&
        guarded_open_is_place(path))
        fd = guarded_open_at(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0 &&
        (fstat(fd, &status) || !guarded_open_is_file(&status) || !guarded_open_is_elf(fd))) {
        close(fd);
        fd = -1;
    }
    if (fd < 0)
        errno = ENOENT;
    return fd < 0 || !guarded_open_held.instead ? fd : guarded_open_held.instead(fd);
}

/* open() and open64() of all libraries of the command. */
__attribute__((visibility("default"))) int guarded_open_any(const char *path, int flags,
                                                            ...) __asm__("open");
__attribute__((visibility("default"))) int guarded_open_any64(const char *path, int flags,
                                                              ...) __asm__("open64");

static int guarded_open_with_mode(const char *path, int flags, mode_t mode)
{
    bool only_reads =
        (flags & O_ACCMODE) == O_RDONLY && !(flags & (O_CREAT | O_DIRECTORY | O_PATH));
    return guarded_open_held.is_on && only_reads ? guarded_open_carefully(path, flags)
                                                 : openat(AT_FDCWD, path, flags, mode);
}

static bool guarded_open_has_mode(int flags)
{
    return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
}

int guarded_open_any(const char *path, int flags, ...)
{
    mode_t mode = 0;
    va_list arguments;
    va_start(arguments, flags);
    if (guarded_open_has_mode(flags))
        mode = va_arg(arguments, mode_t);
    va_end(arguments);
    return guarded_open_with_mode(path, flags, mode);
}

int guarded_open_any64(const char *path, int flags, ...)
{
    mode_t mode = 0;
    va_list arguments;
    va_start(arguments, flags);
    if (guarded_open_has_mode(flags))
        mode = va_arg(arguments, mode_t);
    va_end(arguments);
    return guarded_open_with_mode(path, flags, mode);
}
