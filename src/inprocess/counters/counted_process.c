/* libtidemark-count.so: the process around the counters. Under `tidemark count` the state lies in a
 * file of the command's directory from the first malloc on, so that it remains however the process
 * ends. Preloaded by hand, the library prints one line at exit. The child of a fork begins with the
 * blocks that it has from its parent. Runs inside other programs: no malloc, no stdio, errno
 * kept. */
#include "counters/counted_process.h"
#include "counters/counters.h"
#include "counters/line.h"
#include "interpose/c_library.h"
#include "interpose/hooked.h"
#include "interpose/preloads.h"
#include "interpose/real.h"
#include "tidemark/tidemark.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HOOK __attribute__((visibility("default")))

/* In programs with libtidemark-api; else NULL. */
extern __typeof__(tidemark_read_counters) tidemark_read_counters __attribute__((weak));

static const char *counted_directory, *counted_output; /* the variables' values */
static char counted_directory_text[512], counted_output_text[512];
static bool counted_said;

/* ---- The state's place ---- */

static size_t counted_process_used_bytes(void)
{
    return __builtin_offsetof(struct count_state, slots) +
           count_state.slots_used * sizeof(struct count_slot);
}

/* Replaces the state's memory by a mapping with the same contents. While the process has one
 * thread. */
static bool counted_process_move_state(int file)
{
    size_t used = counted_process_used_bytes();
    int flags = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED;
    void *moved = mmap(NULL, sizeof count_state, PROT_READ | PROT_WRITE, flags, file, 0);
    if (moved == MAP_FAILED)
        return false;
    memcpy(moved, &count_state, used);
    if (mremap(moved, sizeof count_state, sizeof count_state, MREMAP_MAYMOVE | MREMAP_FIXED,
               &count_state) == MAP_FAILED) {
        munmap(moved, sizeof count_state);
        return false;
    }
    count_in_file = file >= 0;
    return true;
}

/* DIRECTORY/PID-N: N counts what this process has become by exec. */
static int counted_process_create_file(uint32_t *serial)
{
    for (*serial = 0; *serial < 10000; ++*serial) {
        struct line name = {0};
        line_add(&name, counted_directory);
        line_add(&name, "/");
        line_add_number(&name, getpid());
        line_add(&name, "-");
        line_add_number(&name, *serial);
        int file = open(name.text, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (file >= 0 || errno != EEXIST)
            return file;
    }
    return -1;
}

/* If files may not grow so large (ulimit -f), growing one raises a signal that kills. */
static bool counted_process_may_grow(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur >= sizeof count_state;
}

/* Allocates the file's used pages, because a write to a page without room would kill the program.
 * False: there is no room; the file stays empty, and the command can tell. */
static bool counted_process_make_room(int file)
{
    size_t page = (size_t)getpagesize(), used = counted_process_used_bytes();
    return fallocate(file, 0, 0, (off_t)((used + page - 1) / page * page)) == 0 ||
           errno == EOPNOTSUPP || errno == ENOSYS;
}

static void counted_process_move_state_to_file(void)
{
    uint32_t serial;
    int file = counted_process_may_grow() ? counted_process_create_file(&serial) : -1;
    if (file < 0)
        return;
    if (counted_process_make_room(file) && ftruncate(file, sizeof count_state) == 0 &&
        counted_process_move_state(file))
        count_state.serial = serial;
    close(file);
}

static void counted_process_copy_name(char *to, const char *from, size_t bytes)
{
    size_t length = strnlen(from, bytes - 1);
    memcpy(to, from, length);
    memset(to + length, 0, bytes - length);
}

static void counted_process_identify(void)
{
    count_state.pid = (int32_t)getpid();
    count_state.parent = (int32_t)getppid();
    counted_process_copy_name(count_state.program, program_invocation_short_name,
                              sizeof count_state.program);
    count_state.bytes = sizeof count_state;
    if (counted_directory)
        counted_process_move_state_to_file();
    __atomic_store_n(&count_state.magic, COUNT_MAGIC, __ATOMIC_RELEASE);
}

/* ---- fork ---- */

static void counted_process_clear_slots(void)
{
    for (uint32_t i = 0; i < count_state.slots_used; i++) {
        struct count_slot *slot = &count_state.slots[i];
        slot->requested_bytes = slot->before_bytes = 0;
        slot->adopted_count = slot->before_count = 0;
        memset(slot->calls, 0, sizeof slot->calls);
    }
}

/* Runs in the child, which has one thread. The parent's file is mapped here too, so the state is
 * moved away from it first. Changes that other threads of the parent made at that moment may be in
 * the copy or not. */
static void counted_process_forked(void)
{
    int saved_errno = errno;
    struct count_figures figures;
    if (count_watch.same && count_state.pid == (int32_t)getpid())
        return; /* an earlier fork handler has allocated, so this is done */
    count_watch.same = true;
    if (count_in_file && !counted_process_move_state(-1))
        return;
    count_forked();
    count_figures_of(&figures, &count_state);
    counted_process_clear_slots();
    count_state.current_bytes = count_state.peak_bytes = figures.current_bytes;
    count_state.at_start_bytes = figures.current_bytes;
    count_state.at_start_count = figures.live_count;
    count_state.earlier_peak_bytes = 0;
    count_state.peak_error_bytes = 0;
    count_state.lost = 0;
    count_state.threads = count_slot_current != NULL;
    count_state.forked = 1;
    count_state.becomes = 0;
    counted_said = false;
    counted_process_identify();
    count_watch_again();
    errno = saved_errno;
}

bool count_process_is_here(void)
{
    return count_in_file && count_state.pid == (int32_t)getpid();
}

/* ---- Beginning and end ---- */

static const char *counted_process_variable(const char *name, char *copy, size_t bytes)
{
    const char *value = secure_getenv(name); /* not in a setuid program, which would write files
                                              * where its user says */
    if (!value || !*value || strlen(value) >= bytes)
        return NULL;
    strcpy(copy, value); /* copied, because the program may change its environment */
    return copy;
}

/* Programs may close their standard error before the end (the GNU tools check it so), so the line
 * is written to a duplicate. A program that closes that too may have another file under its number,
 * so the file is compared. */
static int counted_duplicate = -1;
static struct stat counted_duplicate_is;

static void counted_process_duplicate_stderr(void)
{
    counted_duplicate = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 200);
    if (counted_duplicate >= 0 && fstat(counted_duplicate, &counted_duplicate_is) < 0)
        counted_duplicate = -1;
}

static int counted_process_line_descriptor(void)
{
    struct stat now;
    bool same = counted_duplicate >= 0 && fstat(counted_duplicate, &now) == 0 &&
                now.st_dev == counted_duplicate_is.st_dev &&
                now.st_ino == counted_duplicate_is.st_ino;
    return same ? counted_duplicate : STDERR_FILENO;
}

static void counted_process_begin(void)
{
    const char *peak = secure_getenv(COUNT_PEAK_VARIABLE);
    count_watch.same = true; /* the following calls may allocate */
    /* a program that can ask for its peak gets it to the byte */
    count_exact = (peak && strcmp(peak, "exact") == 0) || tidemark_read_counters;
    counted_directory = counted_process_variable(COUNT_DIRECTORY_VARIABLE, counted_directory_text,
                                                 sizeof counted_directory_text);
    counted_output = counted_process_variable(COUNT_OUTPUT_VARIABLE, counted_output_text,
                                              sizeof counted_output_text);
    counted_process_identify();
    if (counted_directory)
        preloads_keep(environ, count_exec_is_ours);
    else
        counted_process_duplicate_stderr();
    count_hide(true); /* musl allocates in this call */
    c_library_on_fork_in_child(counted_process_forked);
    count_hide(false);
    madvise(&count_watch, sizeof count_watch, MADV_WIPEONFORK);
}

/* Before the C library is initialised there is no environment; then a later call begins. */
void count_process_begins(void)
{
    if (count_state.magic == COUNT_MAGIC)
        counted_process_forked();
    else if (environ)
        counted_process_begin();
}

__attribute__((constructor)) static void counted_process_begin_at_least_now(void)
{
    if (!count_watch.same)
        count_begin_here();
    count_see_in_front();
}

/* Prints the line, once for each process, and not in the child of a vfork, which has its parent's
 * memory. */
static void counted_process_say(void)
{
    if (counted_directory || counted_said || count_state.pid != (int32_t)getpid())
        return;
    int saved_errno = errno;
    struct count_figures figures;
    struct line line = {0};
    counted_said = true;
    count_figures_of(&figures, &count_state);
    line_add_process(&line, &count_state, &figures, "exiting");
    line_add(&line, "\n");
    int file =
        counted_output ? open(counted_output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
    line_write(&line, file >= 0 ? file : counted_process_line_descriptor());
    if (file >= 0)
        close(file);
    errno = saved_errno;
}

__attribute__((destructor)) static void counted_process_end(void)
{
    counted_process_say();
}

static void __attribute__((noreturn)) counted_process_end_now(int status)
{
    counted_process_say();
    if (real._exit || (real_init() && real._exit))
        ((void (*)(int))real._exit)(status);
    for (;;)
        syscall(SYS_exit_group, status);
}

HOOK void _exit(int status)
{
    counted_process_end_now(status);
}
HOOKED(_exit)
HOOKED_TOO(_Exit, _exit)
