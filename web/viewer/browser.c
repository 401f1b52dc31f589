/* What the readers call and a browser does not have: locks of a file's writer, limits of memory,
 * traces, SQLite's way to files. A page reads files that are whole and in memory, so most of it
 * answers that there is nothing. */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/alive.h"
#include "base/allowance.h"
#include "base/memory.h"
#include "base/new_file.h"
#include "offline/offline.h"
#include "procfs/process.h"
#include "profile/unnamed.h"
#include "server/web_summary.h"
#include "trace/trace.h"

#define XXH_STATIC_LINKING_ONLY
#define XXH_IMPLEMENTATION
#include <xxhash.h>

/* ---- The C library's ----------------------------------------------------------------------- */

/* One thread: where the comparison finds what it is told beside the rows. */
static int (*compare_with)(const void *, const void *, void *);
static void *compare_context;

static int browser_compare(const void *left, const void *right)
{
    return compare_with(left, right, compare_context);
}

void qsort_r(void *rows, size_t count, size_t bytes,
             int (*compare)(const void *, const void *, void *), void *context)
{
    compare_with = compare;
    compare_context = context;
    qsort(rows, count, bytes, browser_compare);
}

/* There is one directory. */
char *realpath(const char *path, char *resolved)
{
    char *whole = resolved ? resolved : malloc(strlen(path) + 2);
    if (whole)
        sprintf(whole, "%s%s", *path == '/' ? "" : "/", path);
    return whole;
}

unsigned geteuid(void)
{
    return 0;
}

/* As on the machines that profiles come from. */
const char *sigabbrev_np(int signal)
{
    static const char *const names[] = {
        NULL,   "HUP",  "INT",  "QUIT", "ILL",    "TRAP",   "ABRT",  "BUS",  "FPE",  "KILL", "USR1",
        "SEGV", "USR2", "PIPE", "ALRM", "TERM",   "STKFLT", "CHLD",  "CONT", "STOP", "TSTP", "TTIN",
        "TTOU", "URG",  "XCPU", "XFSZ", "VTALRM", "PROF",   "WINCH", "POLL", "PWR",  "SYS"};
    return signal > 0 && (size_t)signal < sizeof names / sizeof *names ? names[signal] : NULL;
}

/* ---- base/ --------------------------------------------------------------------------------- */

bool alive_is_locked(int fd)
{
    return (void)fd, false;
}
bool alive_is_written(const char *path)
{
    return (void)path, false;
}

void allowance_begin_file(const char *path)
{
    (void)path;
}
void allowance_end(void)
{
}
int allowance_explain(int error)
{
    return error;
}

/* For a query's values: WebAssembly has 4 GiB of addresses. */
uint64_t allowance_most(void)
{
    return UINT64_C(2) << 30;
}

/* The page says so, and that a smaller file or a server would do. */
void memory_exhausted(void)
{
    __builtin_trap();
}

void *memory_zeroed(size_t count, size_t item_bytes)
{
    void *memory = calloc(count ? count : 1, item_bytes ? item_bytes : 1);
    return memory ? memory : (memory_exhausted(), NULL);
}

void *memory_resize(void *memory, size_t count, size_t item_bytes)
{
    void *moved = reallocarray(memory, count ? count : 1, item_bytes ? item_bytes : 1);
    return moved ? moved : (memory_exhausted(), NULL);
}

int process_boot_id(char **id)
{
    return *id = NULL, -ENOENT;
}

/* ---- Traces: none are dropped, so nobody comes here ----------------------------------------- */

void trace_options(const struct trace *trace, struct trace_options *options)
{
    (void)trace, (void)options;
    __builtin_trap();
}

int trace_state_at(const struct trace *trace, enum trace_when when, uint64_t value,
                   struct trace_state *state)
{
    (void)trace, (void)when, (void)value, (void)state;
    __builtin_trap();
}

void trace_state_release(struct trace_state *state)
{
    (void)state;
}

void offline_clock(const struct trace *trace, struct offline_clock *clock)
{
    (void)trace, (void)clock;
    __builtin_trap();
}

uint64_t offline_moment_ticks(const struct trace *trace, const struct offline_moment *moment)
{
    (void)trace, (void)moment;
    __builtin_trap();
}

int resources_make_alive(const struct resources *resources, const char *name, struct strbuf *out,
                         struct strbuf *why)
{
    (void)resources, (void)name, (void)out;
    strbuf_add_string(why, "single blocks only a trace knows, which tidemark serve shows");
    return -ENODATA;
}

/* ---- Files: the page's directory in memory ------------------------------------------------- */

/* A database that SQL is asked of is a file of the page's as any other. */
int new_file_open(struct new_file *file, const char *path)
{
    static int number;
    char name[32];
    (void)path;
    snprintf(name, sizeof name, "/memory-%d", number++);
    *file = (struct new_file){.fd = open(name, O_RDWR | O_CREAT, 0600), .draft = strdup(name)};
    return file->fd < 0 ? -errno : 0;
}

/* What SQLite opens by name is still there: the page forgets it with the instance. */
void new_file_release(struct new_file *file)
{
    free(file->draft);
    *file = (struct new_file){.fd = -1};
}

int new_file_place(struct new_file *file, const char *path)
{
    return (void)file, (void)path, -EROFS;
}

static char unnamed_name[32];

/* The page finds a file by its number, too. */
const char *unnamed_begin(int fd)
{
    struct stat status;
    snprintf(unnamed_name, sizeof unnamed_name, "/inode-%llu",
             fstat(fd, &status) ? 0 : (unsigned long long)status.st_ino);
    return unnamed_name;
}

void unnamed_end(void)
{
}

/* ---- SQLite's way to them ------------------------------------------------------------------- */

struct browser_file {
    sqlite3_file base;
    int fd;
};

static int browser_fd(sqlite3_file *file)
{
    return ((struct browser_file *)file)->fd;
}

static int browser_close(sqlite3_file *file)
{
    close(browser_fd(file));
    return SQLITE_OK;
}

static int browser_read(sqlite3_file *file, void *to, int bytes, sqlite3_int64 offset)
{
    ssize_t got = pread(browser_fd(file), to, (size_t)bytes, offset);
    if (got == bytes)
        return SQLITE_OK;
    if (got < 0)
        return SQLITE_IOERR_READ;
    memset((char *)to + got, 0, (size_t)(bytes - got));
    return SQLITE_IOERR_SHORT_READ;
}

static int browser_write(sqlite3_file *file, const void *from, int bytes, sqlite3_int64 offset)
{
    return pwrite(browser_fd(file), from, (size_t)bytes, offset) == bytes ? SQLITE_OK : SQLITE_FULL;
}

static int browser_truncate(sqlite3_file *file, sqlite3_int64 bytes)
{
    return ftruncate(browser_fd(file), bytes) ? SQLITE_IOERR_TRUNCATE : SQLITE_OK;
}

static int browser_size(sqlite3_file *file, sqlite3_int64 *bytes)
{
    struct stat status;
    if (fstat(browser_fd(file), &status))
        return SQLITE_IOERR_FSTAT;
    *bytes = status.st_size;
    return SQLITE_OK;
}

/* Nobody else has it, and it goes with the page. */
static int browser_sync(sqlite3_file *file, int flags)
{
    return (void)file, (void)flags, SQLITE_OK;
}
static int browser_lock(sqlite3_file *file, int level)
{
    return (void)file, (void)level, SQLITE_OK;
}

static int browser_is_reserved(sqlite3_file *file, int *out)
{
    (void)file;
    *out = 0;
    return SQLITE_OK;
}

static int browser_control(sqlite3_file *file, int what, void *of)
{
    return (void)file, (void)what, (void)of, SQLITE_NOTFOUND;
}

static int browser_sector(sqlite3_file *file)
{
    return (void)file, 4096;
}
static int browser_traits(sqlite3_file *file)
{
    return (void)file, 0;
}

static const sqlite3_io_methods browser_methods = {.iVersion = 1,
                                                   .xClose = browser_close,
                                                   .xRead = browser_read,
                                                   .xWrite = browser_write,
                                                   .xTruncate = browser_truncate,
                                                   .xSync = browser_sync,
                                                   .xFileSize = browser_size,
                                                   .xLock = browser_lock,
                                                   .xUnlock = browser_lock,
                                                   .xCheckReservedLock = browser_is_reserved,
                                                   .xFileControl = browser_control,
                                                   .xSectorSize = browser_sector,
                                                   .xDeviceCharacteristics = browser_traits};

static int browser_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    struct browser_file *opened = (struct browser_file *)file;
    (void)vfs;
    opened->base.pMethods = NULL;
    opened->fd = name ? open(name, flags & SQLITE_OPEN_READWRITE ? O_RDWR : O_RDONLY) : -1;
    if (opened->fd < 0)
        return SQLITE_CANTOPEN;
    opened->base.pMethods = &browser_methods;
    if (out)
        *out = flags;
    return SQLITE_OK;
}
static int browser_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
    return (void)vfs, (void)name, (void)sync, SQLITE_IOERR_DELETE;
}

static int browser_access(sqlite3_vfs *vfs, const char *name, int flags, int *out)
{
    (void)vfs, (void)name, (void)flags;
    *out = 0;
    return SQLITE_OK;
}

static int browser_full_path(sqlite3_vfs *vfs, const char *name, int room, char *out)
{
    (void)vfs;
    snprintf(out, (size_t)room, "%s", name);
    return SQLITE_OK;
}

static int browser_randomness(sqlite3_vfs *vfs, int bytes, char *out)
{
    (void)vfs;
    memset(out, 0, (size_t)bytes); /* for names of temporary files, of which there are none */
    return bytes;
}

static int browser_sleep(sqlite3_vfs *vfs, int microseconds)
{
    return (void)vfs, microseconds;
}

static int browser_time(sqlite3_vfs *vfs, sqlite3_int64 *out)
{
    (void)vfs;
    *out = 0;
    return SQLITE_OK;
}

static int browser_last_error(sqlite3_vfs *vfs, int room, char *out)
{
    return (void)vfs, (void)room, (void)out, 0;
}

int sqlite3_os_init(void)
{
    static sqlite3_vfs vfs = {.iVersion = 2,
                              .szOsFile = sizeof(struct browser_file),
                              .mxPathname = 1024,
                              .zName = "browser",
                              .xOpen = browser_open,
                              .xDelete = browser_delete,
                              .xAccess = browser_access,
                              .xFullPathname = browser_full_path,
                              .xRandomness = browser_randomness,
                              .xSleep = browser_sleep,
                              .xGetLastError = browser_last_error,
                              .xCurrentTimeInt64 = browser_time};
    return sqlite3_vfs_register(&vfs, 1);
}

int sqlite3_os_end(void)
{
    return SQLITE_OK;
}
